"""Every family: oracle and plan earn everything, worthless outputs next to nothing, damage is noticed."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter

import pytest

from assets.tasks.families import families
from assets.tasks.formats import format_of
from assets.tasks.lint import families_verifiable, lint, verifier_checks
from assets.tasks.taxonomy import BENCH_CATEGORIES, OFFLINE_OPERATIONS, SCENARIOS
from tests.tasks.runner import (
    CASES,
    FAMILIES,
    PERSONA,
    Verifier,
    bundle,
    flawed,
    follow,
    mutants,
    run_cli,
    sampled,
    workspace,
)


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_oracle_earns_everything_and_untouched_nothing(name: str, seed: int) -> None:
    task = bundle(name, seed)
    with workspace(task.inputs) as root:
        untouched = run_cli(task, root)
    assert set(untouched.values()) <= {0}
    with workspace(task.inputs, task.oracle or {}) as root:
        best = run_cli(task, root)
    assert set(best.values()) <= {1}, best
    names = [key for key in best if key != "reward"]
    assert len(names) >= 7
    if task.verifier_protocol == "reward_booleans":
        assert next(iter(best)) == "reward"
        assert all(isinstance(best[key], bool) for key in names)
    else:
        assert all(isinstance(value, float) for value in best.values())


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_worthless_outputs_earn_next_to_nothing(name: str, seed: int) -> None:
    task = bundle(name, seed)
    verifier = Verifier(task)
    paths = task.expected_outputs
    headers = {p: (task.oracle or {})[p].split(b"\n")[0] + b"\n" for p in paths}
    worthless = {
        "empty workspace": ({},),
        "zero bytes": (task.inputs, dict.fromkeys(paths, b"")),
        "placeholder": (task.inputs, {p: _placeholder(p) for p in paths}),
        "instruction": (task.inputs, {p: task.instruction.encode() for p in paths}),
        "first lines": (task.inputs, headers),
        "an input": (task.inputs, {p: next(iter(task.inputs.values())) for p in paths}),
    }
    for kind, layers in worthless.items():
        with workspace(*layers) as root:
            assert verifier.score(root) < 0.1, (kind, verifier.checks(root))


def _placeholder(path: str) -> bytes:
    kind = path.rsplit(".", 1)[-1]
    return {
        "json": b"{}", "jsonl": b"{}\n", "csv": b"column\nvalue\n", "md": b"# Title\n\nText.\n", "py": b"pass\n",
        "yaml": b"key: value\n", "html": b"<html></html>\n", "ini": b"[section]\nkey = value\n", "toml": b"",
    }.get(kind, b"placeholder\n")  # fmt: skip


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_following_the_plan_earns_everything(name: str, seed: int) -> None:
    task = bundle(name, seed)
    assert task.plan is not None
    with workspace(task.inputs) as root:
        errors = follow(root, task.plan.steps)
        assert not any(errors), errors
        assert Verifier(task).score(root) == 1.0, Verifier(task).checks(root)


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_slips_fail_and_do_no_harm(name: str, seed: int) -> None:
    task = bundle(name, seed)
    assert task.plan is not None
    for slip in task.plan.slips:
        with workspace(task.inputs) as root:
            follow(root, task.plan.steps[: slip.before])
            error = follow(root, [slip.step])[0]
            assert error is not None, slip
            follow(root, task.plan.steps[slip.before :])
            assert Verifier(task).score(root) == 1.0, slip


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_flaws_cost_what_they_say(name: str, seed: int) -> None:
    task = bundle(name, seed)
    assert task.plan is not None
    verifier = Verifier(task)
    for flaw in task.plan.flaws:
        with workspace(task.inputs) as root:
            follow(root, flawed(task.plan, flaw))
            score = verifier.score(root)
        assert score < 1.0, flaw.name
        assert (score >= 0.5) == (flaw.loss == "small"), (flaw.name, flaw.loss, score)


RUN_CODE = ("bugfix_package", "rollup_tool")
"""Families whose verifier starts processes: one seed is enough here, the audits do the rest."""


@pytest.mark.parametrize(("name", "seed"), [c for c in CASES if c[1] == 0 or c[0] not in RUN_CODE])
def test_damaged_outputs_score_below_the_oracle(name: str, seed: int) -> None:
    task = bundle(name, seed)
    oracle = dict(task.oracle or {})
    verifier = Verifier(task)
    stale = dict(bundle(name, seed + 7).oracle or {})
    survivors, total = [], 0
    for path, content in oracle.items():
        found = [*mutants(path, content), ("stale", stale.get(path, content))]
        if path in task.inputs:
            found.append(("unedited", task.inputs[path]))
        with workspace(task.inputs, oracle) as root:
            for mutant, changed in sampled(found, 12 if path.endswith(".py") else 60, f"{task.task_id}{path}"):
                if changed == content:
                    continue
                total += 1
                (root / path).write_bytes(changed)
                if verifier.score(root) >= 1.0:
                    survivors.append(f"{path} {mutant}")
        moved = {p: c for p, c in oracle.items() if p != path} | {f"final/{path}": content}
        if path not in task.inputs:
            total += 1
            with workspace(task.inputs, moved) as root:
                assert verifier.score(root) < 1.0, path
    assert len(survivors) <= 0.05 * total, (total, survivors)


@pytest.mark.parametrize("name", FAMILIES)
def test_other_formatting_is_not_punished(name: str) -> None:
    task = bundle(name, 0)
    verifier = Verifier(task)
    reformatted = {path: _reformatted(path, content.decode()) for path, content in (task.oracle or {}).items()}
    with workspace(task.inputs, reformatted) as root:
        assert verifier.score(root) == 1.0, verifier.checks(root)


def _reformatted(path: str, text: str) -> bytes:
    if path.endswith(".json"):
        return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=True).encode()
    if path.endswith(".jsonl"):
        return "".join(f"{json.dumps(json.loads(line), sort_keys=True)}\r\n" for line in text.splitlines()).encode()
    if path.endswith(".csv"):
        buffer = io.StringIO()
        csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows(csv.reader(io.StringIO(text)))
        return buffer.getvalue().encode()
    if path.endswith(".md"):
        text = re.sub(r"^(#+ .*)$", r"\1\n", text, flags=re.MULTILINE)
        text = re.sub(r"^\| -.*$", lambda m: m[0].replace("---", ":-----"), text, flags=re.MULTILINE)
        return f"{text.rstrip()}\n\n\n".encode()
    return text.encode()


@pytest.mark.parametrize("name", FAMILIES)
def test_changed_inputs_do_not_make_wrong_outputs_right(name: str) -> None:
    """Outputs that fit another seed's inputs, with those inputs put in place of ours."""
    task, other = bundle(name, 0), bundle(name, 1)
    with workspace(task.inputs, other.inputs, other.oracle or {}) as root:
        assert Verifier(task).score(root) < 0.5
    with workspace(task.inputs, task.oracle or {}) as root:
        verifier = Verifier(task)
        kept = next(path for path in sorted(task.inputs) if path not in verifier.names["EDITABLE"])
        (root / kept).write_bytes(task.inputs[kept] + b"\n")
        checks = verifier.checks(root)
    assert [key for key, value in checks.items() if value < 1] == ["inputs_preserved"]


