"""Turn the transcript into action items, minutes and reminders."""

import csv
import json
import re
from datetime import date, timedelta
from pathlib import Path

MEETING = "2026-03-02"

with open("input/team.csv", newline="") as handle:
    team = list(csv.DictReader(handle))
by_first = {p["name"].split()[0]: p for p in team}
by_name = {p["name"]: p for p in team}
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def resolve(text: str) -> str:
    """ISO date for a date, a weekday or 'in N days'."""
    start = date.fromisoformat(MEETING)
    if text in DAYS:
        ahead = (DAYS.index(text) - start.weekday()) % 7 or 7
        return str(start + timedelta(days=ahead))
    if text.startswith("in "):
        return str(start + timedelta(days=int(text.split()[1])))
    return text


actions: dict[str, dict[str, str]] = {}
decisions: list[str] = []
speakers: set[str] = set()
for line in Path("input/transcript.md").read_text().splitlines():
    match = re.match(r"\*\*\d\d:\d\d (\w+):\*\* (.+)", line)
    if not match:
        continue
    speakers.add(by_first[match.group(1)]["name"])
    text = match.group(2)
    new = re.match(r"ACTION \[(A\d+)\] (\w+): (.+) \(due (.+)\)$", text)
    if new:
        actions[new.group(1)] = {"owner": new.group(2), "task": new.group(3), "due": resolve(new.group(4))}
    elif text.startswith("DECISION: "):
        decisions.append(text[len("DECISION: ") :])
    elif text.startswith("DECISION withdrawn: "):
        decisions.remove(text[len("DECISION withdrawn: ") :])
    elif change := re.match(r"\[(A\d+)\] (moved to|goes to|dropped)(?: (.+))?$", text):
        label, what, value = change.groups()
        if what == "dropped":
            actions.pop(label)
        elif what == "moved to":
            actions[label]["due"] = resolve(value)
        else:
            actions[label]["owner"] = value

items = []
for label, action in actions.items():
    person = by_first[action["owner"]]
    if person["away_from"] and person["away_from"] <= action["due"] <= person["away_to"]:
        person = by_name[person["deputy"]]
    items.append([label, person["name"], person["email"], action["due"], action["task"]])
items.sort(key=lambda item: (item[3], int(item[0][1:])))

Path("output").mkdir(exist_ok=True)
with open("output/action_items.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["id", "owner", "email", "due", "task"])
    writer.writerows(items)

minutes = [f"# Minutes of {MEETING}", "", "## Present", ""]
minutes += [f"- {name}" for name in sorted(speakers)]
minutes += ["", "## Decisions", "", *(f"- {text}" for text in decisions)]
minutes += ["", "## Action items", "", "| ID | Owner | Due |", "| --- | --- | --- |"]
minutes += [f"| {label} | {owner} | {due} |" for label, owner, _, due, _ in items]
Path("output/minutes.md").write_text("\n".join(minutes) + "\n")

reminders = []
for email in sorted({item[2] for item in items}):
    mine = [item for item in items if item[2] == email]
    lines = [f"Hi {mine[0][1].split()[0]},", "", "this is what you took on:"]
    lines += [f"- {label}: {task} (due {due})" for label, _, _, due, task in mine]
    reminders.append({"to": email, "subject": f"Action items from {MEETING}: {len(mine)}", "body": "\n".join(lines)})
Path("output/reminders.json").write_text(json.dumps(reminders, indent=2) + "\n")
print(len(items), "actions,", len(decisions), "decisions,", len(reminders), "reminders")
