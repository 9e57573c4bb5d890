"""Family `sales_reconcile`: orders, a bank export and a refunds page are matched and summed up.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, people, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, edit, look, plan, read, rewritten, run, script, verify, write

REFERENCES: Final = (
    "Order {0}",
    "ord-{0}",
    "ORDER NO {0}",
    "{0} thanks",
    "ord-{0}/2",
    "invoice for {0}",
    "Re: {0}, part 1",
)
STRAY: Final = ("donation", "see letter", "refund 123", "membership 2026", "order 4711", "thank you!")


@dataclass
class Order:
    """One order as it is meant; cents."""

    number: str
    customer: str
    amount: int
    cancelled: bool = False
    payments: list[int] = field(default_factory=list)
    refunds: list[int] = field(default_factory=list)

    @property
    def paid(self) -> int:
        """Payments less refunds."""
        return sum(self.payments) - sum(self.refunds)

    @property
    def state(self) -> str:
        """As the instruction defines it."""
        if self.paid == self.amount:
            return "settled"
        if self.paid > self.amount:
            return "overpaid"
        return "partly_paid" if self.paid > 0 else "unpaid"


@dataclass(frozen=True)
class Payment:
    """One line of the bank export."""

    number: str
    reference: str
    cents: int
    status: str
    order: Order | None


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    threshold = rng.choice((40, 50, 60, 75))
    day = date(2026, rng.randint(1, 9), 1)
    orders = _orders(rng)
    while len(_debtors(orders, threshold)) < 3:
        orders = _orders(rng)
    payments = _payments(rng, orders)
    inputs = {
        "input/orders.csv": _orders_csv(rng, orders, day),
        "input/payments.jsonl": _payments_jsonl(rng, payments, day),
        "input/refunds.html": _refunds_html(rng, orders, day),
    }
    errand = f"I have to reconcile the orders of {day:%B %Y} with the bank account before closing the month."
    text = told(__file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng), threshold=threshold)
    return Draft(text, inputs, _oracle(orders, payments, threshold), {"THRESHOLD": threshold}, _plan(rng, threshold))


def _orders(rng: random.Random) -> list[Order]:
    """Orders of a few customers, in every state, with the payments and refunds that lead there."""
    customers = people(rng, 9)
    numbers = sorted(rng.sample(range(10_001, 10_400), rng.randint(22, 28)))
    orders = [Order(str(n), rng.choice(customers), rng.randint(900, 18_000)) for n in numbers]
    for i, order in enumerate(rng.sample(orders, len(orders))):
        kind = ("full", "full", "two", "part", "none", "over", "refund", "cancelled")[i % 8]
        if kind in ("full", "refund", "cancelled"):
            order.payments = [order.amount]
        elif kind == "two":
            first = rng.randint(100, order.amount - 100)
            order.payments = [first, order.amount - first]
        elif kind == "part":
            order.payments = [rng.randint(100, order.amount - 100)]
        elif kind == "over":
            order.payments = [order.amount + rng.randint(50, 900)]
        if kind == "refund":
            order.refunds = [rng.choice((order.amount, rng.randint(100, order.amount - 50)))]
        order.cancelled = kind == "cancelled"
    return orders


def _payments(rng: random.Random, orders: list[Order]) -> list[Payment]:
    """The payments of all orders, failed and pending ones, and orphans; in the order of the export."""
    pool: list[tuple[str, int, str, Order | None]] = []
    for order in orders:
        for cents in order.payments:
            wanted = None if order.cancelled else order
            pool.append((rng.choice(REFERENCES).format(order.number), cents, "settled", wanted))
    for order in rng.sample(orders, 5):
        status = rng.choice(("failed", "pending", "reversed"))
        pool.append((rng.choice(REFERENCES).format(order.number), order.amount, status, None))
    for reference in [
        *rng.sample(STRAY, 2),
        f"Order {rng.randint(20_000, 29_999)}",
        f"id {rng.randint(10**7, 10**8 - 1)}",
    ]:
        pool.append((reference, rng.randint(500, 9_000), "settled", None))
    rng.shuffle(pool)
    start = rng.randint(3_000, 5_000)
    return [Payment(f"P{start + 3 * i + rng.randint(0, 2)}", *item) for i, item in enumerate(pool)]


def _orders_csv(rng: random.Random, orders: list[Order], day: date) -> str:
    lines = ["order_id,customer,ordered_at,amount,state"]
    for order in orders:
        when = day + timedelta(days=rng.randint(0, 27))
        state = "cancelled" if order.cancelled else rng.choice(("shipped", "open", "shipped"))
        lines.append(f"{order.number},{order.customer},{when},{order.amount / 100:.2f},{state}")
    return "\n".join([lines[0], *rng.sample(lines[1:], len(orders))]) + "\n"


def _payments_jsonl(rng: random.Random, payments: list[Payment], day: date) -> str:
    lines = []
    for payment in payments:
        when = day + timedelta(days=rng.randint(1, 34))
        record = {"payment_id": payment.number, "at": f"{when}T{rng.randint(6, 21):02d}:{rng.randint(0, 59):02d}:00Z",
                  "amount_cents": payment.cents, "status": payment.status, "reference": payment.reference}  # fmt: skip
        lines.append(json.dumps(record))
    for line in rng.sample([line for line in lines if '"settled"' in line], 3):
        lines.insert(rng.randint(lines.index(line) + 1, len(lines)), line)
    cut = json.dumps({"payment_id": "P9999", "amount_cents": 1234, "status": "settled", "reference": "Order"})
    lines.insert(rng.randint(2, len(lines)), cut[: rng.randint(20, len(cut) - 2)])
    return "\n".join(lines) + "\n"


def _refunds_html(rng: random.Random, orders: list[Order], day: date) -> str:
    rows = []
    for order in orders:
        for cents in order.refunds:
            rows.append((order.number, cents, rng.choice(("damaged", "late", "wrong size"))))
    rows.append((str(rng.randint(30_000, 39_999)), rng.randint(300, 4_000), "order of the other shop"))
    rng.shuffle(rows)
    body = "\n".join(
        f'    <tr>\n      <td>R{n}</td>\n      <td>{number}</td>\n      <td class="num">EUR {cents / 100:.2f}</td>\n'
        f"      <td>{reason}</td>\n    </tr>"
        for n, (number, cents, reason) in enumerate(rows, 1)
    )
    return (
        "<!doctype html>\n<html>\n<head><title>Refunds</title></head>\n<body>\n"
        f"  <h1>Refunds of {day:%B %Y}</h1>\n  <table>\n"
        "    <tr><th>No.</th><th>Order</th><th>Amount</th><th>Reason</th></tr>\n"
        f"{body}\n  </table>\n  <p>Printed on request; amounts include tax.</p>\n</body>\n</html>\n"
    )


def _debtors(orders: list[Order], threshold: int) -> list[tuple[int, str, int]]:
    """Customers who owe more than the threshold: minus the sum, name, number of orders; most first."""
    owed: dict[str, list[int]] = {}
    for order in orders:
        if order.amount > order.paid and not order.cancelled:
            owed.setdefault(order.customer, []).append(order.amount - order.paid)
    return sorted((-sum(v), name, len(v)) for name, v in owed.items() if sum(v) > threshold * 100)


def _oracle(orders: list[Order], payments: list[Payment], threshold: int) -> dict[str, str]:
    """Outputs from the orders as they are meant."""
    kept = [order for order in orders if not order.cancelled]
    rows = "".join(
        f"{o.number},{o.customer},{o.amount / 100:.2f},{o.paid / 100:.2f},{(o.amount - o.paid) / 100:.2f},{o.state}\n"
        for o in kept
    )
    ranked = _debtors(orders, threshold)
    debtors = "".join(f"{i},{name},{n},{-total / 100:.2f}\n" for i, (total, name, n) in enumerate(ranked, 1))
    orphans = sorted((p.number, p.reference, p.cents) for p in payments if p.status == "settled" and p.order is None)
    listed = [{"payment_id": i, "reference": r, "amount": c / 100} for i, r, c in orphans]
    summary = {
        "orders": len(kept),
        "amount": sum(o.amount for o in kept) / 100,
        "paid": sum(o.paid for o in kept) / 100,
        "open": sum(o.amount - o.paid for o in kept) / 100,
        "by_state": dict(sorted(Counter(o.state for o in kept).items())),
        "orphan_amount": sum(c for _, _, c in orphans) / 100,
    }
    return {
        "output/reconciliation.csv": f"order_id,customer,amount,paid,open,state\n{rows}",
        "output/debtors.csv": f"rank,customer,orders,open\n{debtors}",
        "output/orphans.json": json.dumps(listed, indent=2) + "\n",
        "output/summary.json": json.dumps(summary, indent=2) + "\n",
    }


def _plan(rng: random.Random, threshold: int) -> Plan:
    name = rng.choice(("scripts/reconcile.py", "work/reconcile.py", "reconcile.py"))
    source = script(__file__, THRESHOLD=threshold)
    steps = [
        look(rng.choice(("ls -l input && wc -l input/*", "find input -type f -size +0"))),
        read("input/orders.csv", "Three sources; I'll look at each."),
        read("input/refunds.html", beside=True),
        run("head -5 input/payments.jsonl; grep -o '\"status\": \"[a-z]*\"' input/payments.jsonl | sort | uniq -c;"
            " grep -o '\"reference\": .*' input/payments.jsonl | sort | head -40",
            "How are references written, and which states are there?", phase="explore"),
        write(name, source, "Everything in whole cents, so that nothing is lost to rounding."),
        run(f"python3 {name}", "Run it."),
        verify("head -8 output/reconciliation.csv; cat output/debtors.csv", "Look at the rows."),
        verify("python3 -c \"import csv,json; r=list(csv.DictReader(open('output/reconciliation.csv')));"
               " s=json.load(open('output/summary.json')); print(len(r), s['orders'], round(sum(float(x['open'])"
               " for x in r), 2), s['open'])\"", "The summary must agree with the rows."),
        read("output/orphans.json", "And the orphans.", phase="check"),
    ]  # fmt: skip
    slips = [
        Slip(3, read("input/payments.json"), "The bank export is JSON Lines: payments.jsonl."),
        Slip(5, run("python3 scripts/run.py --all"), f"No such script; it is {name}."),
        Slip(6, edit(name, [("LIMIT = 0", "LIMIT = 1")]), "There is no LIMIT in it; nothing to edit."),
    ]
    pending = changed(source, ('payment["status"] != "settled" or payment', "payment"))
    no_refunds = changed(pending, ("if len(cells) >= 3 and cells[1] in orders:", "if False:"))
    ascending = changed(source, ("(-sum(item[1]), item[0])", "(sum(item[1]), item[0])"))
    careless = changed(
        source, (' or payment["payment_id"] in seen', ""), ('row["state"] == "cancelled"', 'row["state"] == "void"')
    )  # fmt: skip
    flaws = [
        Flaw("repeats_counted_twice", {4: rewritten(steps[4], careless)}, loss="large"),
        Flaw("unsettled_counted_refunds_ignored", {4: rewritten(steps[4], no_refunds)}, loss="large"),
        Flaw("summary_forgotten", {5: run(f"python3 {name} && rm output/summary.json", "Run it.")}, loss="small"),
        Flaw("ranking_ascending", {4: rewritten(steps[4], ascending)}, loss="small"),
    ]  # fmt: skip
    closing = "Orders, debtors, orphan payments and the summary are in output/; the summary agrees with the rows."
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="sales_reconcile",
    bench_category="Analysis & Reasoning",
    settings=(
        Setting("Analysis and Decision Support", "transaction and financial analysis"),
        Setting("Analysis and Decision Support", "data analysis and calculation"),
    ),
    operations=(
        "extract structured data from files or web content",
        "filter, sort, and rank records",
        "compute basic statistics and aggregates",
        "write structured results to local files",
    ),
    difficulty=4,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("retail and commerce", "finance and accounting"),
    skill_words=("invoices", "bookkeeping", "spreadsheet"),
)
