"""Verifier of `budget_variance`: reads the handed-out ledger again and restates it for the centres of today."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    OutputError,
    bullets,
    check,
    is_int,
    labelled,
    md_table,
    number,
    object_keys,
    original_csv,
    original_yaml,
    output,
    output_csv,
    output_json,
    section,
)

UNTIL = "2026-06-30"
QUARTER = 2
AMOUNT = 2500
PERCENT = 8
COLUMNS = ["centre", "account", "plan", "actual", "variance", "percent", "status"]

KIND = {row["account"]: row["kind"] for row in original_csv("input/accounts.csv")}
PHASE = {
    row["account"]: sum(int(row[f"q{n}"]) for n in (1, 2, 3, 4)[:QUARTER]) for row in original_csv("input/phasing.csv")
}
PLAN = {
    (centre, account): Fraction(year) * PHASE[account] / 100
    for centre, fields in original_yaml("input/plan.yaml").items()
    for account, year in fields.items()
}
REORG = original_csv("input/reorg.csv")


def today(centre: str) -> dict[str, Fraction]:
    """Centres of today that a centre has become, with their shares: replaced until nothing is left to replace."""
    parts = {centre: Fraction(1)}
    old = {row["old"] for row in REORG}
    while set(parts) & old:
        gone = min(set(parts) & old)
        weight = parts.pop(gone)
        for row in REORG:
            if row["old"] == gone:
                parts[row["new"]] = parts.get(row["new"], Fraction(0)) + weight * int(row["share"]) / 100
    return parts


def ledger() -> tuple[list[tuple[str, str, Fraction, str]], list[list[str]]]:
    """What counts where (centre, account, part, label), and the issues."""
    known = {centre for centre, _ in PLAN}
    gone = {row["old"]: row["effective"] for row in REORG}
    parts, wrong, seen = [], [], set()
    for row in original_csv("input/ledger.csv"):
        legacy = row["system"] == "legacy"
        day = "-".join(row["posted"].split(".")[::-1]) if legacy else row["posted"]
        if not "2026-01-01" <= day <= UNTIL:
            continue
        key = (row["system"], int(row["doc"]), int(row["line"]))
        if key in seen:
            issue = "duplicate"
        elif row["account"] not in KIND:
            issue = "unknown_account"
        elif row["centre"] not in known | set(gone):
            issue = "unknown_centre"
        else:
            issue = "after_reorg" if row["centre"] in gone and day >= gone[row["centre"]] else ""
            digits = re.sub(r"\D", "", row["amount"])
            minus = (KIND[row["account"]] == "revenue") != bool(re.search(r"[(-]", row["amount"]))
            value = Fraction(-int(digits) if minus else int(digits), 100)
            for centre, share in today(row["centre"]).items():
                parts.append((centre, row["account"], value * share, f"{key[0]} {key[1]}/{key[2]}"))
        seen.add(key)
        if issue:
            wrong.append((*key, issue))
    return parts, [[str(value) for value in item] for item in sorted(wrong)]


PARTS, ISSUES = ledger()


def compare() -> dict[tuple[str, str], tuple[Fraction, Fraction, Fraction, str]]:
    found = {}
    for key in sorted({*PLAN, *((centre, account) for centre, account, _, _ in PARTS)}):
        planned = PLAN.get(key, Fraction(0))
        actual = sum((part for centre, account, part, _ in PARTS if (centre, account) == key), Fraction(0))
        variance = (actual - planned) * (1 if KIND[key[1]] == "revenue" else -1)
        large, steep = variance < -AMOUNT, variance < 0 and variance * 100 < -PERCENT * planned
        found[key] = (planned, actual, variance, "critical" if large and steep else "watch" if large or steep else "ok")
    return found


ROWS = compare()
CRITICAL = sorted((row[2], key) for key, row in ROWS.items() if row[3] == "critical")


def near(value: Any, exact: Fraction, places: int = 2) -> bool:
    """Whether a value is the exact one, rounded; a tie may go either way."""
    found, unit = Fraction(str(number(value))), Fraction(1, 10**places)
    return found % unit == 0 and abs(found - exact) <= unit / 2 + Fraction(1, 10**7)


def amount(value: Any, exact: Fraction) -> bool:
    """A JSON number, not text."""
    return isinstance(value, int | float | Decimal) and near(value, exact)


def rows(workspace: Path) -> dict[tuple[str, str], dict[str, str]]:
    listed = output_csv(workspace, "output/variance.csv", COLUMNS)
    found = {(row["centre"], row["account"]): row for row in listed}
    if set(found) != set(ROWS) or len(listed) != len(found):
        raise OutputError("other rows than expected")
    return found


@check
def rows_in_order(workspace: Path) -> float:
    return list(rows(workspace)) == list(ROWS)


@check
def plans_right(workspace: Path) -> float:
    return all(near(row["plan"], ROWS[key][0]) for key, row in rows(workspace).items())


@check
def actuals_right(workspace: Path) -> float:
    return all(near(row["actual"], ROWS[key][1]) for key, row in rows(workspace).items())


@check
def variances_right(workspace: Path) -> float:
    return all(near(row["variance"], ROWS[key][2]) for key, row in rows(workspace).items())


@check
def percentages_right(workspace: Path) -> float:
    for key, row in rows(workspace).items():
        planned, _, variance, _ = ROWS[key]
        if not (near(row["percent"], variance / planned * 100, 1) if planned else row["percent"] == ""):
            return 0.0
    return 1.0


@check
def statuses_right(workspace: Path) -> float:
    return all(row["status"].lower() == ROWS[key][3] for key, row in rows(workspace).items())


def centres(workspace: Path) -> dict[str, Any]:
    keys = ["revenue_plan", "revenue_actual", "cost_plan", "cost_actual", "variance", "critical"]
    found = object_keys(output_json(workspace, "output/centres.json"), sorted({centre for centre, _ in ROWS}))
    return {centre: object_keys(entry, keys) for centre, entry in found.items()}


def total(column: int, centre: str = "", kind: str = "") -> Fraction:
    """Sum of a column over the rows of a centre and kind; all of them where empty."""
    mine = [row for key, row in ROWS.items() if centre in ("", key[0]) and kind in ("", KIND[key[1]])]
    return sum((Fraction(row[column]) for row in mine), Fraction(0))


@check
def centres_plan_and_actual(workspace: Path) -> float:
    return all(
        amount(entry[f"{kind}_plan"], total(0, centre, kind))
        and amount(entry[f"{kind}_actual"], total(1, centre, kind))
        for centre, entry in centres(workspace).items()
        for kind in ("revenue", "cost")
    )


@check
def centres_variance(workspace: Path) -> float:
    return all(amount(entry["variance"], total(2, centre)) for centre, entry in centres(workspace).items())


@check
def centres_critical_accounts(workspace: Path) -> float:
    wanted = {centre: sorted(a for _, (c, a) in CRITICAL if c == centre) for centre, _ in ROWS}
    return {centre: entry["critical"] for centre, entry in centres(workspace).items()} == wanted


@check
def issues_listed(workspace: Path) -> float:
    found = output_csv(workspace, "output/issues.csv", ["system", "doc", "line", "issue"])
    return [list(row.values()) for row in found] == ISSUES


def report(workspace: Path) -> str:
    return section(output(workspace, "output/report.md"), f"Variance to {UNTIL}")


@check
def report_numbers(workspace: Path) -> float:
    text = report(workspace)
    watched = sum(row[3] == "watch" for row in ROWS.values())
    return (
        is_int(labelled(text, "Critical"), len(CRITICAL))
        and is_int(labelled(text, "Watch"), watched)
        and near(labelled(text, "Total variance"), total(2))
    )


@check
def report_critical_rows(workspace: Path) -> float:
    found = md_table(report(workspace), ["Centre", "Account", "Variance"])
    return [(row[0], row[1]) for row in found] == [key for _, key in CRITICAL] and all(
        near(row[2], variance) for row, (variance, _) in zip(found, CRITICAL, strict=True)
    )


@check
def report_largest_bookings(workspace: Path) -> float:
    mine = [(part, label) for centre, account, part, label in PARTS if (centre, account) == CRITICAL[0][1]]
    wanted = sorted(mine, key=lambda item: -abs(item[0]))[:3]
    found = [item.rpartition(":") for item in bullets(section(report(workspace), "Largest bookings"))]
    return [item[0].strip() for item in found] == [label for _, label in wanted] and all(
        near(item[2], part) for item, (part, _) in zip(found, wanted, strict=True)
    )
