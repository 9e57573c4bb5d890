"""Verifier of `mailbox_triage`: reads the handed-out mailbox and links its messages anew."""

from __future__ import annotations

import base64
import configparser
import quopri
import re
from calendar import month_name
from datetime import UTC, date, timedelta
from email.header import decode_header, make_header
from email.parser import BytesParser
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    ORIGINALS,
    check,
    is_int,
    labelled,
    md_table,
    object_keys,
    original,
    output,
    output_csv,
    output_json,
    section,
    share,
)

DOMAIN = "example.example"
TODAY = "2026-01-01"


def body_of(message: Any) -> str:
    text: bytes = message.get_payload().encode("utf-8", "surrogateescape")
    coding = str(message["Content-Transfer-Encoding"]).lower()
    if coding == "base64":
        text = base64.b64decode(text)
    elif coding == "quoted-printable":
        text = quopri.decodestring(text)
    return text.decode("utf-8")


def due_of(text: str, day: date) -> str | None:
    """What a message says about its deadline: nothing (None), the word none, or a date."""
    said = re.findall(r"^Deadline:\s*(.*?)\s*$", text.replace("\r", ""), re.MULTILINE)
    if not said or said[-1] == "none":
        return "none" if said else None
    count = re.fullmatch(r"in (\d+) working days", said[-1])
    if count:
        ahead = [day + timedelta(days=n) for n in range(1, 60)]
        return [d for d in ahead if d.weekday() < 5][int(count[1]) - 1].isoformat()
    words = re.fullmatch(r"(\d+) (\w+) (\d+)", said[-1])
    return date(int(words[3]), list(month_name).index(words[2]), int(words[1])).isoformat() if words else said[-1]


def load() -> tuple[dict[int, dict[str, Any]], list[tuple[int, str]]]:
    """Messages that count by number, and those left out."""
    raw = ORIGINALS["mail/inbox.mbox"]
    kept: dict[int, dict[str, Any]] = {}
    left_out: list[tuple[int, str]] = []
    seen: set[str] = set()
    for number, part in enumerate(re.split(rb"^From .*\n", raw, flags=re.MULTILINE)[1:], 1):
        message = BytesParser().parsebytes(part)
        ident = str(message["Message-ID"]).strip()
        automatic = str(message["Auto-Submitted"] or "no").strip().lower() != "no"
        if automatic or ident in seen:
            left_out.append((number, "auto_reply" if automatic else "duplicate"))
        else:
            sent = parsedate_to_datetime(str(message["Date"])).astimezone(UTC)
            kept[number] = {
                "id": ident,
                "sent": sent,
                "sender": parseaddr(str(message["From"]))[1].lower(),
                "subject": "".join(str(make_header(decode_header(str(message["Subject"])))).splitlines()),
                "answers": str(message["In-Reply-To"] or "").split() + str(message["References"] or "").split()[::-1],
                "due": due_of(body_of(message), sent.date()),
            }
        seen.add(ident)
    return kept, left_out


MAILS, IGNORED = load()
BY_TIME = sorted(MAILS, key=lambda n: (MAILS[n]["sent"], n))


def desk_of(mail: dict[str, Any]) -> str:
    rules = configparser.ConfigParser()
    rules.read_string(original("mail/routing.ini"))
    for desk in rules.sections():
        words = [w.strip() for w in rules[desk]["words"].split(",") if w.strip()]
        hosts = [h.strip() for h in rules[desk]["domains"].split(",") if h.strip()]
        if any(re.search(rf"\b{re.escape(w)}\b", mail["subject"], re.IGNORECASE) for w in words) or any(
            mail["sender"].endswith(f"@{host}") for host in hosts
        ):
            return desk
    return "general"


def threads() -> dict[int, list[int]]:
    """Members of each thread by time, under its name."""
    number_of = {mail["id"]: n for n, mail in MAILS.items()}
    group = {n: n for n in MAILS}
    for n in MAILS:
        parent = next((number_of[i] for i in MAILS[n]["answers"] if i in number_of), None)
        if parent is not None:
            old, new = group[n], group[parent]
            group = {key: new if value == old else value for key, value in group.items()}
    found: dict[int, list[int]] = {}
    for n in BY_TIME:
        found.setdefault(group[n], []).append(n)
    return {members[0]: members for members in sorted(found.values())}


