"""Family `mailbox_triage`: a shared mailbox becomes threads, desks and deadlines.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, people, slugged, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

DOMAINS: Final = ("nordfrost.example", "halden-logistik.example", "quay-street.example", "bluecrate.example")
OUTSIDE: Final = (
    "mailbox.example",
    "orchard-school.example",
    "feldmann.example",
    "kiosk24.example",
    "porto-sul.example",
)
SUBJECTS: Final[dict[str, tuple[str, ...]]] = {
    "billing": ("Invoice 20{n} shows the wrong address", "REFUND for order {n}", "Second reminder, but invoice paid"),
    "returns": ("Damaged crate, order {n}", "Return of {n} jars", "Crème pots arrived damaged"),
    "sales": ("Offer for {n} boxes", "Größere Kisten: offer?", "Prices for autumn"),
    "general": ("Opening hours on the 3rd", "Preinvoice sheet for the fair", "Lost gloves", "Parking für Besucher"),
}
"""By the desk that the routing rules below give; "Preinvoice" is not the word "invoice"."""
WORDS: Final = {
    "returns": ("damaged", "return"),
    "billing": ("invoice", "refund", "reminder"),
    "sales": ("offer", "prices"),
}
LINES: Final = (
    "Thank you for the quick answer.", "Could somebody look into this?", "The number on the label ends with 7.",
    "We are open to another solution.", "I have attached nothing this time; the photo was too large.",
    "My colleague wrote about it last week.", "Best before the deadline: the usual carrier.",
)  # fmt: skip


@dataclass(frozen=True)
class Mail:
    """A message as it is meant."""

    ident: str
    sender: str
    moment: datetime
    subject: str
    """With whatever stands in front."""
    headers: dict[str, str] = field(default_factory=dict)
    deadline: str | None = None
    """Text after `Deadline:`."""
    quoted: str | None = None
    """Deadline in a quoted line, which sets nothing."""
    reason: str | None = None


@dataclass(frozen=True)
class Thread:
    """A thread as it is meant."""

    number: int
    subject: str
    desk: str
    mails: tuple[tuple[int, Mail], ...]

    @property
    def due(self) -> date | None:
        """What the latest message with a deadline says."""
        said = [(mail.deadline, mail.moment) for _, mail in self.mails if mail.deadline is not None]
        return _due(*said[-1]) if said else None


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    domain, partner = rng.choice(DOMAINS), rng.choice(OUTSIDE)
    start = datetime(2026, rng.randint(2, 11), rng.randint(1, 12), 7, tzinfo=UTC)
    today = start.date() + timedelta(days=rng.randint(9, 12))
    mails, threads = _mailbox(rng, domain, partner, start)
    while not _fit(threads):
        mails, threads = _mailbox(rng, domain, partner, start)
    inputs: dict[str, str | bytes] = {
        "mail/inbox.mbox": b"".join(_raw(rng, mail, f"desk@{domain}") for mail in mails),
        "mail/routing.ini": _routing(partner),
    }
    errand = "Our shared mailbox has run full and every thread needs a desk and a date."
    text = told(
        __file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng, "mail/"), domain=domain, today=today
    )
    oracle = _oracle(mails, threads, domain, today)
    constants = {"DOMAIN": domain, "TODAY": today.isoformat()}
    return Draft(text, inputs, oracle, constants, _plan(rng, constants))


def _routing(partner: str) -> str:
    lines = ["; the first section that fits decides"]
    for desk, words in WORDS.items():
        lines += [f"[{desk}]", f"words = {', '.join(words)}"]
        lines += [f"domains = {partner}", ""] if desk == "sales" else ["domains =", ""]
    return "\n".join(lines)


def _mailbox(
    rng: random.Random, domain: str, partner: str, start: datetime
) -> tuple[list[Mail], list[tuple[str, str, list[Mail]]]]:
    """Messages in order of arrival; threads as subject, desk and messages by time."""
    ours = [f"{slugged(name)}@{domain}" for name in people(rng, 4)]
    others = [o for o in OUTSIDE if o != partner]
    desks = ["billing", "billing", "returns", "sales", "general", "general", "returns", "partner"]
    rng.shuffle(desks)
    threads: list[tuple[str, str, list[Mail]]] = []
    used: set[str] = set()
    for i, desk in enumerate(desks):
        pool = SUBJECTS["general" if desk == "partner" else desk]
        subject = rng.choice([s for s in pool if s not in used])
        used.add(subject)
        subject = subject.format(n=rng.randint(120, 980))
        host = partner if desk == "partner" else rng.choice(others)
        customer = f"{slugged(rng.choice(people(rng, 3)))}@{host}"
        begin = start + timedelta(hours=9 * i, minutes=rng.randint(0, 500))
        mails = _thread(rng, begin, subject, customer, rng.sample(ours, 2), rng.choice((1, 2, 3, 3, 4)))
        threads.append((subject, "sales" if desk == "partner" else desk, mails))
    _same_subject(rng, threads, rng.choice(others))
    everything = [mail for _, _, mails in threads for mail in mails]
    late = {mail.ident: mail.moment + timedelta(hours=rng.choice((0, 0, 0, 0, 20))) for mail in everything}
    arrived = sorted(everything, key=lambda m: (late[m.ident], m.ident))
    for mail in rng.sample(arrived, 2):
        at = rng.randint(arrived.index(mail) + 1, len(arrived))
        arrived.insert(at, replace(mail, reason="duplicate"))
    for _ in range(2):
        about = rng.choice([m for m in arrived if m.reason is None])
        away = _ident(rng, domain)
        headers = {"In-Reply-To": about.ident, "Auto-Submitted": "auto-replied"}
        moment = about.moment + timedelta(seconds=9)
        auto = Mail(away, rng.choice(ours), moment, f"Away: {about.subject}", headers, "none", reason="auto_reply")
        arrived.insert(arrived.index(about) + 1, auto)
    return arrived, threads


def _same_subject(rng: random.Random, threads: list[tuple[str, str, list[Mail]]], host: str) -> None:
    """A reply to something that is not in the mailbox, under the subject of another thread: a thread of its own."""
    subject, desk, mails = rng.choice([t for t in threads if not t[2][0].sender.endswith(host) and t[1] != "sales"])
    ident = _ident(rng, host)
    moment = mails[-1].moment + timedelta(hours=rng.randint(2, 9), minutes=7)
    headers = {"In-Reply-To": _ident(rng, host), "Auto-Submitted": "no"}
    sender = f"{slugged(people(rng, 1)[0])}@{host}"
    lone = Mail(ident, sender, moment, f"Re: {subject}", headers, _deadline(rng, moment))
    threads.append((subject, desk, [lone]))


def _thread(
    rng: random.Random, moment: datetime, subject: str, customer: str, ours: list[str], count: int
) -> list[Mail]:
    mails: list[Mail] = []
    prefix = rng.choice(("Fwd: ", "", "", ""))
    for i in range(count):
        sender = customer if i % 2 == 0 else rng.choice(ours)
        ident = _ident(rng, sender.split("@")[1])
        headers = _parents(rng, mails)
        deadline = _deadline(rng, moment) if rng.random() < (0.75 if i == 0 else 0.45) else None
        quoted = mails[-1].deadline if mails else None
        mails.append(Mail(ident, sender, moment, f"{prefix}{subject}", headers, deadline, quoted))
        prefix = rng.choice(("Re: ", "RE: ", "AW: ", "Re: AW: ", "re: Fwd: "))
        moment += timedelta(hours=rng.randint(2, 40), minutes=rng.randint(1, 58))
    return mails


def _parents(rng: random.Random, mails: list[Mail]) -> dict[str, str]:
    """Headers that name the message answered; sometimes it is known from References only."""
    if not mails:
        return {}
    chain = [mail.ident for mail in mails]
    if len(mails) > 1 and rng.random() < 0.4:
        lost = _ident(rng, "relay.example")
        return {"In-Reply-To": lost, "References": " ".join([*chain, lost])}
    return {"In-Reply-To": rng.choice(chain[-2:]), "References": " ".join(chain)}


def _ident(rng: random.Random, host: str) -> str:
    return f"<{rng.getrandbits(40):010x}.{rng.randint(10, 99)}@{host}>"


def _deadline(rng: random.Random, moment: datetime) -> str:
    """A deadline as a message writes it."""
    day = moment.date() + timedelta(days=rng.randint(2, 14))
    return rng.choice(
        (day.isoformat(), f"{day.day} {day:%B} {day.year}", *[f"in {rng.randint(2, 8)} working days"] * 2, "none")
    )


def _due(text: str, moment: datetime) -> date | None:
    """The day that a deadline means in a message of that moment."""
    if text == "none":
        return None
    if text.startswith("in "):
        ahead = (moment.date() + timedelta(days=n) for n in range(1, 20))
        return [day for day in ahead if day.isoweekday() < 6][int(text.split()[1]) - 1]
    return datetime.strptime(text, "%Y-%m-%d" if text[4] == "-" else "%d %B %Y").replace(tzinfo=UTC).date()


def _fit(threads: list[tuple[str, str, list[Mail]]]) -> bool:
    """Whether no two messages are of one moment, and a quoted deadline misleads whoever takes it for the sender's."""
    moments = [mail.moment for _, _, mails in threads for mail in mails]
    misled = False
    for _, _, mails in threads:
        said = [m for m in mails if m.deadline or m.quoted]
        last = said[-1] if said else mails[-1]
        if last.deadline and last.quoted:
            misled = misled or _due(last.deadline, last.moment) != _due(last.quoted, last.moment)
    return misled and len(set(moments)) == len(moments)


