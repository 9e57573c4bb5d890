"""Family `support_replies`: tickets are answered from text blocks or passed on; a stiff notice is rewritten.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`. The notice's tone is for the
rubric; the code checks its facts and its measurable style.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from string import Template
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, people, slugged, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, edit, look, plan, read, rewritten, run, script, verify, write

ITEMS: Final = ("desk lamp", "rain jacket", "tea pot", "head torch", "bread knife", "wool blanket", "seed box")
SUBJECTS: Final = {
    "late": ("Where is my parcel?", "Still waiting", "Delivery overdue"),
    "damaged": ("Arrived broken", "Scratched on arrival", "A part is cracked"),
    "return": ("How do I send it back?", "Return", "Does not fit"),
    "invoice": ("Copy of my invoice", "Invoice please"),
}
MACROS: Final = {
    "late": (
        "thank you for your patience. Your {item} from order {order_id} of {date} has left our warehouse.\n"
        "It should reach you within three working days.",
        "we are sorry for the wait. Order {order_id} ({item}, {date}) is with the carrier and arrives this week.",
    ),
    "damaged": (
        "we are sorry that your {item} was damaged. We will send a new one for order {order_id} at once.\n\n"
        "You need not send the broken one back. You will not be charged again for the {amount}.",
        "that should not happen. A new {item} is on its way, and order {order_id} over {amount} stays as it is.",
    ),
    "return": (
        "you can return the {item} from order {order_id} within 30 days of {date}.\n\nWe will refund {amount}.",
        "no problem: send the {item} back with the label we enclose, and we will refund {amount} for {order_id}.",
    ),
    "invoice": (
        "please find the invoice for order {order_id} of {date} over {amount} attached.",
        "here is the invoice again: order {order_id}, {item}, {amount}, ordered on {date}.",
    ),
}
MESSAGES: Final = (
    "I ordered weeks ago and hear nothing.", "Please tell me what to do now.", "Thanks in advance for your help!",
    "This is the second time I write.", "A short answer is enough for me.", "My neighbour recommended your shop.",
)  # fmt: skip
SENSITIVE: Final = {"lawyer": "My lawyer will hear of this.", "injur": "I was injured by a splinter.",
                    "press": "I will tell the press.", "allerg": "I had an ALLERGIC reaction."}  # fmt: skip
BANNED: Final = ("hereby", "aforementioned", "kindly note", "inconvenience", "pursuant", "undersigned", "in due course")


@dataclass(frozen=True)
class Ticket:
    """One ticket as it is meant."""

    number: str
    name: str
    email: str
    category: str
    order: str
    subject: str
    message: str
    decision: str
    reason: str = ""


@dataclass(frozen=True)
class Order:
    """One order."""

    number: str
    item: str
    day: date
    cents: int


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    limit = rng.choice((120, 150, 200))
    words = sorted(rng.sample(sorted(SENSITIVE), 2))
    orders = _orders(rng, limit)
    tickets = _tickets(rng, orders, limit, words)
    macros = {category: rng.choice(texts) for category, texts in MACROS.items()}
    signature = f"Kind regards, {rng.choice(('the service team', 'your shop team', 'customer care'))}"
    notice, short, limits = _notice(rng)
    style = [f"escalate_above = {limit}.0", f"escalate_words = {json.dumps(words)}", f'signature = "{signature}"', ""]
    style += [f"max_words = {limits[0]}", f"max_sentence = {limits[1]}", f"banned_words = {json.dumps(list(BANNED))}"]
    inputs = {
        "input/tickets.jsonl": "".join(json.dumps(_as_json(rng, t)) + "\n" for t in tickets),
        "input/orders.csv": "order_id,item,ordered_at,amount\n"
        + "".join(f"{o.number},{o.item},{o.day},{o.cents / 100:.2f}\n" for o in orders.values()),
        "input/macros.md": "# Text blocks\n\n" + "\n".join(f"## {c}\n\n{t}\n" for c, t in macros.items()),
        "input/style.toml": "\n".join(style) + "\n",
        "input/announcement.md": notice,
    }
    counted = [t for t in tickets if t.decision != "spam"]
    oracle = {"output/announcement.md": short}
    oracle["output/queue.csv"] = "ticket_id,decision,reason\n" + "".join(
        f"{t.number},{t.decision},{t.reason}\n" for t in counted
    )
    for ticket in counted:
        if ticket.decision == "reply":
            oracle[f"output/replies/{ticket.number}.md"] = _reply(ticket, orders[ticket.order], macros, signature)
    errand = "The ticket queue has to be cleared and a notice rewritten before noon."
    text = told(__file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng))
    return Draft(text, inputs, oracle, {}, _plan(rng, short, limits), rubric=_RUBRIC)


def _orders(rng: random.Random, limit: int) -> dict[str, Order]:
    orders = {}
    for i in range(11):
        number = f"{rng.choice('ABC')}{rng.randint(100, 999)}{i:02d}"
        cents = limit * 100 + rng.randint(1, 9000) if i < 2 else rng.randint(700, limit * 100)
        day = date(2026, rng.randint(1, 9), rng.randint(1, 28)) + timedelta(days=i)
        orders[number] = Order(number, rng.choice(ITEMS), day, cents)
    return orders


def _tickets(rng: random.Random, orders: dict[str, Order], limit: int, words: list[str]) -> list[Ticket]:
    """Tickets of every decision and reason; a duplicate stands behind its original, two differ in one field only."""
    names = people(rng, 14)
    numbers = list(orders)
    kinds = ["high_value"] * 2 + ["sensitive"] * 2 + ["unknown_order"] * 2 + ["spam"] * 2 + ["reply"] * 5
    tickets = []
    for i, kind in enumerate(kinds):
        order = numbers[i] if kind in ("high_value", "sensitive") else rng.choice(numbers[4:])
        if kind == "unknown_order":
            order = f"X{rng.randint(100, 999)}{i:02d}"
        message = rng.choice(MESSAGES)
        if kind == "sensitive" or (kind == "unknown_order" and i % 2):
            message = f"{message} {SENSITIVE[words[i % 2]]}"
        decision = kind if kind in ("reply", "spam") else "escalate"
        tickets.append(_ticket(rng, names[i], order, message, decision, kind if decision == "escalate" else ""))
    rng.shuffle(tickets)
    for original in rng.sample([t for t in tickets if t.decision == "reply"], 2):
        again = replace(
            original, email=original.email.upper(), subject=f"Again: {original.subject}", message=rng.choice(MESSAGES),
            decision="duplicate",
        )  # fmt: skip
        tickets.insert(rng.randint(tickets.index(original) + 1, len(tickets)), again)
    other = next(t for t in tickets if t.decision == "reply")
    category = rng.choice([c for c in MACROS if c != other.category])
    tickets.append(
        Ticket("", other.name, other.email, category, other.order, rng.choice(SUBJECTS[category]), MESSAGES[1], "reply")
    )
    start = rng.randint(2000, 7000)
    return [replace(ticket, number=f"T{start + 3 * i}") for i, ticket in enumerate(tickets)]


def _ticket(rng: random.Random, name: str, order: str, message: str, decision: str, reason: str) -> Ticket:
    category = rng.choice(sorted(MACROS))
    subject = rng.choice(SUBJECTS[category])
    return Ticket("", name, f"{slugged(name)}@example.net", category, order, subject, message, decision, reason)


def _as_json(rng: random.Random, ticket: Ticket) -> dict[str, str]:
    return {
        "id": ticket.number, "name": ticket.name, "email": ticket.email, "category": ticket.category,
        "order_id": ticket.order, "subject": ticket.subject, "message": ticket.message,
        "status": "spam" if ticket.decision == "spam" else rng.choice(("open", "new")),
    }  # fmt: skip


def _reply(ticket: Ticket, order: Order, macros: dict[str, str], signature: str) -> str:
    values = {
        "{order_id}": order.number, "{item}": order.item, "{date}": f"{order.day.day} {order.day:%B %Y}",
        "{amount}": f"EUR {order.cents / 100:.2f}",
    }  # fmt: skip
    text = macros[ticket.category]
    for mark, value in values.items():
        text = text.replace(mark, value)
    return f"Subject: Re: {ticket.subject}\n\nDear {ticket.name.split()[0]},\n\n{text}\n\n{signature}\n"


def _notice(rng: random.Random) -> tuple[str, str, tuple[int, int]]:
    """The stiff original, a good short version, and the limits (words, words a sentence)."""
    day = date(2026, rng.randint(3, 11), rng.randint(1, 28))
    when = f"{day.day} {day:%B %Y}"
    begin, end = (
        f"{rng.randint(6, 9)}:{rng.choice(('00', '15', '30'))}",
        f"{rng.randint(11, 16)}:{rng.choice(('00', '45'))}",
    )
    page = f"https://status.example.org/{rng.choice(('works', 'shop', 'notice'))}-{rng.randint(100, 999)}"
    phone = f"+49 30 {rng.randint(100, 999)} {rng.randint(1000, 9999)}"
    reference = f"{rng.choice(('WA', 'SH', 'KD'))}-{rng.randint(1000, 9999)}"
    what = rng.choice(("the web shop", "the payment page", "order tracking"))
    values = {
        "when": when,
        "begin": begin,
        "end": end,
        "page": page,
        "phone": phone,
        "reference": reference,
        "what": what,
    }
    original, short = (
        Template(Path(__file__).with_name(name).read_text("utf-8")).substitute(values)
        for name in ("notice.md", "notice_short.md")
    )
    return original, short, (rng.choice((70, 75, 80)), rng.choice((20, 22)))


_RUBRIC: Final = (
    {
        "name": "notice_tone",
        "file_path": "output/announcement.md",
        "scores": {
            "0": "Stiff or impersonal throughout, like the original.",
            "0.25": "Mostly stiff; single friendly phrases.",
            "0.5": "Neutral; correct but neither warm nor stiff.",
            "0.75": "Friendly and clear with one awkward sentence.",
            "1": "Friendly, direct and clear from the first to the last sentence.",
        },
    },
    {
        "name": "notice_faithful",
        "file_path": "output/announcement.md",
        "scores": {
            "0": "Says something the original contradicts, or leaves out what customers must do.",
            "0.25": "Several statements that the original does not make.",
            "0.5": "One statement that the original does not make, or one point missing.",
            "0.75": "Faithful; one point is vaguer than in the original.",
            "1": "Says all that matters to customers and nothing that the original does not say.",
        },
    },
)


def _plan(rng: random.Random, short: str, limits: tuple[int, int]) -> Plan:
    name = rng.choice(("scripts/replies.py", "work/answer.py", "answer_tickets.py"))
    source = script(__file__)
    steps = [
        look(rng.choice(("ls -l input", "find input -type f | xargs wc -c"))),
        read("input/style.toml", "House style and text blocks first."),
        read("input/macros.md", beside=True),
        read("input/tickets.jsonl", "Now the tickets and orders."),
        read("input/orders.csv", beside=True),
        write(name, source, "The decisions follow fixed rules, so a script makes them and fills the blocks."),
        run(f"python3 {name}", "Run it."),
        read("input/announcement.md", "Now the notice."),
        write("output/announcement.md", short, "Short sentences, no stiff words, every fact kept."),
        verify("tail -n +2 output/announcement.md | wc -w; for w in hereby aforementioned inconvenience pursuant; do"
               " grep -ci $w output/announcement.md; done; ls output/replies",
               f"At most {limits[0]} words, no banned ones."),
        verify("cat output/queue.csv; head -20 output/replies/*.md", "And a look at the replies."),
    ]  # fmt: skip
    slips = [
        Slip(1, read("input/macros.toml"), "The blocks are in macros.md."),
        Slip(6, run("python3 scripts/answer_all.py"), f"I called it {name}."),
        Slip(9, edit("output/announcement.md", [("Kindly note", "Please note")]), "That phrase is gone already."),
    ]
    case = changed(source, ('ticket["email"].lower()', 'ticket["email"]'))
    anyone = changed(case, ('if ticket["status"] == "spam":', 'if ticket["status"] == "junk":'),
                     ('style["escalate_above"]', '100 * style["escalate_above"]'))  # fmt: skip
    stiff = short.replace("We are sorry about that.", "We apologise for the inconvenience.")
    flaws = [
        Flaw("duplicates_missed", {5: rewritten(steps[5], case)}, loss="small"),
        Flaw("banned_word_left", {8: rewritten(steps[8], stiff)}, loss="small"),
        Flaw("spam_answered_notice_forgotten", {5: rewritten(steps[5], anyone)}, drop=(8, 9), loss="large"),
        Flaw("replies_never_written", drop=(5, 6, 10), loss="large"),
    ]
    closing = "Replies, queue and the new notice are in output/. Escalated tickets are marked with their reason."
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="support_replies",
    bench_category="Content & Domain Support",
    settings=(
        Setting("Content and External Communication", "email and communication writing"),
        Setting("Messaging and Collaboration", "message and email handling"),
    ),
    operations=(
        "read local files and extract relevant content",
        "filter, sort, and rank records",
        "draft emails or messages",
        "rewrite messages for tone, clarity, or brevity",
    ),
    difficulty=3,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("customer service", "retail and commerce", "healthcare administration"),
    skill_words=("email", "emails", "inbox", "messages", "mail"),
)
