"""Verifier of `expense_claims`: recomputes the approval of each claim from claims, employees and policy."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    check,
    is_int,
    labelled,
    md_table,
    object_keys,
    original,
    original_csv,
    original_yaml,
    output,
    output_csv,
    output_json,
    rounded,
    section,
    share,
)  # fmt: skip

COLUMNS = [
    "claim_id", "employee", "department", "category", "date", "amount_eur", "reimbursed_eur",
]  # fmt: skip


def parse_date(text: str) -> date:
    if "/" in text:
        day, month, year = text.strip().split("/")
        return date(int(year), int(month), int(day))
    return date.fromisoformat(text.strip())


def parse_amount(text: str) -> Decimal | None:
    try:
        amount = Decimal(text.replace(",", "").strip())
    except InvalidOperation:
        return None
    return amount if amount > 0 else None


def decide() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Approved claims in the order asked for, and rejected ones in file order."""
    policy = original_yaml("input/policy.yaml")
    employees = {e["id"]: e for e in json.loads(original("input/employees.json"))["employees"]}
    first, last = date.fromisoformat(policy["period"]["start"]), date.fromisoformat(policy["period"]["end"])
    approved: list[dict[str, Any]] = []
    rejected: list[dict[str, Any]] = []
    seen: set[str] = set()
    for line, row in enumerate(original_csv("input/claims.csv"), 2):
        claim_id, amount, day = row["claim_id"].strip(), parse_amount(row["amount"]), parse_date(row["date"])
        employee = employees.get(row["employee_id"].strip())
        category = row["category"].strip().lower()
        eur = None if amount is None else amount * Decimal(policy["rates_to_eur"][row["currency"].strip()])
        if claim_id in seen:
            reason = "duplicate"
        elif employee is None:
            reason = "unknown_employee"
        elif eur is None:
            reason = "bad_amount"
        elif not first <= day <= last:
            reason = "out_of_period"
        elif eur > Decimal(policy["receipts"]["required_above_eur"]) and row["receipt"].strip().lower() != "yes":
            reason = "no_receipt"
        else:
            reason = ""
        seen.add(claim_id)
        if reason or employee is None or eur is None:
            rejected.append({"line": line, "claim_id": claim_id, "reason": reason})
            continue
        paid = min(eur, Decimal(policy["limits_eur"][category]))
        approved.append(
            {"claim_id": claim_id, "employee": employee["name"], "department": employee["department"],
             "category": category, "date": day.isoformat(), "eur": eur, "paid": paid}
        )  # fmt: skip
    approved.sort(key=lambda r: (r["department"], r["date"], r["claim_id"]))
    return approved, rejected


APPROVED, REJECTED = decide()
BY_ID = {row["claim_id"]: row for row in APPROVED}


def approved_rows(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/approved_claims.csv", COLUMNS)


def totals() -> list[tuple[str, int, Decimal]]:
    """Department, claims, sum of the rounded reimbursements; highest sum first."""
    sums: dict[str, list[Decimal]] = {}
    for row in APPROVED:
        sums.setdefault(row["department"], []).append(row["paid"].quantize(Decimal("0.01")))
    return sorted(((d, len(v), sum(v, Decimal(0))) for d, v in sums.items()), key=lambda t: (-t[2], t[0]))


@check
def approved_claims(workspace: Path) -> float:
    return sorted(row["claim_id"] for row in approved_rows(workspace)) == sorted(BY_ID)


@check
def approved_order(workspace: Path) -> float:
    return [row["claim_id"] for row in approved_rows(workspace)] == [row["claim_id"] for row in APPROVED]


@check
def approved_details(workspace: Path) -> float:
    rows = approved_rows(workspace)
    fields = ("employee", "department", "category", "date")
    right = sum(r["claim_id"] in BY_ID and all(r[f] == BY_ID[r["claim_id"]][f] for f in fields) for r in rows)
    return share(right, max(len(rows), len(APPROVED)))


@check
def amounts_in_eur(workspace: Path) -> float:
    rows = approved_rows(workspace)
    right = sum(r["claim_id"] in BY_ID and rounded(r["amount_eur"], BY_ID[r["claim_id"]]["eur"], 2) for r in rows)
    return share(right, max(len(rows), len(APPROVED)))


@check
def reimbursed_amounts(workspace: Path) -> float:
    rows = approved_rows(workspace)
    return len(rows) == len(BY_ID) and all(rounded(r["reimbursed_eur"], BY_ID[r["claim_id"]]["paid"], 2) for r in rows)


def rejected_objects(workspace: Path) -> list[dict[str, Any]]:
    return [
        object_keys(item, ["line", "claim_id", "reason"]) for item in output_json(workspace, "output/rejected.json")
    ]


@check
def rejected_reasons(workspace: Path) -> float:
    found = {(str(item["claim_id"]), int(item["line"])): item["reason"] for item in rejected_objects(workspace)}
    wanted = {(item["claim_id"], item["line"]): item["reason"] for item in REJECTED}
    return share(sum(found.get(key) == reason for key, reason in wanted.items()), max(len(wanted), len(found)))


@check
def rejected_list_exact(workspace: Path) -> float:
    found = rejected_objects(workspace)
    return len(found) == len(REJECTED) and all(
        is_int(f["line"], w["line"]) and f["claim_id"] == w["claim_id"] and f["reason"] == w["reason"]
        for f, w in zip(found, REJECTED, strict=True)
    )


@check
def summary_table(workspace: Path) -> float:
    text = output(workspace, "output/summary.md")
    rows = md_table(section(text, "Expense claims"), ["Department", "Claims", "Reimbursed EUR"])
    wanted = totals()
    return len(rows) == len(wanted) and all(
        row[0] == name and is_int(row[1], count) and rounded(row[2], total, 2)
        for row, (name, count, total) in zip(rows, wanted, strict=True)
    )


@check
def summary_totals(workspace: Path) -> float:
    text = output(workspace, "output/summary.md")
    total = sum((t[2] for t in totals()), Decimal(0))
    return rounded(labelled(text, "Total reimbursed").removesuffix("EUR"), total, 2) and is_int(
        labelled(text, "Rejected claims"), len(REJECTED)
    )