def _raw(rng: random.Random, mail: Mail, to: str) -> bytes:
    """The message as it stands in the mbox; the same message twice may come in two encodings."""
    local = mail.moment.astimezone(timezone(timedelta(hours=rng.choice((-7, -5, 0, 1, 2, 9)))))
    message = EmailMessage()
    given = mail.sender.split("@")[0].replace(".", " ").title()
    message["From"] = rng.choice((f"{given} <{mail.sender}>", mail.sender, f'"{given}" <{mail.sender.title()}>'))
    message["To"] = to
    message["Date"] = format_datetime(local)
    message["Subject"] = mail.subject
    message["Message-ID"] = mail.ident
    for name, value in mail.headers.items():
        message[name] = value
    lines = rng.sample(LINES, 2)
    if mail.deadline is not None:
        lines.insert(1, f"Deadline: {mail.deadline}")
    if mail.quoted is not None:
        lines += ["", "> Could somebody look into this?", f"> Deadline: {mail.quoted}"]
    body = "Hello,\n\n" + "\n".join(lines) + "\n\nViele Grüße\n"
    message.set_content(body, cte=rng.choice(("quoted-printable", "base64", "8bit")))
    envelope = f"From {mail.sender} {mail.moment:%a %b %d %H:%M:%S %Y}\n".encode()
    return envelope + message.as_bytes() + b"\n"


