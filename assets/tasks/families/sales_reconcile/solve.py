"""Reconcile orders with payments and refunds."""

import csv
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

THRESHOLD = 50


def cents(text: str) -> int:
    """Whole cents of a decimal amount."""
    whole, _, part = text.partition(".")
    return int(whole) * 100 + int(part.ljust(2, "0"))


class Cells(HTMLParser):
    """Collects the text of every table row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        self.inside = tag == "td" or (self.inside and tag != "tr")
        if tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data.strip()


orders: dict[str, dict[str, Any]] = {}
with open("input/orders.csv", newline="") as handle:
    for row in csv.DictReader(handle):
        if row["state"] == "cancelled":
            continue
        orders[row["order_id"]] = {"customer": row["customer"], "amount": cents(row["amount"]), "paid": 0}

orphans, seen = [], set()
for line in Path("input/payments.jsonl").read_text().splitlines():
    try:
        payment = json.loads(line)
    except json.JSONDecodeError:
        continue
    if payment["status"] != "settled" or payment["payment_id"] in seen:
        continue
    seen.add(payment["payment_id"])
    match = re.search(r"\b\d{5}\b", payment["reference"])
    if match and match.group() in orders:
        orders[match.group()]["paid"] += payment["amount_cents"]
    else:
        orphans.append(payment)

parser = Cells()
parser.feed(Path("input/refunds.html").read_text())
for cells in parser.rows:
    if len(cells) >= 3 and cells[1] in orders:
        orders[cells[1]]["paid"] -= cents(cells[2].replace("EUR ", ""))

Path("output").mkdir(exist_ok=True)
open_by_customer: dict[str, list[int]] = {}
states: Counter[str] = Counter()
with open("output/reconciliation.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["order_id", "customer", "amount", "paid", "open", "state"])
    for number in sorted(orders):
        order = orders[number]
        left = order["amount"] - order["paid"]
        if left == 0:
            state = "settled"
        elif left < 0:
            state = "overpaid"
        elif order["paid"] <= 0:
            state = "unpaid"
        else:
            state = "partly_paid"
        states[state] += 1
        if left > 0:
            open_by_customer.setdefault(order["customer"], []).append(left)
        sums = (order["amount"], order["paid"], left)
        writer.writerow([number, order["customer"], *(f"{value / 100:.2f}" for value in sums), state])

ranked = sorted(
    ((name, values) for name, values in open_by_customer.items() if sum(values) > THRESHOLD * 100),
    key=lambda item: (-sum(item[1]), item[0]),
)
with open("output/debtors.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["rank", "customer", "orders", "open"])
    for rank, (name, values) in enumerate(ranked, 1):
        writer.writerow([rank, name, len(values), f"{sum(values) / 100:.2f}"])

orphans.sort(key=lambda p: p["payment_id"])
listed = [
    {"payment_id": p["payment_id"], "reference": p["reference"], "amount": p["amount_cents"] / 100} for p in orphans
]
Path("output/orphans.json").write_text(json.dumps(listed, indent=2) + "\n")
amount, paid = (sum(order[field] for order in orders.values()) for field in ("amount", "paid"))
summary = {
    "orders": len(orders),
    "amount": amount / 100,
    "paid": paid / 100,
    "open": (amount - paid) / 100,
    "by_state": dict(sorted(states.items())),
    "orphan_amount": sum(p["amount_cents"] for p in orphans) / 100,
}
Path("output/summary.json").write_text(json.dumps(summary, indent=2) + "\n")
print(json.dumps(summary))
