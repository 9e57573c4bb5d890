"""Read out an experiment from its events."""

import csv
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

UPLIFT = 1.0
LEAST = 30

experiment = json.loads(Path("data/experiment.json").read_text())
variants = experiment["variants"]
begins, ends = (datetime.fromisoformat(experiment[name].replace("Z", "+00:00")) for name in ("begins", "ends"))
window = timedelta(days=experiment["order_days"])
ours = set(Path("data/internal.txt").read_text().split())

events: list[dict[str, Any]] = []
seen: set[str] = set()
broken = repeated = 0
for line in Path("data/events.jsonl").read_text("utf-8").splitlines():
    try:
        event = json.loads(line)
    except json.JSONDecodeError:
        broken += 1
        continue
    if event["id"] in seen:
        repeated += 1
        continue
    seen.add(event["id"])
    event["at"] = datetime.fromisoformat(event["at"].replace("Z", "+00:00")).astimezone(UTC)
    events.append(event)

everybody = {event["visitor"] for event in events}
internal = everybody & ours
agents = [(event["visitor"], event.get("agent", "").lower()) for event in events]
bots = {visitor for visitor, agent in agents if "bot" in agent or "crawler" in agent} - internal

first: dict[str, dict[str, datetime]] = {}
for event in events:
    if event["type"] != "exposure" or event["visitor"] in internal | bots:
        continue
    if begins <= event["at"] < ends and event["variant"] in variants:
        shown = first.setdefault(event["visitor"], {})
        shown[event["variant"]] = min(event["at"], shown.get(event["variant"], event["at"]))
crossed = {visitor for visitor, shown in first.items() if len(shown) > 1}
member = {visitor: next(iter(shown.items())) for visitor, shown in first.items() if visitor not in crossed}

refunds: Counter[str] = Counter()
for event in events:
    if event["type"] == "refund":
        refunds[event["order"]] += int(event["amount"])

orders: dict[str, list[tuple[str, int]]] = {variant: [] for variant in variants}
late = 0
for event in events:
    if event["type"] != "order" or event["visitor"] not in member or event["currency"] != "EUR":
        continue
    variant, since = member[event["visitor"]]
    if event["at"] < since:
        continue
    if event["at"] >= since + window:
        late += 1
        continue
    orders[variant].append((event["visitor"], max(0, int(event["amount"]) - refunds[event["order"]])))

Path("output").mkdir(exist_ok=True)
conversion, per_visitor, sizes = {}, {}, {}
with open("output/variants.csv", "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["variant", "visitors", "buyers", "conversion", "orders", "revenue", "revenue_per_visitor"])
    for variant in variants:
        size = sizes[variant] = sum(name == variant for name, _ in member.values())
        buyers = len({visitor for visitor, _ in orders[variant]})
        cents = sum(amount for _, amount in orders[variant])
        conversion[variant], per_visitor[variant] = 100 * buyers / size, cents / 100 / size
        figures = [
            f"{conversion[variant]:.2f}",
            len(orders[variant]),
            f"{cents / 100:.2f}",
            f"{per_visitor[variant]:.3f}",
        ]
        writer.writerow([variant, size, buyers, *figures])

counts = {"internal": len(internal), "bots": len(bots), "crossed": len(crossed), "late_orders": late}
exclusions = {"broken_lines": broken, "repeated_lines": repeated, **counts}
Path("output/exclusions.json").write_text(json.dumps(exclusions, indent=2) + "\n")

best = max(variants, key=lambda v: conversion[v])
richest = max(variants, key=lambda v: per_visitor[v])
uplift = conversion[best] - conversion[variants[0]]
ship = uplift >= UPLIFT and min(sizes.values()) >= LEAST and best == richest
lines = [f"# {experiment['name']}", "", f"Best by conversion: {best}", f"Best by revenue per visitor: {richest}"]
lines += [
    f"Uplift: {uplift:.2f}",
    f"Decision: {f'ship {best}' if ship else f'keep {variants[0]}'}",
    "",
    "## By day",
    "",
]
lines += [f"| Day | {' | '.join(variants)} |", "| --- |" + " --- |" * len(variants)]
days = Counter((since.date().isoformat(), variant) for variant, since in member.values())
for day in sorted({day for day, _ in days}):
    lines.append(f"| {day} | {' | '.join(str(days[day, variant]) for variant in variants)} |")
Path("output/readout.md").write_text("\n".join(lines) + "\n")