def _oracle(mails: list[Mail], threads: list[tuple[str, str, list[Mail]]], domain: str, today: date) -> dict[str, str]:
    """Outputs from the threads as they are meant."""
    numbers = {mail.ident: n for n, mail in enumerate(mails, 1) if mail.reason is None}
    found = []
    for subject, desk, members in threads:
        known = [(numbers[mail.ident], mail) for mail in members]
        found.append(Thread(known[0][0], subject, desk, tuple(known)))
    found.sort(key=lambda thread: thread.number)
    rows = sorted((mail.moment, n, mail.sender, thread) for thread in found for n, mail in thread.mails)
    waiting = [thread for thread in found if not thread.mails[-1][1].sender.endswith(f"@{domain}")]
    dated = sorted((thread.due, thread.number, thread) for thread in waiting if thread.due is not None)
    todo = [f"# To do on {today}", "", f"Threads: {len(found)}", f"Waiting for us: {len(waiting)}"]
    todo += [f"Overdue: {sum(due < today for due, _, _ in dated)}", ""]
    todo += ["| Deadline | Thread | Desk | Waiting on |", "| --- | --- | --- | --- |"]
    todo += [f"| {due} | {n} | {thread.desk} | {thread.mails[-1][1].sender} |" for due, n, thread in dated]
    listed = [
        {
            "thread": thread.number,
            "subject": thread.subject,
            "messages": [n for n, _ in thread.mails],
            "people": sorted({mail.sender for _, mail in thread.mails}),
            "waits_for_us": thread in waiting,
            "deadline": thread.due.isoformat() if thread.due else None,
        }
        for thread in found
    ]
    ignored = [(n, mail.reason) for n, mail in enumerate(mails, 1) if mail.reason]
    return {
        "output/routing.csv": _csv(
            ("message", "sent", "sender", "thread", "desk"),
            [(n, f"{at:%Y-%m-%d %H:%M}", sender, thread.number, thread.desk) for at, n, sender, thread in rows],
        ),
        "output/threads.json": json.dumps(listed, indent=2, ensure_ascii=False) + "\n",
        "output/ignored.csv": _csv(("message", "reason"), ignored),
        "output/todo.md": "\n".join(todo) + "\n",
    }


