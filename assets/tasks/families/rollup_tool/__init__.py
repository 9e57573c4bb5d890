"""Family `rollup_tool`: write a command-line tool to a specification whose details change with the seed.

Belongs here: the generator. `SPEC.md` and `test_rollup.py.txt` are what the agent finds, `solve.py` is the reference
tool, `check.py` the verifier.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from string import Template
from typing import Any, Final

from assets.personas import Persona
from assets.tasks.families.pools import opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

REGIONS: Final = ("north", "south", "east", "west", "coast")
PRODUCTS: Final = ("lamp", "kettle", "chair", "tent", "scarf")
STATES: Final = ("done", "open", "void", "held")
MISSING: Final = (
    ("Empty cells, `n/a`", ("", "n/a")),
    ("Empty cells, `-`", ("", "-")),
    ("Empty cells, `none`", ("", "none")),
)
TESTS: Final = "python3 -m unittest discover -s tests -t ."


@dataclass(frozen=True)
class Sale:
    """One row as it is meant."""

    region: str
    product: str
    state: str
    amount: Decimal | None
    units: int


@dataclass(frozen=True)
class Rules:
    """What the seed puts into the specification."""

    delimiter: str
    code: int
    nulls_first: bool
    missing: tuple[str, tuple[str, ...]]


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    rules = Rules(rng.choice((",", ";", "|")), rng.choice((2, 3, 4)), rng.random() < 0.5, rng.choice(MISSING))
    day = date(2026, rng.randint(1, 9), 1)
    months = {f"data/sales-{i}.csv": _sales(rng, rng.randint(14, 20)) for i in (1, 2, 3)}
    keep, limit, descending = sorted(rng.sample(STATES, 2)), rng.randint(4, 6), rng.random() < 0.6
    config = _config(keep, descending, limit)
    values = {
        "delimiter": rules.delimiter, "code": rules.code, "missing": rules.missing[0],
        "nulls": "first" if rules.nulls_first else "last",
    }  # fmt: skip
    here = Path(__file__)
    spec, tests = (
        Template(here.with_name(name).read_text("utf-8")).substitute(values)
        for name in ("SPEC.md", "test_rollup.py.txt")
    )
    inputs = {path: _csv(rng, rows, rules) for path, rows in months.items()}
    inputs |= {"data/readme.txt": "Monthly exports; one file a region office.\n", "config/report.toml": config}
    inputs |= {"docs/SPEC.md": spec, "tests/__init__.py": "", "tests/test_rollup.py": tests}
    tool = script(__file__, DELIMITER=rules.delimiter, ERROR=rules.code, NULLS_FIRST=rules.nulls_first)
    report, facts = _report([row for rows in months.values() for row in rows], keep, descending, limit, rules)
    oracle = {
        "tools/rollup.py": tool,
        "output/report.json": json.dumps(report, ensure_ascii=False) + "\n",
        "output/facts.json": json.dumps(facts, indent=2) + "\n",
    }
    constants = {
        "DELIMITER": rules.delimiter, "CODE": rules.code, "NULLS_FIRST": rules.nulls_first, "CASES": _cases(rng, rules),
    }  # fmt: skip
    errand = "I need a small command-line tool that rolls up our exports."
    text = told(__file__, opening=opening(rng, persona, errand), month=f"{day:%B %Y}")
    return Draft(text, inputs, oracle, constants, _plan(rng, tool, facts, rules))


def _sales(rng: random.Random, count: int) -> list[Sale]:
    """Rows; one region has no amount at all, so that null has to be placed."""
    rows = []
    for _ in range(count):
        region = rng.choice(REGIONS)
        amount = None if region == "coast" or rng.random() < 0.12 else Decimal(rng.randint(100, 90_000)) / 100
        product = "lamp" if region == "coast" else rng.choice(PRODUCTS)
        rows.append(Sale(region, product, rng.choice(STATES), amount, rng.randint(1, 40)))
    return [*rows, *(Sale("coast", "lamp", state, None, rng.randint(1, 9)) for state in STATES)]


def _csv(rng: random.Random, rows: list[Sale], rules: Rules) -> str:
    lines = [rules.delimiter.join(("region", "product", "state", "amount", "units"))]
    for row in rows:
        amount = rng.choice(rules.missing[1]) if row.amount is None else f"{row.amount:.2f}"
        cells = [row.region, row.product, row.state, amount, str(row.units)]
        lines.append(rules.delimiter.join(rng.choice((cell, cell, cell, f" {cell}", f"{cell} ")) for cell in cells))
    return "\n".join(lines) + "\n"


def _config(keep: list[str], descending: bool, limit: int) -> str:
    return f"""# monthly report
