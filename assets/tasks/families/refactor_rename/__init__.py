"""Family `refactor_rename`: names of a small package change everywhere they are meant, and nowhere else.

Belongs here: the generator. The package is in `package/`, with «…» around each name that can be renamed; the verifier
is `check.py`.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip, Step
from assets.tasks.route import edit, look, plan, read, run, verify, write

TESTS: Final = "PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover -s tests -t ."
FILES: Final = {
    "stock/__init__.py": "init", "stock/models.py": "models", "stock/pricing.py": "pricing",
    "stock/store.py": "store", "stock/report.py": "report", "stock/cli.py": "cli", "tests/test_stock.py": "tests",
    "docs/usage.md": "usage", "README.md": "readme",
}  # fmt: skip
NAMES: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "total": ("method", "models.Cart", ("goods_total", "sum_of_goods", "net_total")),
    "price_of": ("function", "pricing", ("gross_price", "price_with_tax", "unit_price")),
    "parse_line": ("function", "store", ("item_from_row", "read_row", "row_to_article")),
    "Item": ("class", "models", ("Article", "StockItem", "Product")),
    "DEFAULT_RATE": ("constant", "pricing", ("STANDARD_RATE", "USUAL_TAX", "TAX_PERCENT")),
    "qty": ("field", "models.Item", ("on_hand", "pieces", "quantity")),
    "load": ("function", "store", ("load_articles", "read_stock", "stock_from_csv")),
}
"""Old name → kind, where, new names to choose from."""


@dataclass(frozen=True)
class Rename:
    """A row of the list."""

    kind: str
    where: str
    old: str
    new: str
    alias: bool

    @property
    def label(self) -> str:
        """`where.old`."""
        return f"{self.where}.{self.old}"


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    renames = _renames(rng)
    values = {"fee": rng.randint(2, 9) * 50, "rate": rng.choice((7, 10, 19, 20, 21, 25)), "cents": rng.randint(11, 99)}
    values["many"] = rng.randint(6, 40)
    marked = {
        path: Template(Path(__file__).with_name("package").joinpath(f"{name}.txt").read_text("utf-8")).substitute(
            values
        )
        for path, name in FILES.items()
    }
    old = {path: re.sub("[«»]", "", text) for path, text in marked.items()}
    new = {path: _renamed(text, renames) + _aliases(path, renames) for path, text in marked.items()}
    version = f"{rng.randint(1, 4)}.{rng.randint(0, 9)}"
    history = f"## {version}\n\n- Add `pricing.price_of` and `models.Item`.\n- `load` is faster.\n"
    entries = "".join(f"- Rename `{r.label}` to `{r.new}`.\n" for r in renames)
    listed = "".join(f"{r.kind},{r.where},{r.old},{r.new},{'yes' if r.alias else 'no'}\n" for r in renames)
    settings = {"price_of": {"nut": 7, "bolt": 0}, "load": "data/stock.csv", "total": True}
    inputs = old | {
        "CHANGELOG.md": f"# Changelog\n\n## Unreleased\n\n{history}",
        "data/stock.csv": f"name,cents,qty\nnut,{values['cents']},{values['many']}\nbolt,7,120\n",
        "data/settings.json": json.dumps(settings, indent=2) + "\n",
        "refactor/renames.csv": f"kind,where,old,new,alias\n{listed}",
    }
    touched = sorted((r.label, path) for r in renames for path, text in marked.items() if f"«{r.old}»" in text)
    oracle = {path: text for path, text in new.items() if text != old[path]} | {
        "CHANGELOG.md": f"# Changelog\n\n## Unreleased\n\n{entries}\n{history}",
        "output/touched.csv": "name,file\n" + "".join(f"{name},{path}\n" for name, path in touched),
    }
    text = told(__file__, opening=opening(rng, persona, "Some names in our package were badly chosen and have to go."))
    places = [place for path, content in marked.items() for place in _places(path, content, renames)]
    editable = (*FILES, "CHANGELOG.md")
    return Draft(text, inputs, oracle, {"PLACES": places}, _plan(rng, renames, inputs, oracle), editable)


def _renames(rng: random.Random) -> list[Rename]:
    """All names but one in a mixed order; one function keeps its old name beside the new one."""
    left_out = rng.choice(("total", "price_of", "parse_line", "DEFAULT_RATE"))
    chosen = [old for old in rng.sample(sorted(NAMES), len(NAMES)) if old != left_out]
    alias = rng.choice([old for old in chosen if NAMES[old][0] == "function"])
    return [Rename(NAMES[o][0], NAMES[o][1], o, rng.choice(NAMES[o][2]), o == alias) for o in chosen]


def _renamed(marked: str, renames: list[Rename]) -> str:
    names = {r.old: r.new for r in renames}
    return re.sub("«(.*?)»", lambda match: names.get(match[1], match[1]), marked)


def _aliases(path: str, renames: list[Rename]) -> str:
    mine = [r for r in renames if r.alias and path == f"stock/{r.where}.py"]
    return "".join(f"\n\n{r.old} = {r.new}\n" for r in mine)


def _places(path: str, marked: str, renames: list[Rename]) -> list[tuple[str, int, int, str]]:
    """Where an old name stands that is meant: path, line from 0, column, name."""
    names = {r.old for r in renames}
    found = []
    for number, line in enumerate(marked.split("\n")):
        for i, match in enumerate(re.finditer("«(.*?)»", line)):
            if match[1] in names:
                found.append((path, number, match.start() - 2 * i, match[1]))
    return found


def _change(path: str, before: str, after: str, say: str = "") -> Step:
    """An edit by whole lines where they are unique, else the whole file."""
    lines = before.split("\n")
    pairs = [(a, b) for a, b in zip(lines, after.split("\n"), strict=False) if a != b]
    done = before
    for a, b in pairs:
        done = done.replace(a, b)
    if any(before.count(a) != 1 for a, _ in pairs) or done != after:
        return write(path, after, say)
    return edit(path, pairs, say)


def _plan(rng: random.Random, renames: list[Rename], inputs: dict[str, str], oracle: dict[str, str]) -> Plan:
    files = rng.sample(list(FILES), len(FILES))
    search = f"grep -nrwE '{'|'.join(r.old for r in renames)}' stock tests docs README.md"
    steps = [
        look(rng.choice(("find . -type f | sort", "ls -R ."))),
        read("refactor/renames.csv", "What gets which name?"),
        run(f"{TESTS} 2>&1 | tail -4", "The tests before I touch anything.", phase="check"),
        run(search, "Every place where one of the words stands; not all of them are meant.", phase="explore"),
    ]
    at = {}
    for path in files:
        steps.append(_change(path, inputs[path], oracle[path], f"{path}, place by place."))
        at[path] = len(steps) - 1
    log = len(steps)
    entries = "".join(f"- Rename `{r.label}` to `{r.new}`.\n" for r in renames)
    steps += [
        edit("CHANGELOG.md", [("## Unreleased\n\n", f"## Unreleased\n\n{entries}\n")], "The changelog."),
        write("output/touched.csv", oracle["output/touched.csv"], beside=True),
        run(f"{TESTS} 2>&1 | tail -4", "Do the tests pass?", phase="check"),
        verify(f"{search}; cat output/touched.csv", "What is left must be words, keys and locals."),
    ]
    slips = [
        Slip(1, read("refactor/renames.json"), "It is a CSV file."),
        Slip(log, run("python3 -m pytest -q tests"), "There is no pytest here; unittest, then."),
    ]
    names = {r.old: r.new for r in renames}
    word = re.compile(r"\b(" + "|".join(names) + r")\b")
    blind = {at[p]: write(p, word.sub(lambda m: names[m[1]], inputs[p])) for p in files}
    documents = (at["docs/usage.md"], at["README.md"])
    modules = tuple(at[path] for path in files if path.startswith(("stock/", "tests/")))
    flaws = [
        Flaw("every_word_replaced", blind, loss="large"),
        Flaw("documents_forgotten", drop=documents, loss="small"),
        Flaw("changelog_and_record_forgotten", drop=(log, log + 1), loss="small"),
        Flaw("tests_not_adapted", drop=(at["tests/test_stock.py"],), loss="small"),
        Flaw("only_documents_changed", drop=modules, loss="large"),
    ]
    return plan(steps, slips, flaws, "Everything has its new name, the tests pass; output/touched.csv says where.")


FAMILY = Family(
    name="refactor_rename",
    bench_category="Software Development",
    settings=(
        Setting("Software Development", "code review and refactoring"),
        Setting("Systems and Infrastructure", "DevOps and continuous delivery"),
    ),
    operations=(
        "inspect files and directories",
        "inspect code or configuration files",
        "modify code or configuration files",
        "edit or rewrite existing local documents",
        "run tests or validation commands",
    ),
    difficulty=3,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("software engineering", "it operations"),
    skill_words=("refactor", "rename", "python", "coding"),
)