def _csv(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([header, *rows])
    return buffer.getvalue()


def _plan(rng: random.Random, constants: dict[str, str]) -> Plan:
    name = rng.choice(("triage.py", "scripts/triage.py", "work/mailbox.py"))
    source = script(__file__, **constants)
    steps = [
        look(rng.choice(("ls -l mail && grep -c '^From ' mail/inbox.mbox", "wc -l mail/*"))),
        read("mail/routing.ini", "The desks, and then how the messages look."),
        run("head -60 mail/inbox.mbox", phase="explore", beside=True),
        run("grep -nE '^(Auto-Submitted|In-Reply-To|Content-Transfer-Encoding)' mail/inbox.mbox | head -60",
            "Which encodings are there, and which automatic messages?", phase="explore"),
        write(name, source, "The bodies are encoded, so I let Python's email package read them."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/routing.csv output/ignored.csv", "Every message must be in one of the two."),
        read("output/threads.json", "Are the threads sensible?", phase="check"),
        verify("cat output/todo.md", "And the list for today.", beside=True),
    ]  # fmt: skip
    slips = [
        Slip(1, read("mail/routing.yaml"), "The rules are in routing.ini."),
        Slip(5, run(f"python3 mail/{name}"), f"The script is {name}."),
    ]
    quoted = changed(source, ('line.startswith(">")', "False"), ('line.startswith("Deadline:")', '"Deadline:" in line'))
    by_subject = changed(source, ("root = find_root(message)", 'root = bare(message["Subject"])'))
    local = changed(source, (".astimezone(UTC)", ""))
    counted = changed(
        source,
        ('str(message["Auto-Submitted"] or "no") != "no"', "False"),
        ('str(message["Message-ID"]) in by_id', "False"),
    )
    no_todo = run(f"python3 {name} && rm output/todo.md", "Run it.")
    flaws = [
        Flaw("quoted_deadlines_counted", {4: rewritten(steps[4], quoted)}, loss="small"),
        Flaw("threads_by_subject", {4: rewritten(steps[4], by_subject)}, loss="large"),
        Flaw("local_times", {4: rewritten(steps[4], local)}, loss="small"),
        Flaw("nothing_left_out_no_todo", {4: rewritten(steps[4], counted), 5: no_todo}, loss="large"),
        Flaw("todo_forgotten", {5: no_todo}, loss="small"),
    ]
    return plan(steps, slips, flaws, "Every message has its thread and desk; what is due stands in output/todo.md.")


FAMILY = Family(
    name="mailbox_triage",
    bench_category="Productivity & Collaboration",
    settings=(
        Setting("Messaging and Collaboration", "message and email handling"),
        Setting("Automation and Workflows", "task routing and orchestration"),
    ),
    operations=(
        "read local files and extract relevant content",
        "extract structured data from files or web content",
        "filter, sort, and rank records",
        "prepare meeting notes or action items",
        "run scripts or command-line programs",
    ),
    difficulty=4,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("customer service", "office administration", "retail and commerce", "logistics and supply"),
    skill_words=("mail", "email", "inbox", "triage"),
)
