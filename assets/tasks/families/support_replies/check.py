"""Verifier of `support_replies`: decides on every ticket again, fills the text blocks, and tests the notice's rules."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import date
from decimal import Decimal
from pathlib import Path

from assets.tasks.prelude import OutputError, check, original, original_csv, output, output_csv, section, share

STYLE = tomllib.loads(original("input/style.toml"))
ORDERS = {row["order_id"]: row for row in original_csv("input/orders.csv")}


def decide() -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """Rows of the queue, and the text of each reply."""
    rows, replies = [], {}
    seen: set[tuple[str, ...]] = set()
    for line in original("input/tickets.jsonl").splitlines():
        ticket = json.loads(line)
        if ticket["status"] == "spam":
            continue
        same = (ticket["email"].lower(), ticket["order_id"], ticket["category"])
        order = ORDERS.get(ticket["order_id"])
        reason = ""
        if same in seen:
            decision = "duplicate"
        else:
            message = ticket["message"].lower()
            if order is None:
                reason = "unknown_order"
            elif Decimal(order["amount"]) > Decimal(str(STYLE["escalate_above"])):
                reason = "high_value"
            elif any(word in message for word in STYLE["escalate_words"]):
                reason = "sensitive"
            decision = "escalate" if reason else "reply"
        seen.add(same)
        rows.append((ticket["id"], decision, reason))
        if decision == "reply" and order is not None:
            day = date.fromisoformat(order["ordered_at"])
            block = section(original("input/macros.md"), ticket["category"]).strip()
            filled = block.format(
                order_id=order["order_id"],
                item=order["item"],
                date=f"{day.day} {day:%B %Y}",
                amount=f"EUR {order['amount']}",
            )
            lines = (
                f"Subject: Re: {ticket['subject']}",
                f"Dear {ticket['name'].split()[0]},",
                filled,
                STYLE["signature"],
            )
            replies[ticket["id"]] = "\n\n".join(lines)
    return rows, replies


QUEUE, REPLIES = decide()


def paragraphs(text: str) -> list[str]:
    """Paragraphs with their words one blank apart; how lines are broken is free."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]


def reply(workspace: Path, ticket: str) -> list[str]:
    return paragraphs(output(workspace, f"output/replies/{ticket}.md"))


@check
def replies_right(workspace: Path) -> float:
    right = 0
    for ticket, text in REPLIES.items():
        try:
            right += reply(workspace, ticket) == paragraphs(text)
        except (OutputError, OSError, ValueError):
            continue
    return share(right, len(REPLIES))


@check
def replies_all_and_no_more(workspace: Path) -> float:
    folder = workspace / "output/replies"
    found = {path.name for path in folder.iterdir()}
    return found == {f"{ticket}.md" for ticket in REPLIES} and all(
        reply(workspace, ticket) == paragraphs(text) for ticket, text in REPLIES.items()
    )


def queue(workspace: Path) -> list[tuple[str, str, str]]:
    rows = output_csv(workspace, "output/queue.csv", ["ticket_id", "decision", "reason"])
    return [(row["ticket_id"], row["decision"], row["reason"]) for row in rows]


@check
def decisions_right(workspace: Path) -> float:
    found = {ticket: decision for ticket, decision, _ in queue(workspace)}
    return share(sum(found.get(ticket) == decision for ticket, decision, _ in QUEUE), max(len(QUEUE), len(found)))


@check
def reasons_right(workspace: Path) -> float:
    found = {ticket: (decision, reason) for ticket, decision, reason in queue(workspace)}
    return found == {ticket: (decision, reason) for ticket, decision, reason in QUEUE}


@check
def queue_order(workspace: Path) -> float:
    return [row[0] for row in queue(workspace)] == [row[0] for row in QUEUE]


SOURCE = original("input/announcement.md")
HEADING = SOURCE.splitlines()[0]
FACTS = [
    *re.findall(r"\d{1,2} [A-Z][a-z]+ \d{4}", SOURCE),
    *re.findall(r"\b\d{1,2}:\d\d\b", SOURCE),
    *re.findall(r"https://[\w./-]*\w", SOURCE),
    *re.findall(r"\+\d[\d ]+\d", SOURCE),
    *re.findall(r"\b[A-Z]{2}-\d{4}\b", SOURCE),
]


def notice(workspace: Path) -> str:
    """The notice below its heading, if it holds every fact of the original and is short enough."""
    text = output(workspace, "output/announcement.md").strip()
    heading, _, body = text.partition("\n")
    if heading.strip() != HEADING or not all(re.search(rf"(?<![\w+]){re.escape(f)}(?!\w)", body) for f in FACTS):
        raise OutputError("another heading, or a fact is missing")
    if len(body.split()) > STYLE["max_words"]:
        raise OutputError("too long")
    return body


@check
def notice_keeps_facts(workspace: Path) -> float:
    """All facts, and no number that the original does not have."""
    return set(re.findall(r"\d+", notice(workspace))) <= set(re.findall(r"\d+", SOURCE))


@check
def notice_short_sentences(workspace: Path) -> float:
    sentences = re.split(r"(?<=[.!?])\s+", " ".join(re.sub(r"^\s*[-*]\s+", "", notice(workspace), flags=re.M).split()))
    return all(len(sentence.split()) <= STYLE["max_sentence"] for sentence in sentences)


@check
def notice_without_banned_words(workspace: Path) -> float:
    body = " ".join(notice(workspace).lower().split())
    return not any(re.search(rf"\b{re.escape(word)}\b", body) for word in STYLE["banned_words"])
