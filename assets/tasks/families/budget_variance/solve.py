"""Bookings against the plan, for the centres of today."""

import csv
import json
from collections import defaultdict
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

UNTIL = "2026-06-30"
QUARTER = 2
AMOUNT = 2500
PERCENT = 8


def table(path: str) -> list[dict[str, str]]:
    with open(path, newline="") as handle:
        return list(csv.DictReader(handle))


kinds = {row["account"]: row["kind"] for row in table("input/accounts.csv")}
phases = {
    row["account"]: Fraction(sum(int(row[f"q{n}"]) for n in range(1, QUARTER + 1)), 100)
    for row in table("input/phasing.csv")
}
plan: dict[tuple[str, str], Fraction] = {}
centre = ""
for raw in Path("input/plan.yaml").read_text().splitlines():
    name, _, text = raw.split("#")[0].partition(":")
    if raw.startswith(" "):
        account = name.strip().strip("\"'")
        plan[centre, account] = Fraction(text.strip()) * phases[account]
    elif name.strip():
        centre = name.strip()

reorg: dict[str, list[tuple[str, Fraction]]] = defaultdict(list)
dissolved = {}
for row in table("input/reorg.csv"):
    reorg[row["old"]].append((row["new"], Fraction(int(row["share"]), 100)))
    dissolved[row["old"]] = row["effective"]
today = {name for name, _ in plan}


def restate(old: str, weight: Fraction = Fraction(1)) -> list[tuple[str, Fraction]]:
    if old not in reorg:
        return [(old, weight)]
    found = []
    for new, share in reorg[old]:
        part = weight * share
        found += restate(new, part)
    return found


def value_of(system: str, text: str) -> Fraction:
    negative = text.endswith("-") or text.startswith("(")
    digits = text.strip("()-")
    digits = digits.replace(".", "").replace(",", ".") if system == "legacy" else digits.replace(",", "")
    return -Fraction(digits) if negative else Fraction(digits)


actual: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
behind: dict[tuple[str, str], list[tuple[Fraction, str]]] = defaultdict(list)
issues: list[tuple[str, int, int, str]] = []
seen = set()
for row in table("input/ledger.csv"):
    form = "%d.%m.%Y" if row["system"] == "legacy" else "%Y-%m-%d"
    posted = datetime.strptime(row["posted"], form).date()
    if not date(2026, 1, 1) <= posted <= date.fromisoformat(UNTIL):
        continue
    key = (row["system"], int(row["doc"]), int(row["line"]))
    account = row["account"]
    if key in seen:
        issues.append((*key, "duplicate"))
        continue
    seen.add(key)
    if account not in kinds:
        issues.append((*key, "unknown_account"))
        continue
    if row["centre"] not in today and row["centre"] not in reorg:
        issues.append((*key, "unknown_centre"))
        continue
    if row["centre"] in dissolved and posted.isoformat() >= dissolved[row["centre"]]:
        issues.append((*key, "after_reorg"))
    value = value_of(row["system"], row["amount"])
    signed = -value if kinds[account] == "revenue" else value
    for name, weight in restate(row["centre"]):
        actual[name, account] += signed * weight
        behind[name, account].append((signed * weight, f"{key[0]} {key[1]}/{key[2]}"))


def two(value: Fraction) -> str:
    return f"{float(value):.2f}"


results = {}
for place in sorted({*plan, *actual}):
    planned, found = plan.get(place, Fraction(0)), actual[place]
    variance = found - planned if kinds[place[1]] == "revenue" else planned - found
    large = -variance > AMOUNT
    steep = variance < 0 and (planned == 0 or -variance > planned * PERCENT / 100)
    status = "critical" if large and steep else "watch" if large or steep else "ok"
    results[place] = (planned, found, variance, status)

Path("output").mkdir(exist_ok=True)
with open("output/variance.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["centre", "account", "plan", "actual", "variance", "percent", "status"])
    for (name, account), (planned, found, variance, status) in results.items():
        percent = f"{float(variance / planned * 100):.1f}" if planned else ""
        writer.writerow([name, account, two(planned), two(found), two(variance), percent, status])
with open("output/issues.csv", "w", newline="") as handle:
    csv.writer(handle, lineterminator="\n").writerows([("system", "doc", "line", "issue"), *sorted(issues)])

centres: dict[str, dict[str, Any]] = {}
for name in sorted({name for name, _ in results}):
    mine = [(account, *row) for (other, account), row in results.items() if other == name]
    entry: dict[str, Any] = {}
    for kind in ("revenue", "cost"):
        entry[f"{kind}_plan"] = round(float(sum(row[1] for row in mine if kinds[row[0]] == kind)), 2)
        entry[f"{kind}_actual"] = round(float(sum(row[2] for row in mine if kinds[row[0]] == kind)), 2)
    entry["variance"] = round(float(sum(row[3] for row in mine)), 2)
    entry["critical"] = [row[0] for row in mine if row[4] == "critical"]
    centres[name] = entry
Path("output/centres.json").write_text(json.dumps(centres, indent=2) + "\n")

critical = sorted((row[2], place) for place, row in results.items() if row[3] == "critical")
total = sum((row[2] for row in results.values()), Fraction(0))
report = [f"# Variance to {UNTIL}", "", f"Critical: {len(critical)}"]
report += [f"Watch: {sum(row[3] == 'watch' for row in results.values())}", f"Total variance: {two(total)}", ""]
report += ["| Centre | Account | Variance |", "| --- | --- | --- |"]
report += [f"| {name} | {account} | {two(variance)} |" for variance, (name, account) in critical]
report += ["", "## Largest bookings", ""]
ranked = sorted(behind[critical[0][1]], key=lambda item: -abs(item[0])) if critical else []
report += [f"- {label}: {two(part)}" for part, label in ranked[:3]]
Path("output/report.md").write_text("\n".join(report) + "\n")
print(len(results), "rows,", len(critical), "critical,", len(issues), "issues")
