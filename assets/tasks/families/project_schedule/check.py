"""Verifier of `project_schedule`: schedules the tasks again, day by day."""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    check,
    is_int,
    labelled,
    md_table,
    object_keys,
    original,
    original_csv,
    original_yaml,
    output,
    output_csv,
    output_json,
    section,
    share,
)

START = "2026-03-02"
SHOWN = 5
COLUMNS = ["task", "name", "team", "start", "end", "chain"]

RAW = original_yaml("plan/tasks.yaml")
LISTED = {task: [part.strip() for part in fields["after"].split(",") if part.strip()] for task, fields in RAW.items()}
AFTER = {task: [other for other in others if other in RAW] for task, others in LISTED.items()}
ISSUES = sorted((task, other) for task, others in LISTED.items() for other in others if other not in RAW)
HOLIDAYS = {row["date"] for row in original_csv("plan/holidays.csv")}
TEAMS = configparser.ConfigParser()
TEAMS.read_string(original("plan/teams.ini"))


def works(team: str, day: date) -> bool:
    away = {part.strip() for part in TEAMS[team]["away"].split(",")}
    free = day.weekday() >= 5 or day.isoformat() in HOLIDAYS or day.isoformat() in away
    return not free and day.isoformat() >= TEAMS[team]["available_from"]


@cache
def chain(task: str) -> int:
    return int(RAW[task]["days"]) + max((chain(other) for other, before in AFTER.items() if task in before), default=0)


def schedule() -> dict[str, tuple[date, date]]:
    """First and last day of each task."""
    done: dict[str, tuple[date, date]] = {}
    current: dict[str, tuple[str, date, int]] = {}
    day = date.fromisoformat(START)
    while len(done) < len(RAW):
        for team in sorted(TEAMS.sections()):
            if not works(team, day):
                continue
            if team not in current:
                ready = [
                    task
                    for task, fields in RAW.items()
                    if fields["team"] == team
                    and task not in done
                    and all(other in done and done[other][1] < day for other in AFTER[task])
                ]
                if not ready:
                    continue
                task = min(ready, key=lambda t: (-chain(t), t))
                current[team] = (task, day, int(RAW[task]["days"]))
            task, first, left = current.pop(team)
            if left == 1:
                done[task] = (first, day)
            else:
                current[team] = (task, first, left - 1)
        day += timedelta(days=1)
    return done


PLAN = schedule()
ORDER = sorted(PLAN, key=lambda task: (PLAN[task][0], task))


def rows(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/schedule.csv", COLUMNS)


def right_share(workspace: Path, wanted: Mapping[str, tuple[str, ...]], fields: tuple[str, ...]) -> float:
    found = {row["task"]: tuple(row[f] for f in fields) for row in rows(workspace)}
    return share(sum(found.get(task) == values for task, values in wanted.items()), max(len(wanted), len(found)))


@check
def tasks_described(workspace: Path) -> float:
    wanted = {task: (fields["name"], fields["team"], str(chain(task))) for task, fields in RAW.items()}
    return right_share(workspace, wanted, ("name", "team", "chain")) == 1.0


@check
def starts_right(workspace: Path) -> float:
    return right_share(workspace, {t: (first.isoformat(),) for t, (first, _) in PLAN.items()}, ("start",))


@check
def ends_right(workspace: Path) -> float:
    return right_share(workspace, {t: (last.isoformat(),) for t, (_, last) in PLAN.items()}, ("end",))


@check
def schedule_exact(workspace: Path) -> float:
    found = [(row["task"], row["start"], row["end"]) for row in rows(workspace)]
    return found == [(task, PLAN[task][0].isoformat(), PLAN[task][1].isoformat()) for task in ORDER]


def teams(workspace: Path) -> dict[str, Any]:
    names = sorted({fields["team"] for fields in RAW.values()})
    found = object_keys(output_json(workspace, "output/teams.json"), names)
    keys = ["tasks", "busy_days", "first_day", "last_day", "idle_days"]
    return {name: object_keys(found[name], keys) for name in names}


def of_team(name: str) -> list[str]:
    return [task for task in ORDER if RAW[task]["team"] == name]


@check
def team_orders(workspace: Path) -> float:
    found = teams(workspace)
    return all(found[name]["tasks"] == of_team(name) for name in found)


@check
def team_days(workspace: Path) -> float:
    found = teams(workspace)
    for name, values in found.items():
        mine = of_team(name)
        first, last = PLAN[mine[0]][0], max(PLAN[task][1] for task in mine)
        busy = sum(int(RAW[task]["days"]) for task in mine)
        span = [first + timedelta(days=n) for n in range((last - first).days + 1)]
        idle = sum(works(name, day) for day in span) - busy
        if (values["first_day"], values["last_day"]) != (first.isoformat(), last.isoformat()):
            return 0.0
        if not (is_int(values["busy_days"], busy) and is_int(values["idle_days"], idle)):
            return 0.0
    return 1.0


@check
def issues_reported(workspace: Path) -> float:
    found = output_csv(workspace, "output/issues.csv", ["task", "unknown_id"])
    return [(row["task"], row["unknown_id"]) for row in found] == ISSUES


def plan_text(workspace: Path) -> str:
    return section(output(workspace, "output/plan.md"), "Project plan")


@check
def plan_finish(workspace: Path) -> float:
    return labelled(plan_text(workspace), "Finish") == max(last for _, last in PLAN.values()).isoformat()


@check
def plan_longest_chain(workspace: Path) -> float:
    top = min(RAW, key=lambda task: (-chain(task), task))
    text = plan_text(workspace)
    words = labelled(text, "Longest chain").removesuffix("working days")
    return is_int(words, chain(top)) and labelled(text, "Starts the longest chain") == top


@check
def plan_table(workspace: Path) -> float:
    last = sorted(PLAN, key=lambda task: (-PLAN[task][1].toordinal(), task))[:SHOWN]
    wanted = [[t, RAW[t]["team"], PLAN[t][0].isoformat(), PLAN[t][1].isoformat()] for t in last]
    return md_table(plan_text(workspace), ["Task", "Team", "Start", "End"]) == wanted
