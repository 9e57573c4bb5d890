"""Family `meeting_minutes`: a transcript becomes action items, minutes and reminders.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, people, slugged, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, edit, look, plan, read, rewritten, run, script, verify, write

TASKS: Final = (
    "send the revised offer to the printer", "collect the travel dates", "book the large room",
    "check the fire-safety certificate", "ask two more caterers for prices", "update the contact list",
    "draft the invitation text", "order badges for the guests", "review the contract with the venue",
    "prepare the slides for the board", "clean up the shared folder", "test the sound system",
    "write the job advertisement", "compare three insurance offers",
)  # fmt: skip
DECISIONS: Final = (
    "The workshop takes place in the small hall.", "We keep the current supplier for another year.",
    "Invoices are approved by two people from now on.", "The newsletter appears every second week.",
    "Parking is paid by the guests themselves.", "The budget for printing is cut by a tenth.",
    "New laptops are ordered in one batch.",
)  # fmt: skip
CHAT: Final = (
    "Can everybody hear me?", "I have nothing to add.", "Let us come back to that later.", "Good point.",
    "That took longer than planned last year.", "I will be brief.", "Sorry, I was muted.", "Action is needed soon.",
    "A decision on the colours can wait.",
)  # fmt: skip
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass
class Action:
    """An action as it stands at the end of the meeting."""

    number: int
    owner: int
    task: str
    due: date
    dropped: bool = False
    changes: list[str] = field(default_factory=list)
    """Lines said later about it, with their wording."""


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    day = date(2026, rng.randint(1, 10), rng.randint(1, 28))
    team = people(rng, 7)
    actions, said = _actions(rng, day, team)
    away = _away(rng, actions, len(team))
    standing = [a for a in actions if not a.dropped]
    made = rng.sample(DECISIONS, 4)
    withdrawn = rng.choice(made[:3])
    transcript, speakers = _transcript(rng, day, team, said, made, withdrawn)
    inputs = {"input/transcript.md": transcript, "input/team.csv": _team_csv(rng, team, away)}
    words = 90
    kept = [text for text in made if text != withdrawn]
    oracle = _oracle(day, team, standing, away, kept, speakers)
    errand = f"I need the records of our meeting on {day} in order."
    text = told(
        __file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng), day=day,
        weekday=WEEKDAYS[day.weekday()], words=words,
    )  # fmt: skip
    return Draft(text, inputs, oracle, {"DAY": day.isoformat(), "WORDS": words}, _plan(rng, day))


def _when(rng: random.Random, day: date) -> tuple[date, str]:
    """A due date and a way to say it."""
    ahead = rng.randint(1, 20)
    due = day + timedelta(days=ahead)
    ways = [due.isoformat(), f"in {ahead} days"]
    if ahead <= 7:
        ways += [WEEKDAYS[due.weekday()]] * 3
    return due, rng.choice(ways)


def _actions(rng: random.Random, day: date, team: list[str]) -> tuple[list[Action], list[str]]:
    """Actions, and what was said about them in order; changes come after the opening line."""
    actions, said = [], []
    for number, task in enumerate(rng.sample(TASKS, rng.randint(7, 9)), 1):
        due, spoken = _when(rng, day)
        owner = rng.randrange(len(team))
        actions.append(Action(number, owner, task, due))
        said.append(f"ACTION [A{number}] {team[owner].split()[0]}: {task} (due {spoken})")
    moved, given, dropped = rng.sample(actions, 3)
    first = moved.due
    while len(moved.changes) < 2 or moved.due == first:
        moved.due, spoken = _when(rng, day)
        moved.changes.append(f"[A{moved.number}] moved to {spoken}")
    given.owner = (given.owner + rng.randint(1, len(team) - 1)) % len(team)
    given.changes.append(f"[A{given.number}] goes to {team[given.owner].split()[0]}")
    dropped.dropped = True
    dropped.changes.append(f"[A{dropped.number}] dropped")
    for action in (moved, given, dropped):
        at = next(i for i, line in enumerate(said) if line.startswith(f"ACTION [A{action.number}]")) + 1
        for line in action.changes:
            at = rng.randint(at, len(said))
            said.insert(at, line)
            at += 1
    return actions, said


def _away(rng: random.Random, actions: list[Action], team: int) -> dict[int, tuple[date, date, int]]:
    """Two people away over a due date of theirs, one over none; each with a deputy who is never away."""
    standing = [a for a in actions if not a.dropped]
    owners = sorted({a.owner for a in standing})
    rng.shuffle(owners)
    absent = owners[:2]
    deputies = [p for p in range(team) if p not in absent]
    found = {}
    for person in absent:
        due = rng.choice([a.due for a in standing if a.owner == person])
        found[person] = (
            due - timedelta(days=rng.randint(0, 2)),
            due + timedelta(days=rng.randint(0, 3)),
            rng.choice(deputies),
        )
    return found


def _team_csv(rng: random.Random, team: list[str], away: dict[int, tuple[date, date, int]]) -> str:
    lines = ["name,email,away_from,away_to,deputy"]
    for person, name in enumerate(team):
        first, last, deputy = away.get(person, ("", "", (person + 1) % len(team)))
        lines.append(f"{name},{slugged(name)}@example.org,{first},{last},{team[deputy]}")
    return "\n".join([lines[0], *rng.sample(lines[1:], len(team))]) + "\n"


def _transcript(
    rng: random.Random, day: date, team: list[str], said: list[str], made: list[str], withdrawn: str
) -> tuple[str, list[str]]:
    """The transcript and who speaks in it: everybody but one."""
    present = rng.sample(team, len(team) - 1)
    script = list(said)
    for text in made:
        script.insert(rng.randint(0, len(script)), f"DECISION: {text}")
    made.sort(key=lambda text: script.index(f"DECISION: {text}"))
    at = script.index(f"DECISION: {withdrawn}")
    script.insert(rng.randint(at + 1, len(script)), f"DECISION withdrawn: {withdrawn}")
    for text in rng.sample(CHAT, 6):
        script.insert(rng.randint(0, len(script)), text)
    speakers = [*present, *(rng.choice(present) for _ in range(len(script) - len(present)))]
    rng.shuffle(speakers)
    minute = rng.randint(0, 9)
    lines = [f"# Weekly meeting, {day}", "", "_Automatic transcript; times are local._", ""]
    for speaker, text in zip(speakers, script, strict=True):
        minute += rng.randint(0, 2)
        lines += [f"**{10 + minute // 60:02d}:{minute % 60:02d} {speaker.split()[0]}:** {text}", ""]
    return "\n".join(lines), sorted(present)


def _oracle(
    day: date, team: list[str], standing: list[Action], away: dict[int, tuple[date, date, int]], decisions: list[str],
    speakers: list[str],
) -> dict[str, str]:  # fmt: skip
    """Outputs from the actions as they stand."""
    rows = []
    for action in sorted(standing, key=lambda a: (a.due, a.number)):
        person = action.owner
        if person in away and away[person][0] <= action.due <= away[person][1]:
            person = away[person][2]
        rows.append(
            (f"A{action.number}", team[person], f"{slugged(team[person])}@example.org", action.due, action.task)
        )
    minutes = [f"# Minutes of {day}", "", "## Present", "", *(f"- {name}" for name in speakers)]
    minutes += ["", "## Decisions", "", *(f"- {text}" for text in decisions), "", "## Action items", ""]
    minutes += [
        "| ID | Owner | Due |",
        "| --- | --- | --- |",
        *(f"| {i} | {who} | {due} |" for i, who, _, due, _ in rows),
    ]
    reminders = []
    for to in sorted({row[2] for row in rows}):
        mine = [row for row in rows if row[2] == to]
        body = [f"Hi {mine[0][1].split()[0]},", "", "this is what you took on:"]
        body += [f"- {i}: {task} (due {due})" for i, _, _, due, task in mine]
        reminders.append({"to": to, "subject": f"Action items from {day}: {len(mine)}", "body": "\n".join(body)})
    return {
        "output/action_items.csv": "id,owner,email,due,task\n"
        + "".join(f"{','.join(map(str, row))}\n" for row in rows),
        "output/minutes.md": "\n".join(minutes) + "\n",
        "output/reminders.json": json.dumps(reminders, indent=2) + "\n",
    }


def _plan(rng: random.Random, day: date) -> Plan:
    name = rng.choice(("scripts/minutes.py", "work/meeting.py", "minutes.py"))
    source = script(__file__, MEETING=day.isoformat())
    steps = [
        look(rng.choice(("ls -l input", "find input -type f")), "Let me see the material."),
        read("input/transcript.md", "The transcript and the team."),
        read("input/team.csv", beside=True),
        run("grep -nE '\\[A[0-9]+\\]|DECISION' input/transcript.md", "What opens or changes them?", phase="explore"),
        write(name, source, "Several actions change later, so I'll replay the transcript in order."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/action_items.csv output/minutes.md", "Compare with the marks in the transcript."),
        verify("python3 -c \"import json\nfor r in json.load(open('output/reminders.json')):"
               " print(r['to'], len(r['body'].split()))\"",
               "And the length of each reminder."),
    ]  # fmt: skip
    slips = [
        Slip(1, read("input/transcript.txt"), "It is a Markdown file."),
        Slip(5, run(f"python3 {name}c"), f"A typing slip: the script is {name}."),
        Slip(6, edit("output/minutes.md", [("# Minutes of the meeting", f"# Minutes of {day}")]),
             "The heading is right already; nothing to edit."),
    ]  # fmt: skip
    no_deputy = changed(source, ('person = by_name[person["deputy"]]', "pass"))
    same_day = changed(source, ("% 7 or 7", "% 7"), ('actions[label]["due"] = resolve(value)', "pass"))
    ignoring = changed(
        source, ("actions.pop(label)", "pass"), ("decisions.remove(text[", "print(text["),
        ('actions[label]["due"] = resolve(value)', "pass"), ('"due": resolve(new.group(4))', '"due": new.group(4)'),
    )  # fmt: skip
    flaws = [
        Flaw("deputies_forgotten", {4: rewritten(steps[4], no_deputy)}, loss="small"),
        Flaw("moved_dates_ignored", {4: rewritten(steps[4], same_day)}, loss="small"),
        Flaw("changes_ignored", {4: rewritten(steps[4], ignoring)}, loss="large"),
        Flaw("only_the_table", {5: run(f"python3 {name} && rm output/minutes.md output/reminders.json", "Run it.")}),
    ]
    closing = "Action items, minutes and reminders are in output/; dropped and moved actions are taken into account."
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="meeting_minutes",
    bench_category="Productivity & Collaboration",
    settings=(Setting("Messaging and Collaboration", "meeting coordination and scheduling"),),
    operations=(
        "read local files and extract relevant content",
        "prepare meeting notes or action items",
        "draft emails or messages",
        "write structured results to local files",
    ),
    difficulty=2,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("office administration", "events and hospitality", "public and non-profit", "education"),
    skill_words=("meeting", "notes", "reminders", "tasks", "inbox"),
)