[source]
folder = "data"
pattern = "*.csv"

[filter]
column = "state"
keep = {json.dumps(keep)}

[group]
by = ["region", "product"]

[[measure]]
name = "orders"
op = "count"

[[measure]]
name = "revenue"
op = "sum"
column = "amount"

[[measure]]
name = "mean_units"
op = "mean"
column = "units"
decimals = 3

[sort]
by = "revenue"
descending = {str(descending).lower()}
limit = {limit}
"""


def _report(
    rows: list[Sale], keep: list[str], descending: bool, limit: int, rules: Rules
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The report for config/report.toml from the rows as they are meant, and its figures."""
    kept = [row for row in rows if row.state in keep]
    items: list[tuple[Any, ...]] = []
    for region in REGIONS:
        for product in PRODUCTS:
            group = [row for row in kept if (row.region, row.product) == (region, product)]
            if group:
                amounts = [row.amount for row in group if row.amount is not None]
                revenue = sum(amounts, Decimal(0)) if amounts else None
                units = round(sum(row.units for row in group) / len(group), 3)
                rank = Decimal(0) if revenue is None else -revenue if descending else revenue
                items.append(
                    ((revenue is None) != rules.nulls_first, rank, region, product, len(group), revenue, units)
                )
    items.sort(key=lambda item: item[:4])
    report = [
        {"region": r, "product": p, "orders": n, "revenue": None if v is None else float(v), "mean_units": u}
        for _, _, r, p, n, v, u in items[:limit]
    ]
    return report, {"files": 3, "rows": len(rows), "kept": len(kept), "groups": len(items)}


def _cases(rng: random.Random, rules: Rules) -> dict[str, dict[str, Any]]:
    """Hidden settings and files, each with its weight on one part of the specification."""
    d = rules.delimiter
    source = '[source]\nfolder = "in/x"\npattern = "p*.csv"\n'
    odd = (" Ulm ,a,y, 7.5 ", "Jena,c,n,12 kg", "Jena,c,y,five", "Trier,a,y,1", "Trier,b,n,2", "Trier,c,,2")
    files = {}
    for i in (1, 2):
        lines = ["city,kind,flag,value"]
        for _ in range(rng.randint(9, 14)):
            value = rng.choice(
                (f"{rng.randint(-90, 90) / 4:.2f}", f"{rng.randint(1, 99)}", "?", rules.missing[1][1], "")
            )
            lines.append(
                f"{rng.choice(('Ulm', 'Bonn', 'Köln'))},{rng.choice('abc')},{rng.choice(('y', 'n', ''))},{value}"
            )
        files[f"in/x/p{i}.csv"] = "\n".join([*lines, *odd, ""]).replace(",", d)
    files |= {"in/x/q9.csv": d.join(("city", "other")) + "\n" + d.join(("Ulm", "1")) + "\n"}
    count = '[[measure]]\nname = "n"\nop = "count"\n'
    value = "".join(
        f'[[measure]]\nname = "{op}_value"\nop = "{op}"\ncolumn = "value"\n' for op in ("min", "max", "sum", "mean")
    )
    by_city, by_both = '[group]\nby = ["city"]\n', '[group]\nby = ["kind", "city"]\n'
    up = "false" if rng.random() < 0.5 else "true"
    configs = {
        "filter": f'{source}[filter]\ncolumn = "flag"\nkeep = ["y", ""]\n{by_both}{count}',
        "measures": f"{source}{by_city}{value.replace('op = ', 'decimals = 3' + chr(10) + 'op = ')}{count}",
        "sort": f'{source}{by_both}{count}{value}[sort]\nby = "n"\ndescending = {up}\nlimit = 4\n',
        "missing": f'{source}{by_city}{count}{value}[sort]\nby = "max_value"\ndescending = true\n',
        "defaults": f"{source}{by_city}{count}",
    }
    sound = configs["defaults"]
    faulty = [
        sound.replace("count", "median"), sound.replace('"city"', '"town"'), sound.replace("p*.csv", "z*.csv"),
        sound.replace("[group]", "[group"), f'{sound}[sort]\nby = "m"\n',
        f'{sound}[filter]\ncolumn = "x"\nkeep = ["y"]\n',
        sound.replace("p*.csv", "*.csv").replace('["city"]', '["city", "kind"]'),
    ]  # fmt: skip
    cases: dict[str, dict[str, Any]] = {name: {"config": text, "files": files} for name, text in configs.items()}
    return cases | {"errors": {"configs": faulty}}


