"""Verifier of `sales_reconcile`: matches payments and refunds with orders again, in whole cents."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    check,
    is_int,
    object_keys,
    original,
    original_csv,
    output_csv,
    output_json,
    rounded,
    share,
)

THRESHOLD = 50
COLUMNS = ["order_id", "customer", "amount", "paid", "open", "state"]
Order = dict[str, Any]


def payments() -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for line in original("input/payments.jsonl").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record["status"] == "settled":
            found[record["payment_id"]] = record
    return sorted(found.values(), key=lambda p: p["payment_id"])


def reconcile() -> tuple[list[Order], list[dict[str, Any]]]:
    orders: dict[str, Order] = {}
    for row in original_csv("input/orders.csv"):
        if row["state"] != "cancelled":
            amount = int(Decimal(row["amount"]) * 100)
            orders[row["order_id"]] = {
                "order_id": row["order_id"],
                "customer": row["customer"],
                "amount": amount,
                "paid": 0,
            }
    orphans = []
    for payment in payments():
        digits = re.search(r"(?<!\d)\d{5}(?!\d)", payment["reference"])
        if digits and digits[0] in orders:
            orders[digits[0]]["paid"] += payment["amount_cents"]
        else:
            orphans.append(payment)
    for number, text in re.findall(r"<td>(\d{5})</td>\s*<td[^>]*>EUR ([\d.]+)</td>", original("input/refunds.html")):
        if number in orders:
            orders[number]["paid"] -= int(Decimal(text) * 100)
    for order in orders.values():
        order["open"] = order["amount"] - order["paid"]
        if order["open"] == 0:
            order["state"] = "settled"
        elif order["open"] < 0:
            order["state"] = "overpaid"
        else:
            order["state"] = "unpaid" if order["paid"] <= 0 else "partly_paid"
    return sorted(orders.values(), key=lambda o: str(o["order_id"])), orphans


ORDERS, ORPHANS = reconcile()
BY_ID = {order["order_id"]: order for order in ORDERS}


def eur(cents: int) -> Decimal:
    return Decimal(cents) / 100


def debtors() -> list[tuple[str, int, int]]:
    found: dict[str, list[int]] = {}
    for order in ORDERS:
        if order["open"] > 0:
            found.setdefault(order["customer"], []).append(order["open"])
    listed = [(name, len(open_), sum(open_)) for name, open_ in found.items() if sum(open_) > THRESHOLD * 100]
    return sorted(listed, key=lambda item: (-item[2], item[0]))


def rows(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/reconciliation.csv", COLUMNS)


@check
def orders_listed(workspace: Path) -> float:
    return [(r["order_id"], r["customer"]) for r in rows(workspace)] == [(o["order_id"], o["customer"]) for o in ORDERS]


@check
def amounts_and_paid(workspace: Path) -> float:
    found = rows(workspace)
    right = sum(
        r["order_id"] in BY_ID and all(rounded(r[f], eur(BY_ID[r["order_id"]][f]), 2) for f in ("amount", "paid"))
        for r in found
    )
    return share(right, max(len(found), len(ORDERS)))


@check
def open_amounts(workspace: Path) -> float:
    found = rows(workspace)
    return len(found) == len(ORDERS) and all(rounded(r["open"], eur(BY_ID[r["order_id"]]["open"]), 2) for r in found)


@check
def states_right(workspace: Path) -> float:
    found = rows(workspace)
    return sorted((r["order_id"], r["state"]) for r in found) == [(o["order_id"], o["state"]) for o in ORDERS]


def debtor_rows(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/debtors.csv", ["rank", "customer", "orders", "open"])


@check
def debtors_ranked(workspace: Path) -> float:
    found = [(r["rank"], r["customer"]) for r in debtor_rows(workspace)]
    return found == [(str(rank), name) for rank, (name, _, _) in enumerate(debtors(), 1)]


@check
def debtors_amounts(workspace: Path) -> float:
    found = {r["customer"]: r for r in debtor_rows(workspace)}
    return len(found) == len(debtors()) and all(
        is_int(found[name]["orders"], count) and rounded(found[name]["open"], eur(total), 2)
        for name, count, total in debtors()
    )


@check
def orphans_listed(workspace: Path) -> float:
    found = [
        object_keys(item, ["payment_id", "reference", "amount"])
        for item in output_json(workspace, "output/orphans.json")
    ]
    wanted = [(p["payment_id"], p["reference"]) for p in ORPHANS]
    return [(f["payment_id"], f["reference"]) for f in found] == wanted and all(
        not isinstance(f["amount"], str) and rounded(f["amount"], eur(p["amount_cents"]), 2)
        for f, p in zip(found, ORPHANS, strict=True)
    )


def summary(workspace: Path) -> dict[str, Any]:
    keys = ["orders", "amount", "paid", "open", "by_state", "orphan_amount"]
    return object_keys(output_json(workspace, "output/summary.json"), keys)


@check
def summary_sums(workspace: Path) -> float:
    found = summary(workspace)
    sums = {field: sum(order[field] for order in ORDERS) for field in ("amount", "paid", "open")}
    sums["orphan_amount"] = sum(p["amount_cents"] for p in ORPHANS)
    return is_int(found["orders"], len(ORDERS)) and all(rounded(found[f], eur(value), 2) for f, value in sums.items())


@check
def summary_states(workspace: Path) -> float:
    wanted = Counter(order["state"] for order in ORDERS)
    found = object_keys(summary(workspace)["by_state"], list(wanted))
    return all(is_int(found[state], count) for state, count in wanted.items())
