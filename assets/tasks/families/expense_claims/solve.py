"""Approve or reject expense claims by the quarter's policy."""

import csv
import json
from datetime import date
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from pathlib import Path

CENT = Decimal("0.01")

# policy.yaml is two levels of "key: value"
policy: dict[str, dict[str, str]] = {}
for raw in Path("input/policy.yaml").read_text().splitlines():
    text = raw.split("#")[0].rstrip()
    if not text:
        continue
    key, _, value = text.strip().partition(":")
    if not text.startswith(" "):
        block = policy.setdefault(key, {})
    else:
        block[key] = value.strip().strip("'\"")

employees = {e["id"]: e for e in json.loads(Path("input/employees.json").read_text())["employees"]}
start, end = date.fromisoformat(policy["period"]["start"]), date.fromisoformat(policy["period"]["end"])
receipt_above = Decimal(policy["receipts"]["required_above_eur"])


def to_date(text: str) -> date:
    """2025-03-04, or 04/03/2025 with the day first."""
    if "/" in text:
        d, m, y = (int(part) for part in text.split("/"))
        return date(y, m, d)
    return date.fromisoformat(text)


approved, rejected, seen = [], [], set()
with open("input/claims.csv", newline="") as handle:
    for line, row in enumerate(csv.DictReader(handle), start=2):
        row = {k: v.strip() for k, v in row.items()}
        try:
            amount = Decimal(row["amount"].replace(",", ""))
        except InvalidOperation:
            amount = Decimal(0)
        eur = amount * Decimal(policy["rates_to_eur"][row["currency"]])
        day = to_date(row["date"])
        repeated = row["claim_id"] in seen
        seen.add(row["claim_id"])
        if repeated:
            reason = "duplicate"
        elif row["employee_id"] not in employees:
            reason = "unknown_employee"
        elif amount <= 0:
            reason = "bad_amount"
        elif not start <= day <= end:
            reason = "out_of_period"
        elif eur > receipt_above and row["receipt"].lower() != "yes":
            reason = "no_receipt"
        else:
            reason = ""
        if reason:
            rejected.append({"line": line, "claim_id": row["claim_id"], "reason": reason})
            continue
        category = row["category"].lower()
        paid = min(eur, Decimal(policy["limits_eur"][category]))
        who = employees[row["employee_id"]]
        approved.append(
            {
                "claim_id": row["claim_id"],
                "employee": who["name"],
                "department": who["department"],
                "category": category,
                "date": day.isoformat(),
                "amount_eur": eur.quantize(CENT, ROUND_HALF_UP),
                "reimbursed_eur": paid.quantize(CENT, ROUND_HALF_UP),
            }
        )

approved.sort(key=lambda r: (r["department"], r["date"], r["claim_id"]))
Path("output").mkdir(exist_ok=True)
with open("output/approved_claims.csv", "w", newline="") as handle:
    writer = csv.DictWriter(handle, list(approved[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(approved)
Path("output/rejected.json").write_text(json.dumps(rejected, indent=2) + "\n")

sums: dict[str, list[Decimal]] = {}
for item in approved:
    sums.setdefault(item["department"], []).append(item["reimbursed_eur"])
ranked = sorted(sums.items(), key=lambda pair: (-sum(pair[1]), pair[0]))
lines = ["# Expense claims", "", "| Department | Claims | Reimbursed EUR |", "| --- | --- | --- |"]
lines += [f"| {name} | {len(values)} | {sum(values):.2f} |" for name, values in ranked]
lines += ["", f"- Total reimbursed: {sum(r['reimbursed_eur'] for r in approved):.2f} EUR"]
lines += [f"- Rejected claims: {len(rejected)}"]
Path("output/summary.md").write_text("\n".join(lines) + "\n")
print(len(approved), "approved,", len(rejected), "rejected")
