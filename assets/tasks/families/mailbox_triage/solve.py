"""Sort a shared mailbox into threads, desks and deadlines."""

import configparser
import csv
import email
import email.policy
import json
import re
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

DOMAIN = "example.example"
TODAY = "2026-01-01"

raw = Path("mail/inbox.mbox").read_bytes()
parts = [part for part in re.split(rb"(?m)^From [^\n]*\n", raw) if part.strip()]
messages: list[EmailMessage] = [email.message_from_bytes(part, policy=email.policy.default) for part in parts]

routing = configparser.ConfigParser()
routing.read("mail/routing.ini")


def bare(subject: object) -> str:
    return re.sub(r"^\s*((re|fwd|aw):\s*)+", "", str(subject), flags=re.IGNORECASE).strip()


def sender_of(message: EmailMessage) -> str:
    return str(message["From"].addresses[0].addr_spec).lower()


def desk_of(message: EmailMessage) -> str:
    words = set(re.findall(r"\w+", str(message["Subject"]).lower()))
    host = sender_of(message).split("@")[1]
    for desk in routing.sections():
        listed = {word.strip() for word in routing[desk]["words"].split(",")}
        domains = [domain.strip() for domain in routing[desk]["domains"].split(",")]
        if words & listed or host in domains:
            return desk
    return "general"


def deadline_of(message: EmailMessage, sent: datetime) -> str | None:
    """None where nothing is said, else the date or "none"; the last line counts."""
    found = None
    for line in message.get_content().splitlines():
        if line.startswith(">"):
            continue
        if line.startswith("Deadline:"):
            found = line.split(":", 1)[1].strip()
    if found in (None, "none"):
        return found
    count = re.match(r"in (\d+) working days", found)
    if count:
        day, left = sent.date(), int(count[1])
        while left:
            day += timedelta(days=1)
            left -= day.weekday() < 5
        return day.isoformat()
    form = "%Y-%m-%d" if re.match(r"\d{4}-", found) else "%d %B %Y"
    return datetime.strptime(found, form).date().isoformat()


kept: dict[int, EmailMessage] = {}
ignored: list[tuple[Any, str]] = []
by_id: dict[str, EmailMessage] = {}
for number, message in enumerate(messages, 1):
    if str(message["Message-ID"]) in by_id:
        ignored.append((number, "duplicate"))
    elif str(message["Auto-Submitted"] or "no") != "no":
        ignored.append((number, "auto_reply"))
    else:
        kept[number] = message
        by_id[str(message["Message-ID"])] = message


def find_root(message: EmailMessage) -> str:
    while True:
        named = [str(message["In-Reply-To"] or ""), *str(message["References"] or "").split()[::-1]]
        parent = next((by_id[ident] for ident in named if ident in by_id), None)
        if parent is None:
            return str(message["Message-ID"])
        message = parent


entries = []
for number, message in kept.items():
    sent = message["Date"].datetime.astimezone(UTC)
    root = find_root(message)
    entries.append((sent, number, message, root))
entries.sort(key=lambda entry: entry[:2])

threads: dict[str, list[tuple[datetime, int, EmailMessage, str]]] = {}
for entry in entries:
    threads.setdefault(entry[3], []).append(entry)

listed: list[dict[str, Any]] = []
desks: dict[int, tuple[str, str]] = {}
rows = []
for members in threads.values():
    thread, first = members[0][1], members[0][2]
    said = [d for d in (deadline_of(message, sent) for sent, _, message, _ in members) if d is not None]
    deadline = said[-1] if said and said[-1] != "none" else None
    desks[thread] = (desk_of(first), sender_of(members[-1][2]))
    rows += [(sent, number, sender_of(message), thread) for sent, number, message, _ in members]
    listed.append(
        {
            "thread": thread,
            "subject": bare(first["Subject"]),
            "messages": [number for _, number, _, _ in members],
            "people": sorted({sender_of(message) for _, _, message, _ in members}),
            "waits_for_us": not desks[thread][1].endswith("@" + DOMAIN),
            "deadline": deadline,
        }
    )
listed.sort(key=lambda item: item["thread"])

Path("output").mkdir(exist_ok=True)
with open("output/routing.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["message", "sent", "sender", "thread", "desk"])
    for sent, number, sender, thread in sorted(rows):
        writer.writerow([number, f"{sent:%Y-%m-%d %H:%M}", sender, thread, desks[thread][0]])
with open("output/ignored.csv", "w", newline="") as handle:
    csv.writer(handle, lineterminator="\n").writerows([("message", "reason"), *ignored])
Path("output/threads.json").write_text(json.dumps(listed, indent=2, ensure_ascii=False) + "\n")

waiting = [item for item in listed if item["waits_for_us"]]
dated = sorted((item["deadline"], item["thread"]) for item in waiting if item["deadline"])
lines = [f"# To do on {TODAY}", "", f"Threads: {len(listed)}", f"Waiting for us: {len(waiting)}"]
lines += [f"Overdue: {sum(deadline < TODAY for deadline, _ in dated)}", ""]
lines += ["| Deadline | Thread | Desk | Waiting on |", "| --- | --- | --- | --- |"]
lines += [f"| {deadline} | {thread} | {desks[thread][0]} | {desks[thread][1]} |" for deadline, thread in dated]
Path("output/todo.md").write_text("\n".join(lines) + "\n")
print(len(kept), "messages in", len(listed), "threads")
