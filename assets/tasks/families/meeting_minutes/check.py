"""Verifier of `meeting_minutes`: reads the transcript again and follows every action to its owner and date."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    bullets,
    check,
    md_table,
    object_keys,
    original,
    original_csv,
    output,
    output_csv,
    output_json,
    section,
    share,
)

DAY = "2026-03-02"
WORDS = 80
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
COLUMNS = ["id", "owner", "email", "due", "task"]

TEAM = {row["name"].split()[0]: row for row in original_csv("input/team.csv")}
LINES = re.findall(r"^\*\*\d\d:\d\d (\w+):\*\* (.*)$", original("input/transcript.md"), re.MULTILINE)


def when(text: str) -> str:
    meeting = date.fromisoformat(DAY)
    if text in WEEKDAYS:
        day = meeting + timedelta(days=1)
        while WEEKDAYS[day.weekday()] != text:
            day += timedelta(days=1)
        return day.isoformat()
    counted = re.fullmatch(r"in (\d+) days", text)
    return (meeting + timedelta(days=int(counted[1]))).isoformat() if counted else text


def actions() -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for _, said in LINES:
        opened = re.fullmatch(r"ACTION \[(A\d+)\] (\w+): (.*) \(due (.*)\)", said)
        changed = re.fullmatch(r"\[(A\d+)\] (moved to|goes to|dropped) ?(.*)", said)
        if opened:
            found[opened[1]] = {"id": opened[1], "who": opened[2], "task": opened[3], "due": when(opened[4])}
        elif changed and changed[2] == "dropped":
            del found[changed[1]]
        elif changed:
            found[changed[1]].update({"due": when(changed[3])} if changed[2] == "moved to" else {"who": changed[3]})
    for item in found.values():
        person = TEAM[item["who"]]
        if person["away_from"] and person["away_from"] <= item["due"] <= person["away_to"]:
            person = next(row for row in TEAM.values() if row["name"] == person["deputy"])
        item.update(owner=person["name"], email=person["email"])
    return sorted(found.values(), key=lambda item: (item["due"], int(item["id"][1:])))


def decisions() -> list[str]:
    made = [said.removeprefix("DECISION:").strip() for _, said in LINES if said.startswith("DECISION:")]
    taken_back = {said.split(":", 1)[1].strip() for _, said in LINES if said.startswith("DECISION withdrawn:")}
    return [text for text in made if text not in taken_back]


ACTIONS = actions()
BY_ID = {item["id"]: item for item in ACTIONS}


def rows(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/action_items.csv", COLUMNS)


def right_share(workspace: Path, fields: tuple[str, ...]) -> float:
    found = rows(workspace)
    right = sum(r["id"] in BY_ID and all(r[f] == BY_ID[r["id"]][f] for f in fields) for r in found)
    return share(right, max(len(found), len(ACTIONS)))


@check
def actions_in_order(workspace: Path) -> float:
    return [row["id"] for row in rows(workspace)] == [item["id"] for item in ACTIONS]


@check
def owners_right(workspace: Path) -> float:
    return right_share(workspace, ("owner", "email"))


@check
def due_dates_right(workspace: Path) -> float:
    return right_share(workspace, ("due",))


@check
def tasks_word_for_word(workspace: Path) -> float:
    return right_share(workspace, ("task",))


def part(workspace: Path, name: str) -> str:
    return section(section(output(workspace, "output/minutes.md"), f"Minutes of {DAY}"), name)


@check
def present_listed(workspace: Path) -> float:
    wanted = sorted({TEAM[speaker]["name"] for speaker, _ in LINES})
    return bullets(part(workspace, "Present")) == wanted


@check
def decisions_listed(workspace: Path) -> float:
    return bullets(part(workspace, "Decisions")) == decisions()


@check
def minutes_table(workspace: Path) -> float:
    table = md_table(part(workspace, "Action items"), ["ID", "Owner", "Due"])
    return table == [[item["id"], item["owner"], item["due"]] for item in ACTIONS]


def by_owner() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for item in ACTIONS:
        found.setdefault(item["email"], []).append(item)
    return dict(sorted(found.items()))


def reminders(workspace: Path) -> list[dict[str, Any]]:
    return [object_keys(item, ["to", "subject", "body"]) for item in output_json(workspace, "output/reminders.json")]


@check
def reminders_addressed(workspace: Path) -> float:
    wanted = [(to, f"Action items from {DAY}: {len(items)}") for to, items in by_owner().items()]
    return [(item["to"], item["subject"]) for item in reminders(workspace)] == wanted


@check
def reminders_complete(workspace: Path) -> float:
    found = reminders(workspace)
    if [item["to"] for item in found] != list(by_owner()):
        return 0.0
    for item, items in zip(found, by_owner().values(), strict=True):
        lines = [line.strip() for line in item["body"].splitlines() if line.strip()]
        wanted = [f"- {i['id']}: {i['task']} (due {i['due']})" for i in items]
        if not lines[0].startswith(f"Hi {items[0]['owner'].split()[0]},"):
            return 0.0
        if [line for line in lines if line.startswith("-")] != wanted or len(item["body"].split()) > WORDS:
            return 0.0
    return 1.0
