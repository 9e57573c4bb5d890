"""Family `expense_claims`: decide a quarter's expense claims by policy and sum them up by department.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import csv
import io
import json
import random
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import (
    DEPARTMENTS,
    cents,
    leave_inputs,
    opening,
    people,
    spelled,
    tie_free,
    told,
)  # fmt: skip
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

RATES: Final = {"EUR": "1", "USD": "0.92", "GBP": "1.17", "CHF": "1.05", "SEK": "0.088", "PLN": "0.234"}
LIMITS: Final = {
    "travel": (180, 420),
    "meals": (28, 60),
    "lodging": (110, 190),
    "supplies": (60, 140),
    "training": (250, 600),
}


@dataclass(frozen=True)
class Claim:
    """One line of the claims file, as it is meant."""

    claim_id: str
    employee: int | None
    """Index into the employees; None for somebody who is not in the list."""
    day: date
    category: str
    amount: Decimal | None
    currency: str
    receipt: bool
    duplicate: bool = False


@dataclass(frozen=True)
class World:
    """Everything a seed decides."""

    start: date
    end: date
    staff: list[tuple[str, str, str]]
    """Id, name, department."""
    limits: dict[str, Decimal]
    rates: dict[str, Decimal]
    receipt_above: Decimal
    claims: list[Claim]


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    world = _world(rng)
    inputs = {
        "input/claims.csv": _claims_csv(rng, world),
        "input/employees.json": _employees_json(world),
        "input/policy.yaml": _policy_yaml(world),
    }
    name = rng.choice(("scripts/approve_claims.py", "work/claims.py", "tools/decide_claims.py"))
    return Draft(_instruction(rng, persona, world), inputs, _oracle(world), {}, _plan(rng, name))


def _world(rng: random.Random) -> World:
    year, quarter = rng.choice((2024, 2025, 2026)), rng.randint(0, 3)
    start = date(year, 3 * quarter + 1, 1)
    end = (date(year + 1, 1, 1) if quarter == 3 else date(year, 3 * quarter + 4, 1)) - timedelta(days=1)
    departments = rng.sample(DEPARTMENTS, 4)
    staff = [(f"E{rng.randint(100, 199) + 100 * i}", name, departments[i % 4]) for i, name in enumerate(people(rng, 9))]
    rates = {c: Decimal(RATES[c]) for c in ["EUR", *rng.sample(sorted(set(RATES) - {"EUR"}), 2)]}
    limits = {c: Decimal(rng.randint(*LIMITS[c])) for c in sorted(LIMITS)}
    receipt_above = Decimal(rng.choice((20, 25, 30, 40)))
    claims = [_sound(rng, n, start, end, limits, rates, len(staff)) for n in range(rng.randint(22, 30))]
    return World(start, end, staff, limits, rates, receipt_above, _spoil(rng, claims, start, end, receipt_above))


def _sound(
    rng: random.Random,
    n: int,
    start: date,
    end: date,
    limits: dict[str, Decimal],
    rates: dict[str, Decimal],
    staff: int,
) -> Claim:
    category, currency = rng.choice(sorted(limits)), rng.choice(["EUR", *rates])
    ceiling = int(limits[category] * 130 / rates[currency])
    amount = tie_free(rng, ceiling // 12, ceiling, rates[currency])
    day = start + timedelta(days=rng.randint(0, (end - start).days))
    return Claim(f"C-{1000 + 7 * n + rng.randint(0, 6)}", n % staff, day, category, amount, currency, True)


def _spoil(rng: random.Random, claims: list[Claim], start: date, end: date, receipt_above: Decimal) -> list[Claim]:
    """Plant what the policy rejects: each kind at least once, one claim with two faults, repeats later in the file."""
    spots = rng.sample(range(len(claims)), 10)
    for spot in spots[:2]:
        claims[spot] = replace(claims[spot], employee=None)
    for spot in spots[2:4]:
        claims[spot] = replace(claims[spot], amount=None)
    claims[spots[4]] = replace(claims[spots[4]], day=start - timedelta(days=rng.randint(1, 20)))
    claims[spots[5]] = replace(claims[spots[5]], day=end + timedelta(days=rng.randint(1, 9)))
    for spot in spots[6:9]:
        dear = Decimal(rng.randint(4500, 9000)) / 100
        claims[spot] = replace(claims[spot], receipt=False, amount=dear, currency="EUR")
    claims[spots[0]] = replace(claims[spots[0]], receipt=False)
    cheap = Decimal(rng.randint(500, int(receipt_above) * 100)) / 100
    claims[spots[9]] = replace(claims[spots[9]], receipt=False, amount=cheap, currency="EUR")
    for spot in rng.sample(range(len(claims) - 4), 3):
        claims.insert(rng.randint(spot + 2, len(claims)), replace(claims[spot], duplicate=True))
    return _mark_repeats(claims)


def _mark_repeats(claims: list[Claim]) -> list[Claim]:
    """Insertions shift positions: the flag belongs to whichever of two equal ids stands later."""
    seen: set[str] = set()
    marked = []
    for claim in claims:
        marked.append(replace(claim, duplicate=claim.claim_id in seen))
        seen.add(claim.claim_id)
    return marked


def _claims_csv(rng: random.Random, world: World) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["claim_id", "employee_id", "date", "category", "amount", "currency", "receipt"])
    for claim in world.claims:
        who = f"E{rng.randint(1100, 1999)}" if claim.employee is None else world.staff[claim.employee][0]
        day = claim.day.isoformat() if rng.random() < 0.7 else claim.day.strftime("%d/%m/%Y")
        if claim.amount is None:
            amount = rng.choice(("n/a", "-", "0.00", "-14.20"))
        else:
            amount = f"{claim.amount:,.2f}" if rng.random() < 0.5 else f"{claim.amount:.2f}"
        receipt = rng.choice(("yes", "yes", "Yes", "YES")) if claim.receipt else rng.choice(("no", "No", ""))
        writer.writerow([claim.claim_id, who, day, spelled(rng, claim.category), amount, claim.currency, receipt])
    return buffer.getvalue()


def _employees_json(world: World) -> str:
    staff = [{"id": i, "name": name, "department": department} for i, name, department in world.staff]
    return json.dumps({"employees": staff}, indent=2) + "\n"


def _policy_yaml(world: World) -> str:
    lines = [
        "# Expense policy of the quarter",
        "period:",
        f"  start: {world.start}",
        f"  end: {world.end}",
        "limits_eur:",
    ]
    lines += [f"  {name}: {limit:.2f}" for name, limit in world.limits.items()]
    lines += ["rates_to_eur:", *(f"  {name}: {rate}" for name, rate in world.rates.items())]
    lines += ["receipts:", f"  required_above_eur: {world.receipt_above:.2f}"]
    return "\n".join(lines) + "\n"


def _oracle(world: World) -> dict[str, str]:
    """Outputs from the records as they are meant; nothing is parsed."""
    approved: list[tuple[str, str, str, Claim, Decimal, Decimal]] = []
    rejected: list[dict[str, object]] = []
    for line, claim in enumerate(world.claims, 2):
        reason, eur = _reason(claim, world)
        if reason:
            rejected.append({"line": line, "claim_id": claim.claim_id, "reason": reason})
        elif claim.employee is not None:
            _, _, department = world.staff[claim.employee]
            paid = cents(min(eur, world.limits[claim.category]))
            approved.append((department, claim.day.isoformat(), claim.claim_id, claim, cents(eur), paid))
    approved.sort(key=lambda item: item[:3])
    names = {claim.claim_id: world.staff[claim.employee or 0][1] for _, _, _, claim, _, _ in approved}
    rows = ["claim_id,employee,department,category,date,amount_eur,reimbursed_eur"]
    rows += [f"{c.claim_id},{names[i]},{d},{c.category},{day},{eur},{paid}" for d, day, i, c, eur, paid in approved]
    paid_by: dict[str, list[Decimal]] = {}
    for item in approved:
        paid_by.setdefault(item[0], []).append(item[5])
    table = [
        f"| {name} | {len(paid)} | {sum(paid):.2f} |"
        for name, paid in sorted(paid_by.items(), key=lambda pair: (-sum(pair[1]), pair[0]))
    ]
    total = sum((item[5] for item in approved), Decimal(0))
    summary = ["# Expense claims", "", "| Department | Claims | Reimbursed EUR |", "| --- | --- | --- |", *table, ""]
    summary += [f"- Total reimbursed: {total:.2f} EUR", f"- Rejected claims: {len(rejected)}"]
    return {
        "output/approved_claims.csv": "\n".join(rows) + "\n",
        "output/rejected.json": json.dumps(rejected, indent=2) + "\n",
        "output/summary.md": "\n".join(summary) + "\n",
    }


def _reason(claim: Claim, world: World) -> tuple[str, Decimal]:
    """Why a claim is rejected (empty if it is not), and its worth in EUR."""
    eur = (claim.amount or Decimal(0)) * world.rates[claim.currency]
    faults = (
        (claim.duplicate, "duplicate"),
        (claim.employee is None, "unknown_employee"),
        (claim.amount is None, "bad_amount"),
        (not world.start <= claim.day <= world.end, "out_of_period"),
        (not claim.receipt and eur > world.receipt_above, "no_receipt"),
    )
    return next((name for holds, name in faults if holds), ""), eur


def _instruction(rng: random.Random, persona: Persona, world: World) -> str:
    errand = f"The expense claims for {world.start} to {world.end} have to be decided and summed up."
    return told(__file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng))


def _plan(rng: random.Random, name: str) -> Plan:
    source = script(__file__)
    steps = [
        look(rng.choice(("ls -la input", "find . -type f | sort", "ls -R")), "Let me see what there is."),
        read("input/policy.yaml", "I'll read the policy and the staff list first."),
        read("input/employees.json", beside=True),
        read("input/claims.csv", "Now the claims themselves."),
        run("cut -d, -f4 input/claims.csv | sort | uniq -c; cut -d, -f1 input/claims.csv | sort | uniq -d",
            "I want to know how the categories are spelled and which ids repeat.", phase="explore"),
        write(name, source, "The rules are clear. I'll put them into one script that works from the input files."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/summary.md; head -5 output/approved_claims.csv", "Let me look at the products."),
        verify(
            "python3 -c \"import csv,json; a=list(csv.DictReader(open('output/approved_claims.csv')));"
            " r=json.load(open('output/rejected.json')); n=sum(1 for _ in open('input/claims.csv'))-1;"
            " print(len(a), len(r), n, len(a)+len(r)==n)\"",
            "Every claim must be in exactly one of the two lists.",
        ),
        read("output/rejected.json", "And the rejected ones, with their reasons.", phase="check"),
    ]  # fmt: skip
    slips = [
        Slip(1, read("input/policy.yml"), "That name was wrong: the file ends in .yaml."),
        Slip(6, run("python3 approve.py"), f"The script is {name}, not in the root."),
    ]
    no_limit = changed(source, ('paid = min(eur, Decimal(policy["limits_eur"][category]))', "paid = eur"))
    no_dedup = changed(source, ('repeated = row["claim_id"] in seen', "repeated = False"))
    no_receipts = changed(source, ('elif eur > receipt_above and row["receipt"].lower() != "yes":', "elif False:"))
    renamed = changed(
        source,
        ('"reimbursed_eur": paid', '"paid": paid'),
        ('append(item["reimbursed_eur"])', 'append(item["paid"])'),
        ("sum(r['reimbursed_eur'] for", "sum(r['paid'] for"),
    )
    flaws = [
        Flaw("limit_forgotten", {5: rewritten(steps[5], no_limit)}, loss="small"),
        Flaw("duplicates_kept", {5: rewritten(steps[5], no_dedup)}, loss="large"),
        Flaw("receipts_ignored", {5: rewritten(steps[5], no_receipts)}, loss="large"),
        Flaw("column_renamed", {5: rewritten(steps[5], renamed)}, loss="large"),
        Flaw("never_run", drop=(6, 7, 8, 9), loss="large"),
    ]
    closing = "Done: approved claims, rejected claims with reasons and the summary by department are in output/."
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="expense_claims",
    bench_category="Productivity & Collaboration",
    settings=(Setting("Office and Daily Tasks", "table and record handling"),),
    operations=(
        "read local files and extract relevant content",
        "filter, sort, and rank records",
        "compute basic statistics and aggregates",
        "write structured results to local files",
        "run scripts or command-line programs",
    ),
    difficulty=2,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("finance and accounting", "office administration", "public and non-profit"),
    skill_words=("spreadsheet", "csv", "invoice", "expense"),
)
