"""Family `bugfix_package`: mend a small package by its failing tests and its specification.

Belongs here: the generator. The functions are in `bank.py`, the verifier is `check.py`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any, Final

from assets.personas import Persona
from assets.tasks.families.bugfix_package.bank import BANK, IMPORTS, MODULES, Fault, Function
from assets.tasks.families.pools import opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip, Step
from assets.tasks.route import edit, look, plan, read, run, verify, write

TESTS: Final = "python3 -m unittest discover -s tests -t ."
CHANGELOG: Final = (
    "# Changelog\n\n## Unreleased\n\n## {version}\n\n- Add `schedule.slot_starts`.\n- Speed up imports.\n"
)


@dataclass(frozen=True)
class Planted:
    """A fault in its function, and whether the tests show it."""

    function: Function
    fault: Fault
    caught: bool

    @property
    def label(self) -> str:
        """`module.function`."""
        return f"{self.function.module}.{self.function.name}"


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    values = _values(rng)
    planted, calls = _planted(rng, values)
    visible = {module: _visible(module, values, planted) for module in MODULES}
    version = f"{rng.randint(0, 3)}.{rng.randint(1, 9)}.{rng.randint(0, 9)}"
    right = {module: _module(module, values, ()) for module in MODULES}
    inputs = {f"src/{module}.py": _module(module, values, planted) for module in MODULES}
    inputs |= {f"tests/test_{module}.py": _tests(module, values, visible[module]) for module in MODULES}
    inputs |= {"src/__init__.py": '"""Parcel tools."""\n', "tests/__init__.py": ""}
    inputs |= {"docs/SPEC.md": _spec(values), "CHANGELOG.md": CHANGELOG.format(version=version)}
    failing = [case for module in MODULES for case in _failing(module, values, planted)]
    names = sorted(f"test_{function.name}_{case}" for function, case in failing)
    ordered = sorted(planted, key=lambda p: (p.function.module, p.function.name))
    entries = "".join(f"- Fix `{p.label}`: {p.fault.words}.\n" for p in ordered)
    rows = "".join(f"{p.function.module},{p.function.name},{'yes' if p.caught else 'no'}\n" for p in ordered)
    oracle = {f"src/{module}.py": text for module, text in right.items() if text != inputs[f"src/{module}.py"]}
    oracle |= {
        "output/failing_before.json": json.dumps(names, indent=2) + "\n",
        "output/fixes.csv": f"module,function,caught_by_tests\n{rows}",
        "CHANGELOG.md": inputs["CHANGELOG.md"].replace("## Unreleased\n\n", f"## Unreleased\n\n{entries}\n"),
    }
    errand = "The parcel package has faults that I need mended before the release."
    text = told(__file__, opening=opening(rng, persona, errand), closing=rng.choice(_CLOSINGS))
    faults = sorted(p.label for p in planted), [p.label for p in planted if not p.caught]
    constants = {
        "VALUES": values,
        "FAULTY": faults[0],
        "HIDDEN": faults[1],
        "CALLS": calls,
    }
    editable = (*(f"src/{module}.py" for module in MODULES), "CHANGELOG.md")
    return Draft(text, inputs, oracle, constants, _plan(rng, ordered, oracle, values, names), editable)


_CLOSINGS: Final = (
    "When you are done, all tests must pass.",
    "Please run the tests once more at the end; they must all pass.",
    "I will run the tests myself afterwards, and a few of my own.",
)


def _values(rng: random.Random) -> dict[str, Any]:
    band = rng.randint(2, 5)
    fee = rng.randint(300, 600)
    weights = rng.choice(((3, 1), (1, 3), (7, 3), (3, 7)))
    return {
        "DIVISOR": rng.choice((4000, 5000, 6000)), "BAND1": band, "BAND2": band + rng.randint(4, 8), "FEE1": fee,
        "FEE2": fee + rng.randint(150, 400), "EXTRA": rng.randint(40, 95), "MANY": rng.randint(5, 20),
        "PERCENT": rng.randint(4, 15), "W1": weights[0], "W2": weights[1],
        "PREFIX": rng.choice(("PX", "KR", "TN", "ZU")), "LENGTH": rng.choice((6, 7, 8)),
    }  # fmt: skip


def _planted(rng: random.Random, values: dict[str, Any]) -> tuple[list[Planted], list[list[Any]]]:
    """One fault in each module that the tests show, one more that they do not, and calls that show all of them.

    Functions call each other, so a choice counts only if it turns out that way when tests and calls are run on it.
    """
    while True:
        chosen = [rng.choice([f for f in BANK if f.module == module]) for module in MODULES]
        planted = [Planted(f, rng.choice(f.faults), True) for f in chosen]
        other = rng.choice([f for f in BANK if f not in chosen])
        planted.append(Planted(other, rng.choice(other.faults), False))
        failing = {f.name for module in MODULES for f, _ in _failing(module, values, planted)}
        shown = {f.name for f, _ in _visible(other.module, values, planted)}
        calls = _calls(rng, values)
        telling = all(any(_shows(item, call, values, planted) for call in calls) for item in planted)
        if telling and failing == {f.name for f in chosen} and other.name in shown:
            return planted, calls


def _fill(text: str, values: dict[str, Any]) -> str:
    return Template(text).substitute(values)


def _module(module: str, values: dict[str, Any], planted: Sequence[Planted]) -> str:
    """Source of a module, with the faults planted in it."""
    text = IMPORTS[module]
    for function in BANK:
        if function.module == module:
            source = function.source
            for item in planted:
                if item.function is function:
                    source = source.replace(item.fault.old, item.fault.new)
            text += "\n" + _fill(source, values)
    return text


@lru_cache(maxsize=256)
def _namespace(source: str) -> dict[str, Any]:
    """Names of a module of ours; nothing in it keeps state, so one copy serves all callers."""
    names: dict[str, Any] = {}
    exec(f"from datetime import date\n{source}", names)
    return names


def _code(values: dict[str, Any], kind: str) -> str:
    """A parcel code of a kind the tests of `is_valid` need."""
    check_digit = _namespace(_module("codes", values, ()))["check_digit"]
    body = "31415926"[: values["LENGTH"] - 1]
    good = body + str(check_digit(body))
    longer = body + "5" + str(check_digit(body + "5"))
    wrong = body + str((check_digit(body) + 1) % 10)
    return str(values["PREFIX"]) + {"GOOD": good, "WRONG": wrong, "LONG": longer}[kind]


def _arguments(function: Function, case: str, values: dict[str, Any]) -> str:
    text = function.cases[case]
    return repr(_code(values, text)) if text in ("GOOD", "WRONG", "LONG") else _fill(text, values)


def _value(source: str, call: str) -> Any:
    return eval(call, _namespace(source))


def _cases(module: str) -> list[tuple[Function, str]]:
    return [(function, case) for function in BANK if function.module == module for case in function.cases]


def _passing(module: str, values: dict[str, Any], planted: list[Planted]) -> list[tuple[Function, str]]:
    """Test cases of a module that do not notice these faults."""
    right, wrong = _module(module, values, ()), _module(module, values, planted)
    calls = [(f, case, f"{f.name}({_arguments(f, case, values)})") for f, case in _cases(module)]
    return [(f, case) for f, case, call in calls if _value(right, call) == _value(wrong, call)]


def _visible(module: str, values: dict[str, Any], planted: list[Planted]) -> list[tuple[Function, str]]:
    """Test cases that are handed out: those that the hidden fault does not break."""
    return _passing(module, values, [item for item in planted if not item.caught])


def _failing(module: str, values: dict[str, Any], planted: list[Planted]) -> list[tuple[Function, str]]:
    """Handed-out test cases that fail on the planted faults."""
    passing = _passing(module, values, planted)
    return [case for case in _visible(module, values, planted) if case not in passing]


def _tests(module: str, values: dict[str, Any], cases: list[tuple[Function, str]]) -> str:
    """Unit tests of a module, one method a case."""
    source = _module(module, values, ())
    names = sorted({function.name for function, _ in cases})
    lines = ["import unittest", *(["from datetime import date"] if module == "schedule" else []), ""]
    lines += [f"from src.{module} import {', '.join(names)}", "", "", f"class {module.title()}Test(unittest.TestCase):"]
    for function, case in cases:
        call = f"{function.name}({_arguments(function, case, values)})"
        value = _value(source, call)
        shown = f"date({value.year}, {value.month}, {value.day})" if isinstance(value, date) else repr(value)
        lines += [f"    def test_{function.name}_{case}(self):", f"        self.assertEqual({call}, {shown})", ""]
    return "\n".join([*lines, "", 'if __name__ == "__main__":', "    unittest.main()", ""])


def _spec(values: dict[str, Any]) -> str:
    lines = ["# Specification of the parcel package", ""]
    for module in MODULES:
        lines += [f"## {module}", ""]
        for function in (f for f in BANK if f.module == module):
            signature = function.source.split("def ")[1].split(":")[0]
            lines += [f"### `{signature}`", "", _fill(function.spec, values), ""]
    return "\n".join(lines)


def _shows(item: Planted, call: list[Any], values: dict[str, Any], planted: list[Planted]) -> bool:
    """Whether a call of the faulty function goes wrong, with all faults in place: one can mask another."""
    module, name, arguments = call
    if name != item.function.name:
        return False
    if name == "delivery_day":
        start, days, free = arguments
        arguments = [date.fromisoformat(start), days, [date.fromisoformat(d) for d in free]]
    right, wrong = (_namespace(_module(module, values, faults)) for faults in ([], planted))
    return bool(right[name](*arguments) != wrong[name](*arguments))


def _calls(rng: random.Random, values: dict[str, Any]) -> list[list[Any]]:
    """Hidden calls of the verifier: boundaries and random arguments; dates as ISO text."""
    band1, band2, many = values["BAND1"], values["BAND2"], values["MANY"]
    day = date(2026, 1, 1) + timedelta(days=rng.randint(0, 300))
    calls: list[list[Any]] = []
    for _ in range(8):
        size = [rng.randint(8, 60) for _ in range(3)]
        calls.append(["pricing", "billable_weight", [rng.randint(2, 300) / 20, *size]])
    calls.append(["pricing", "billable_weight", [2.5, 1, 1, 1]])
    weights = (0.5, band1, band1 + 0.5, band2, band2 + 0.5, band2 + 1, band2 + 3.5)
    calls += [["pricing", "base_fee", [weight]] for weight in weights]
    for count in (1, many - 1, many, many + 1, many + 9):
        calls.append(["pricing", "discounted", [rng.randint(1000, 99999), count]])
    for text in ("zu 12 3", "-a-b-c-", " q1 - 2 - 3 ", "AB9"):
        calls.append(["codes", "normalise", [text]])
    for length in (1, 2, 3, 4, 5, 6):
        calls.append(["codes", "check_digit", ["".join(rng.choices("0123456789", k=length))]])
    calls += [["codes", "check_digit", ["00"]], ["codes", "is_valid", [""]]]
    good = _code(values, "GOOD")
    for code in (good, good.lower(), f" {good[:4]}-{good[4:]} ", good[1:], good + "0"):
        calls.append(["codes", "is_valid", [code]])
    calls += [["codes", "is_valid", [_code(values, "LONG")]], ["codes", "is_valid", [_code(values, "WRONG")]]]
    for days in (0, 1, 2, 3, 5, 9):
        free = [(day + timedelta(days=n)).isoformat() for n in rng.sample(range(1, 9), 2)]
        calls.append(["schedule", "delivery_day", [day.isoformat(), days, free]])
        day += timedelta(days=1)
    for _ in range(6):
        a, b = rng.randint(400, 700), rng.randint(400, 700)
        calls.append(["schedule", "overlap", [[a, a + rng.randint(20, 200)], [b, b + rng.randint(20, 200)]]])
    calls += [["schedule", "overlap", [[600, 660], [660, 700]]], ["schedule", "overlap", [[600, 610], [700, 760]]]]
    for _ in range(4):
        calls.append(["schedule", "slot_starts", [540, 540 + rng.randint(10, 300), rng.choice((15, 20, 45))]])
    calls += [["schedule", "slot_starts", [480, 600, 40]], ["schedule", "slot_starts", [480, 490, 40]]]
    return calls


def _plan(
    rng: random.Random, ordered: list[Planted], oracle: dict[str, str], values: dict[str, Any], names: list[str]
) -> Plan:
    order = rng.sample(MODULES, 3)
    steps = [
        look(rng.choice(("find . -type f | sort", "ls -R .", "ls src tests docs && cat CHANGELOG.md"))),
        run(f"{TESTS} 2>&1 | tail -60", "First the tests, before I change anything.", phase="check"),
        read("docs/SPEC.md", "Some fail. The specification is what counts."),
        read(f"src/{order[0]}.py", "Now the three modules, to compare them with it."),
        read(f"src/{order[1]}.py", beside=True),
        read(f"src/{order[2]}.py", beside=True),
    ]
    at: dict[str, int] = {}
    for module in MODULES:
        mine = [p for p in ordered if p.function.module == module]
        pairs = [_pair(p, values) for p in mine]
        say = " ".join(f"`{p.label}` {p.fault.words}." for p in mine)
        steps.append(edit(f"src/{module}.py", pairs, say))
        at |= {p.label: len(steps) - 1 for p in mine}
    entries = "".join(f"- Fix `{p.label}`: {p.fault.words}.\n" for p in ordered)
    steps += [
        run(f"{TESTS} 2>&1 | tail -5", "The tests again.", phase="check"),
        write("output/failing_before.json", oracle["output/failing_before.json"], "All pass. Now the record of it."),
        write("output/fixes.csv", oracle["output/fixes.csv"], beside=True),
        edit("CHANGELOG.md", [("## Unreleased\n\n", f"## Unreleased\n\n{entries}\n")], beside=True),
        verify(f"cat output/fixes.csv CHANGELOG.md && {TESTS} 2>&1 | tail -3", "A last look at everything."),
    ]
    hidden = next(p for p in ordered if not p.caught)
    caught = [p for p in ordered if p.caught]
    without_hidden = _without(steps[at[hidden.label]], hidden, values)
    only_caught = {at[hidden.label]: without_hidden} if without_hidden else {}
    dropped = () if without_hidden else (at[hidden.label],)
    fixes = "module,function,caught_by_tests\n" + "".join(
        f"{p.function.module},{p.function.name},yes\n" for p in caught
    )
    slips = [
        Slip(1, run("python3 -m pytest -q tests"), "pytest is not installed here; unittest it is."),
        Slip(at[ordered[0].label], edit(f"src/{ordered[0].function.module}.py", [("return None  # TODO", "return 0")]),
             "That text is not in the file. I'll take the line as it stands there."),
        Slip(3, read("src/main.py"), "There is no such module; the three are pricing, codes and schedule."),
    ]  # fmt: skip
    flaws = [
        Flaw("hidden_fault_missed", {**only_caught, len(steps) - 4: write("output/fixes.csv", fixes, beside=True)},
             drop=dropped, loss="small"),
        Flaw("changelog_forgotten", drop=(len(steps) - 2,), loss="small"),
        Flaw("failing_tests_not_recorded", {len(steps) - 4: write("output/failing_before.json", "[]\n")}, loss="small"),
        Flaw("nothing_mended", drop=tuple(sorted(set(at.values()))), loss="large"),
    ]  # fmt: skip
    closing = f"All tests pass. Mended: {', '.join(p.label for p in ordered)}; {hidden.label} had no failing test."
    return plan(steps, slips, flaws, closing)


def _pair(item: Planted, values: dict[str, Any]) -> tuple[str, str]:
    """Whole lines of the faulty function, as they are and as they must be; whole lines are unique in their module."""
    wrong = _fill(item.function.source.replace(item.fault.old, item.fault.new), values).splitlines()
    right = _fill(item.function.source, values).splitlines()
    index = next(i for i, (a, b) in enumerate(zip(wrong, right, strict=True)) if a != b)
    return wrong[index], right[index]


def _without(step: Step, item: Planted, values: dict[str, Any]) -> Step | None:
    """The edit without the pair that mends `item`; None if nothing is left."""
    old, _ = _pair(item, values)
    pairs = [(p["oldText"], p["newText"]) for p in step.arguments["edits"] if p["oldText"] != old]
    return edit(step.arguments["path"], pairs, step.say) if pairs else None


FAMILY = Family(
    name="bugfix_package",
    bench_category="Software Development",
    settings=(Setting("Software Development", "debugging and issue fixing"),),
    operations=(
        "inspect code or configuration files",
        "modify code or configuration files",
        "run tests or validation commands",
        "analyze command output or error messages",
        "edit or rewrite existing local documents",
        "write structured results to local files",
    ),
    difficulty=4,
    folder=Path(__file__).parent,
    draft=draft,
    protocol="reward_booleans",
    domains=("software engineering", "it operations"),
    skill_words=("debug", "debugger", "debugging", "python", "coding", "code"),
)