THREADS = dict(sorted(threads().items()))
THREAD_OF = {n: name for name, members in THREADS.items() for n in members}
DESKS = {name: desk_of(MAILS[name]) for name in THREADS}
WAITING = {name for name, members in THREADS.items() if not MAILS[members[-1]]["sender"].endswith("@" + DOMAIN)}


def deadline(name: int) -> str | None:
    said = [MAILS[n]["due"] for n in THREADS[name] if MAILS[n]["due"] is not None]
    return said[-1] if said and said[-1] != "none" else None


def rows(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/routing.csv", ["message", "sent", "sender", "thread", "desk"])


@check
def messages_in_order(workspace: Path) -> float:
    return [row["message"] for row in rows(workspace)] == [str(n) for n in BY_TIME]


@check
def messages_described(workspace: Path) -> float:
    found = {row["message"]: (row["sent"], row["sender"]) for row in rows(workspace)}
    wanted = {str(n): (f"{m['sent']:%Y-%m-%d %H:%M}", m["sender"]) for n, m in MAILS.items()}
    return share(sum(found.get(n) == value for n, value in wanted.items()), max(len(wanted), len(found)))


@check
def messages_threaded(workspace: Path) -> float:
    found = {row["message"]: row["thread"] for row in rows(workspace)}
    return found == {str(n): str(name) for n, name in THREAD_OF.items()}


@check
def messages_routed(workspace: Path) -> float:
    found = {row["message"]: row["desk"] for row in rows(workspace)}
    right = sum(found.get(str(n)) == DESKS[name] for n, name in THREAD_OF.items())
    return share(right, max(len(found), len(MAILS)))


def listed(workspace: Path) -> list[dict[str, Any]]:
    keys = ["thread", "subject", "messages", "people", "waits_for_us", "deadline"]
    return [object_keys(item, keys) for item in output_json(workspace, "output/threads.json")]


@check
def threads_found(workspace: Path) -> float:
    return [(item["thread"], item["messages"]) for item in listed(workspace)] == list(THREADS.items())


@check
def thread_subjects_and_people(workspace: Path) -> float:
    found = {item["thread"]: (item["subject"].strip(), item["people"]) for item in listed(workspace)}
    bare = {n: re.sub(r"^(?:\s*(?:re|fwd|aw):)+\s*", "", MAILS[n]["subject"], flags=re.IGNORECASE) for n in THREADS}
    return found == {n: (bare[n], sorted({MAILS[m]["sender"] for m in members})) for n, members in THREADS.items()}


@check
def thread_deadlines(workspace: Path) -> float:
    return {item["thread"]: item["deadline"] for item in listed(workspace)} == {n: deadline(n) for n in THREADS}


@check
def threads_waiting(workspace: Path) -> float:
    found = listed(workspace)
    marks = {item["thread"]: item["waits_for_us"] for item in found}
    return all(isinstance(mark, bool) for mark in marks.values()) and marks == {n: n in WAITING for n in THREADS}


@check
def ignored_listed(workspace: Path) -> float:
    found = output_csv(workspace, "output/ignored.csv", ["message", "reason"])
    return [(row["message"], row["reason"]) for row in found] == [(str(n), reason) for n, reason in IGNORED]


def todo(workspace: Path) -> str:
    return section(output(workspace, "output/todo.md"), f"To do on {TODAY}")


@check
def todo_numbers(workspace: Path) -> float:
    text = todo(workspace)
    overdue = sum(str(deadline(name) or TODAY) < TODAY for name in WAITING)
    return (
        is_int(labelled(text, "Threads"), len(THREADS))
        and is_int(labelled(text, "Waiting for us"), len(WAITING))
        and is_int(labelled(text, "Overdue"), overdue)
    )


@check
def todo_table(workspace: Path) -> float:
    dated = sorted((str(deadline(n)), n) for n in WAITING if deadline(n))
    wanted = [[day, str(n), DESKS[n], MAILS[THREADS[n][-1]]["sender"]] for day, n in dated]
    return md_table(todo(workspace), ["Deadline", "Thread", "Desk", "Waiting on"]) == wanted
