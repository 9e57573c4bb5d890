"""Verifier of `ab_test_readout`: judges each visitor by all of its events together."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    check,
    is_int,
    labelled,
    md_table,
    object_keys,
    original,
    output,
    output_csv,
    output_json,
    rounded,
    section,
    share,
)

UPLIFT = 1.0
LEAST = 30
COLUMNS = ["variant", "visitors", "buyers", "conversion", "orders", "revenue", "revenue_per_visitor"]
EXPERIMENT = json.loads(original("data/experiment.json"))
VARIANTS: list[str] = EXPERIMENT["variants"]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def load() -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Events that count as lines, and how many do not."""
    found: dict[str, dict[str, Any]] = {}
    counts = {"broken_lines": 0, "repeated_lines": 0}
    for line in original("data/events.jsonl").splitlines():
        if not (line.startswith("{") and line.endswith("}")):
            counts["broken_lines"] += 1
            continue
        event = json.loads(line)
        counts["repeated_lines"] += event["id"] in found
        found.setdefault(event["id"], event)
    return list(found.values()), counts


EVENTS, COUNTS = load()
LATE, CROSSED = "late_orders", "crossed"
COUNTS |= dict.fromkeys(("internal", "bots", CROSSED, LATE), 0)
REFUNDED: dict[str, int] = {}
for _event in EVENTS:
    if _event["type"] == "refund":
        REFUNDED[_event["order"]] = REFUNDED.get(_event["order"], 0) + int(_event["amount"])
ORDERS: dict[str, list[int]] = {variant: [] for variant in VARIANTS}
BUYERS = dict.fromkeys(VARIANTS, 0)
STARTS: dict[str, list[str]] = {variant: [] for variant in VARIANTS}
"""UTC days of first exposures."""


def judge(visitor: str, events: list[dict[str, Any]]) -> None:
    """Count one visitor for what it is."""
    agents = " ".join(event.get("agent", "") for event in events).casefold()
    if visitor in original("data/internal.txt").split():
        COUNTS["internal"] += 1
        return
    if "bot" in agents or "crawler" in agents:
        COUNTS["bots"] += 1
        return
    low, high = moment(EXPERIMENT["begins"]), moment(EXPERIMENT["ends"])
    shown = [(moment(e["at"]), e["variant"]) for e in events if e["type"] == "exposure" and e["variant"] in VARIANTS]
    shown = sorted((at, variant) for at, variant in shown if low <= at < high)
    if len({variant for _, variant in shown}) > 1:
        COUNTS[CROSSED] += 1
    elif shown:
        since, variant = shown[0]
        STARTS[variant].append(f"{since.astimezone(UTC):%Y-%m-%d}")
        mine = [e for e in events if e["type"] == "order" and e["currency"] == "EUR" and moment(e["at"]) >= since]
        good = [e for e in mine if moment(e["at"]) - since < timedelta(days=EXPERIMENT["order_days"])]
        COUNTS[LATE] += len(mine) - len(good)
        BUYERS[variant] += bool(good)
        ORDERS[variant] += [max(0, int(e["amount"]) - REFUNDED.get(e["order"], 0)) for e in good]


_visits: dict[str, list[dict[str, Any]]] = {}
for _event in EVENTS:
    _visits.setdefault(_event["visitor"], []).append(_event)
for _visitor, _mine in _visits.items():
    judge(_visitor, _mine)
SIZE = {variant: len(STARTS[variant]) for variant in VARIANTS}
CONVERSION = {variant: Fraction(100 * BUYERS[variant], SIZE[variant]) for variant in VARIANTS}
EACH = {variant: Fraction(sum(ORDERS[variant]), 100 * SIZE[variant]) for variant in VARIANTS}


def exact(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def rows(workspace: Path) -> dict[str, dict[str, str]]:
    found = output_csv(workspace, "output/variants.csv", COLUMNS)
    return {row["variant"]: row for row in found} if [row["variant"] for row in found] == VARIANTS else {}


@check
def visitors_right(workspace: Path) -> float:
    return share(sum(is_int(row["visitors"], SIZE[v]) for v, row in rows(workspace).items()), len(VARIANTS))


@check
def buyers_right(workspace: Path) -> float:
    return share(sum(is_int(row["buyers"], BUYERS[v]) for v, row in rows(workspace).items()), len(VARIANTS))


@check
def orders_right(workspace: Path) -> float:
    return share(sum(is_int(row["orders"], len(ORDERS[v])) for v, row in rows(workspace).items()), len(VARIANTS))


@check
def conversions_right(workspace: Path) -> float:
    found = rows(workspace).items()
    return share(sum(rounded(row["conversion"], exact(CONVERSION[v]), 2) for v, row in found), len(VARIANTS))


@check
def revenues_right(workspace: Path) -> float:
    found = rows(workspace).items()
    return share(sum(rounded(row["revenue"], Decimal(sum(ORDERS[v])) / 100, 2) for v, row in found), len(VARIANTS))


@check
def revenues_per_visitor_right(workspace: Path) -> float:
    found = rows(workspace).items()
    return share(sum(rounded(row["revenue_per_visitor"], exact(EACH[v]), 3) for v, row in found), len(VARIANTS))


def exclusions(workspace: Path) -> dict[str, Any]:
    return object_keys(output_json(workspace, "output/exclusions.json"), list(COUNTS))


@check
def lines_counted(workspace: Path) -> float:
    found = exclusions(workspace)
    return all(is_int(found[name], COUNTS[name]) for name in ("broken_lines", "repeated_lines"))


@check
def visitors_left_out_counted(workspace: Path) -> float:
    found = exclusions(workspace)
    return share(sum(is_int(found[name], COUNTS[name]) for name in ("internal", "bots", CROSSED)), 3)


@check
def late_orders_counted(workspace: Path) -> float:
    return is_int(exclusions(workspace)[LATE], COUNTS[LATE])


DAYS = sorted({day for days in STARTS.values() for day in days})
BEST = max(VARIANTS, key=lambda v: CONVERSION[v])
RICHEST = max(VARIANTS, key=lambda v: EACH[v])
GAIN = CONVERSION[BEST] - CONVERSION[VARIANTS[0]]


def readout(workspace: Path) -> str:
    return section(output(workspace, "output/readout.md"), EXPERIMENT["name"])


@check
def best_named(workspace: Path) -> float:
    text = readout(workspace)
    return labelled(text, "Best by conversion") == BEST and labelled(text, "Best by revenue per visitor") == RICHEST


@check
def uplift_right(workspace: Path) -> float:
    return rounded(labelled(readout(workspace), "Uplift"), exact(GAIN), 2)


@check
def decision_right(workspace: Path) -> float:
    """Only beside the figures it rests on: a coin would be right half of the time."""
    ship = Fraction(str(UPLIFT)) <= GAIN and min(SIZE.values()) >= LEAST and BEST == RICHEST
    wanted = f"ship {BEST}" if ship else f"keep {VARIANTS[0]}"
    return labelled(readout(workspace), "Decision") == wanted and conversions_right(workspace) == 1.0


@check
def days_right(workspace: Path) -> float:
    wanted = [[day, *(str(STARTS[v].count(day)) for v in VARIANTS)] for day in DAYS]
    return md_table(section(readout(workspace), "By day"), ["Day", *VARIANTS]) == wanted