@pytest.mark.parametrize("name", FAMILIES)
def test_outputs_behind_links_do_not_count(name: str) -> None:
    task = bundle(name, 0)
    with workspace(task.inputs, task.oracle or {}) as root:
        for path in task.expected_outputs:
            (root / path).rename(root / f"elsewhere-{path.replace('/', '-')}")
            (root / path).symlink_to(root / f"elsewhere-{path.replace('/', '-')}")
        assert Verifier(task).score(root) == 0.0


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_bundles_pass_lint(name: str, seed: int) -> None:
    task = bundle(name, seed)
    assert lint(task) == []
    assert families_verifiable(task) == []
    names = verifier_checks(task.reward["check.py"].decode())
    assert len(set(names)) == len(names) >= 6
    assert task.operations and task.difficulty in range(1, 6)


@pytest.mark.parametrize("name", FAMILIES)
def test_same_seed_same_bytes_other_seed_other_answer(name: str) -> None:
    first, again, other = (families()[name].generate(seed, PERSONA) for seed in (3, 3, 4))
    assert first == again
    assert first.task_version == again.task_version != other.task_version
    assert first.inputs != other.inputs
    assert any((first.oracle or {}).get(path) != content for path, content in (other.oracle or {}).items())


def test_families_cover_the_offline_taxonomy() -> None:
    everything = families().values()
    assert {operation for family in everything for operation in family.operations} == set(OFFLINE_OPERATIONS)
    bench = Counter(family.bench_category for family in everything)
    assert set(bench) == set(BENCH_CATEGORIES) and min(bench.values()) >= 2 and max(bench.values()) <= 5
    assert {family.difficulty for family in everything} == {1, 2, 3, 4, 5}
    assert {family.protocol for family in everything} == {"grade_floats", "reward_booleans"}
    formats = {format_of(path, content) for name in FAMILIES for path, content in bundle(name, 0).inputs.items()}
    assert formats >= {"md", "json", "jsonl", "csv", "yaml", "html", "log", "ini", "toml", "py"}
    scenarios = Counter(
        family.settings[seed % len(family.settings)].category for family in everything for seed in range(4)
    )
    assert set(scenarios) == set(SCENARIOS) and max(scenarios.values()) <= 0.125 * scenarios.total() + 1