def _plan(rng: random.Random, tool: str, facts: dict[str, int], rules: Rules) -> Plan:
    steps = [
        look(rng.choice(("find . -type f | sort", "ls -R ."))),
        read("docs/SPEC.md", "The specification first."),
        read("config/report.toml", "Settings, tests and a look at the data.", beside=False),
        read("tests/test_rollup.py", beside=True),
        run("head -4 data/*.csv; wc -l data/*.csv", "How do the files look?", phase="explore"),
        write("tools/rollup.py", tool, "Now the tool, section by section of the specification."),
        run(f"{TESTS} 2>&1 | tail -5", "The tests.", phase="check"),
        run("python3 tools/rollup.py config/report.toml output/report.json", "They pass; now the report."),
        run("cat data/*.csv | grep -vc '^region'; sed 's/limit = .*//' config/report.toml > /tmp/all.toml;"
            " python3 tools/rollup.py /tmp/all.toml /tmp/all.json", "The figures for facts.json, without the limit."),
        write("output/facts.json", json.dumps(facts, indent=2) + "\n", "Rows, kept rows and groups are known now."),
        verify("cat output/report.json output/facts.json", "Look at the result."),
        verify("printf '[source' > /tmp/bad.toml; python3 tools/rollup.py /tmp/bad.toml /tmp/x.json; echo status $?;"
               " ls /tmp/x.json; true", "And a faulty setting.", beside=True),
    ]  # fmt: skip
    slips = [
        Slip(1, read("SPEC.md"), "The specification is in docs/."),
        Slip(6, run("python3 -m pytest tests"), "No pytest here; the request says unittest."),
        Slip(
            7, run("python3 tools/rollup.py config/reports.toml output/report.json"), "A slip in the name: report.toml."
        ),
    ]
    decimals = changed(tool, ('spec.get("decimals", 2)', "2"))
    nulls = changed(tool, ("if NULLS_FIRST else known", "if not NULLS_FIRST else known"))
    anything = changed(
        tool, ("cell.strip() for cell in row)", "cell for cell in row)"), ("return ERROR", "return 1"),
    )  # fmt: skip
    flaws = [
        Flaw("decimals_ignored", {5: rewritten(steps[5], decimals)}, loss="small"),
        Flaw("nulls_at_the_wrong_end", {5: rewritten(steps[5], nulls)}, loss="small"),
        Flaw("cells_not_stripped", {5: rewritten(steps[5], anything)}, loss="large"),
        Flaw("only_the_report", {10: run("rm -r tools output/facts.json", "Tidy up.")}, loss="large"),
    ]
    closing = (
        "tools/rollup.py follows the specification, the tests pass, and the report and its figures are in output/."
    )
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="rollup_tool",
    bench_category="Software Development",
    settings=(
        Setting("Software Development", "code generation and implementation"),
        Setting("Automation and Workflows", "scheduled task execution"),
    ),
    operations=(
        "inspect code or configuration files",
        "run scripts or command-line programs",
        "run tests or validation commands",
        "compute basic statistics and aggregates",
        "write structured results to local files",
    ),
    difficulty=5,
    folder=Path(__file__).parent,
    draft=draft,
    protocol="reward_booleans",
    domains=("software engineering", "it operations", "finance and accounting"),
    skill_words=("python", "coding", "scripts"),
)
