"""Family `project_schedule`: tasks with predecessors, teams and free days become a schedule with exact rules.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import heapq
import json
import random
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

WORK: Final = (
    "Survey the site", "Draft the layout", "Order materials", "Print the leaflets", "Set up the booths",
    "Test the sound",
    "Write the programme", "Invite the speakers", "Build the stage", "Paint the signs", "Train the helpers",
    "Check the exits", "Plan the catering", "Book the rooms", "Collect the feedback", "Publish the report",
    "Wire the lights", "Pack the boxes",
)  # fmt: skip
TEAMS: Final = ("field", "studio", "office", "workshop", "outreach")
SHOWN: Final = 5


@dataclass(frozen=True)
class Work:
    """A task of the project."""

    label: str
    name: str
    days: int
    team: str
    after: tuple[str, ...]


@dataclass(frozen=True)
class Project:
    """Everything a seed decides."""

    start: date
    tasks: tuple[Work, ...]
    unknown: dict[str, tuple[str, ...]]
    """Task → ids in its `after` that no task has."""
    holidays: tuple[date, ...]
    teams: dict[str, tuple[date, tuple[date, ...]]]
    """Team → first possible day, days away."""

    @cached_property
    def chains(self) -> dict[str, int]:
        """Longest chain of each task, from the last task to the first: ids are in topological order."""
        found: dict[str, int] = {}
        for work in reversed(self.tasks):
            later = [found[other.label] for other in self.tasks if work.label in other.after]
            found[work.label] = work.days + max(later, default=0)
        return found

    def days_of(self, team: str) -> list[date]:
        """The team's working days, for two years."""
        first, away = self.teams[team]
        days = (self.start + timedelta(days=n) for n in range(730))
        return [d for d in days if d.isoweekday() < 6 and d >= first and d not in away and d not in self.holidays]


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    project = _project(rng)
    inputs = {"plan/tasks.yaml": _tasks_yaml(rng, project), "plan/holidays.csv": _holidays_csv(rng, project)}
    inputs["plan/teams.ini"] = "; all dates are local\n" + "\n".join(
        f"[{team}]\navailable_from = {first}\naway = {', '.join(map(str, away))}\n"
        for team, (first, away) in project.teams.items()
    )
    errand = "I need a schedule for our project that follows our rules to the day."
    text = told(
        __file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng, "plan/"), start=project.start,
        shown=SHOWN,
    )  # fmt: skip
    start = project.start.isoformat()
    return Draft(text, inputs, _oracle(project), {"START": start, "SHOWN": SHOWN}, _plan(rng, start))


def _project(rng: random.Random) -> Project:
    start = date(2026, rng.randint(1, 9), rng.randint(1, 28))
    teams = rng.sample(TEAMS, 3)
    count = rng.randint(13, 16)
    labels = [f"T{n:02d}" for n in sorted(rng.sample(range(1, 60), count))]
    names = rng.sample(WORK, count)
    tasks: list[Work] = []
    for i, (label, name) in enumerate(zip(labels, names, strict=True)):
        earlier = labels[max(0, i - 6) : i]
        after = rng.sample(earlier, min(len(earlier), rng.choice((0, 1, 1, 2, 2)) if i > 2 else 0))
        team = teams[i] if i < 3 else rng.choice(teams)
        tasks.append(Work(label, name, rng.randint(1, 6), team, tuple(sorted(after))))
    unknown: dict[str, tuple[str, ...]] = {t.label: (f"T{rng.randint(70, 98)}",) for t in rng.sample(tasks, 2)}
    days = [start + timedelta(days=n) for n in range(1, 40)]
    holidays = tuple(sorted(rng.sample(days, 4)))
    info = {
        team: (start + timedelta(days=rng.choice((0, 0, 3, 5))), tuple(sorted(rng.sample(days, rng.choice((0, 2, 3))))))
        for team in teams
    }
    return Project(start, tuple(tasks), unknown, holidays, info)


def _tasks_yaml(rng: random.Random, project: Project) -> str:
    """The tasks in no particular order."""
    lines = ["# one block a task; lengths in working days"]
    for work in rng.sample(project.tasks, len(project.tasks)):
        after = [*work.after, *project.unknown.get(work.label, ())]
        rng.shuffle(after)
        fields = [f"  name: {work.name}", f"  days: {work.days}", f"  team: {work.team}"]
        fields.append(f"  after: {', '.join(after)}".rstrip())
        lines += [f"{work.label}:", *rng.sample(fields, 4)]
    return "\n".join(lines) + "\n"


def _holidays_csv(rng: random.Random, project: Project) -> str:
    names = ("Founders' day", "Bridge day", "Town fair", "Inventory day")
    return "date,name\n" + "".join(f"{day},{name}\n" for day, name in zip(project.holidays, names, strict=True))


def _schedule(project: Project) -> dict[str, tuple[date, date]]:
    """First and last day of each task, from one event to the next rather than from day to day."""
    calendars = {team: project.days_of(team) for team in project.teams}
    planned: dict[str, tuple[date, date]] = {}
    queue = [(days[0], team) for team, days in calendars.items()]
    heapq.heapify(queue)
    while queue:
        day, team = heapq.heappop(queue)
        ready: list[Work] = []
        waiting: list[Work] = []
        for work in project.tasks:
            if work.team != team or work.label in planned:
                continue
            known = all(label in planned for label in work.after)
            can = known and all(planned[label][1] < day for label in work.after)
            (ready if can else waiting).append(work)
        calendar = calendars[team]
        at = calendar.index(day)
        if ready:
            work = min(ready, key=lambda w: (-project.chains[w.label], w.label))
            planned[work.label] = (day, calendar[at + work.days - 1])
            heapq.heappush(queue, (calendar[at + work.days], team))
        elif waiting:
            heapq.heappush(queue, (calendar[at + 1], team))
    return planned


def _oracle(project: Project) -> dict[str, str]:
    planned = _schedule(project)
    by_label = {work.label: work for work in project.tasks}
    order = sorted(planned, key=lambda label: (planned[label][0], label))
    rows = "".join(
        f"{label},{by_label[label].name},{by_label[label].team},{planned[label][0]},{planned[label][1]},"
        f"{project.chains[label]}\n"
        for label in order
    )
    teams = {}
    for team in sorted(project.teams):
        mine = [label for label in order if by_label[label].team == team]
        first, last = planned[mine[0]][0], planned[mine[-1]][1]
        busy = sum(by_label[label].days for label in mine)
        span = [day for day in project.days_of(team) if first <= day <= last]
        teams[team] = {
            "tasks": mine, "busy_days": busy, "first_day": str(first), "last_day": str(last),
            "idle_days": len(span) - busy,
        }  # fmt: skip
    issues = "".join(f"{label},{other}\n" for label in sorted(project.unknown) for other in project.unknown[label])
    longest = max(project.chains.values())
    top = min(label for label, length in project.chains.items() if length == longest)
    late = sorted(order, key=lambda label: (-planned[label][1].toordinal(), label))[:SHOWN]
    text = ["# Project plan", "", f"Finish: {max(last for _, last in planned.values())}"]
    text += [f"Longest chain: {longest} working days", f"Starts the longest chain: {top}", ""]
    text += ["| Task | Team | Start | End |", "| --- | --- | --- | --- |"]
    text += [f"| {label} | {by_label[label].team} | {planned[label][0]} | {planned[label][1]} |" for label in late]
    return {
        "output/schedule.csv": f"task,name,team,start,end,chain\n{rows}",
        "output/teams.json": json.dumps(teams, indent=2) + "\n",
        "output/issues.csv": f"task,unknown_id\n{issues}",
        "output/plan.md": "\n".join(text) + "\n",
    }


def _plan(rng: random.Random, start: str) -> Plan:
    name = rng.choice(("scripts/schedule.py", "work/schedule.py", "make_schedule.py"))
    source = script(__file__, START=start, SHOWN=SHOWN)
    steps = [
        look(rng.choice(("ls -l plan", "find plan -type f"))),
        read("plan/tasks.yaml", "Tasks, teams and free days."),
        read("plan/teams.ini", beside=True),
        read("plan/holidays.csv", beside=True),
        run("grep -h 'team:' plan/tasks.yaml | sort | uniq -c;"
            " grep -ohE 'T[0-9]+' plan/tasks.yaml | sort | uniq -c | sort -n | head -5",
            "How much has each team to do, and which ids look odd?", phase="explore"),
        write(name, source, "I'll simulate day by day, with the priority rule as given."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/schedule.csv output/issues.csv", "Check some tasks by hand against their predecessors."),
        verify("cat output/plan.md; python3 -c \"import json; print({k: (v['busy_days'], v['idle_days']) for k, v in"
               " json.load(open('output/teams.json')).items()})\"", "And the summary."),
    ]  # fmt: skip
    slips = [
        Slip(1, read("plan/tasks.yml"), "The ending is .yaml."),
        Slip(6, run(f"python3 plan/{name.rsplit('/', 1)[-1]}"), f"The script is {name}."),
    ]
    holidays = changed(
        source, ("day.weekday() < 5 and day not in holidays and ", ""), ('day not in info["away"] and ', "")
    )
    shorter = changed(source, ("[:SHOWN]", "[: SHOWN - 1]"))
    flaws = [
        Flaw("free_days_ignored", {5: rewritten(steps[5], holidays)}, loss="large"),
        Flaw("table_too_short", {5: rewritten(steps[5], shorter)}, loss="small"),
        Flaw("issues_forgotten", {6: run(f"python3 {name} && rm output/issues.csv", "Run it.")}, loss="small"),
        Flaw(
            "only_the_schedule",
            {6: run(f"python3 {name} && rm output/plan.md output/teams.json output/issues.csv", "Run it.")},
        ),
    ]
    closing = "The schedule, the teams' work, the unknown ids and the plan are in output/."
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="project_schedule",
    bench_category="Planning & Knowledge",
    settings=(
        Setting("Planning and Knowledge Organization", "task planning and decomposition"),
        Setting("Planning and Knowledge Organization", "solution and architecture design"),
    ),
    operations=(
        "read local files and extract relevant content",
        "compute basic statistics and aggregates",
        "filter, sort, and rank records",
        "compose updates, reports, or status summaries",
        "write structured results to local files",
    ),
    difficulty=5,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("events and hospitality", "energy and facilities", "logistics and supply", "education"),
    skill_words=("project", "tasks", "taskflow", "schedule"),
)
