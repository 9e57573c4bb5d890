"""The stage on real verifiers in the real sandbox: what is accepted, what is rejected and why, and that it resumes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.audits import STAGE, accepted_tasks, family_report
from assets.audits import effect as effect_module
from assets.audits.checks import accepted_are_sound, every_task_decided, splits_are_apart
from assets.audits.decision import decide, splits
from assets.audits.lint import in_process, missing_input
from assets.grading import grade_many
from assets.profile import AuditsSection
from assets.stage import Context, run_stage
from assets.tasks import TaskBundle
from lake.errors import SetupError
from tests.audits.bundles import SOUND, checked, context, seeded


def audited(ctx: Context) -> dict[str, dict[str, Any]]:
    run_stage(STAGE, ctx)
    return {row["task_id"]: row for row in ctx.lake.rows("task_status")}


def test_a_sound_task_is_accepted_and_every_probe_is_a_row(tmp_path: Path) -> None:
    ctx = context(tmp_path, [SOUND])
    status = audited(ctx)["orders-s0000"]
    assert (status["status"], status["reasons"], status["split"]) == ("accepted", [], "train")
    rows = {row["probe"]: row for row in ctx.lake.rows("audits")}
    for probe in ("untouched", "empty", "zero_byte", "placeholder", "pasted_instruction"):
        assert rows[probe]["score_code"] == 0.0 and rows[probe]["passed"]
    assert rows["oracle"]["score_code"] == 1.0 and rows["oracle"]["checks"] == rows["repeat"]["checks"]
    mutants = [row for name, row in rows.items() if name.startswith("mutant:")]
    assert len(mutants) >= 10 and all(row["passed"] and row["score_code"] < 1 for row in mutants)
    free = rows["variation:reorder:output/summary.json"]
    assert free["score_code"] == 1.0 and free["passed"] and "reported only" in free["bound"]
    assert rows["lint:missing_input"]["status"] == "not_gradable" and rows["lint:missing_input"]["score_code"] is None
    assert every_task_decided(ctx.lake).passed and accepted_are_sound(ctx.lake).passed
    assert [row["task_id"] for row in accepted_tasks(ctx.lake)] == ["orders-s0000"]
    report = family_report(ctx.lake)
    assert "| orders |  | 1/1 | 1.000 | 0.000 |" in report and "100.0%" in report


NO_ZERO = "paid = float((root / 'output/orders.csv').exists())\n"
SPOILED: dict[str, tuple[TaskBundle, str]] = {
    "pays for nothing": (checked("return {'inputs_there': 1.0, 'a': 0.0, 'b': 0.0}"), "untouched"),
    "pays for an empty file": (checked(NO_ZERO + "return {'exists': paid}"), "zero_byte"),
    "pays for any json": (
        checked(
            "try:\n    value = json.loads((root / 'output/summary.json').read_text())\nexcept (OSError, ValueError):\n"
            "    value = None\nreturn {'parses': float(isinstance(value, dict))}"
        ),
        "placeholder",
    ),
    "pays for the instruction": (
        checked(
            "path = root / 'output/summary.json'\ntext = path.read_text() if path.exists() else ''\n"
            "return {'mentions': float('total' in text)}"
        ),
        "pasted_instruction",
    ),
    "nobody can satisfy it": (checked("return {'impossible': 0.0}"), "oracle"),
    "crashes on nothing": (checked("(root / 'output/orders.csv').read_text()\nreturn {'a': 1.0}"), "untouched"),
    "looks at one file only": (
        checked(
            "path = root / 'output/orders.csv'\nboth = path.exists() and (root / 'output/summary.json').exists()\n"
            "return {'a': float(both and path.read_bytes() == b'name,count\\nb,5\\nc,4\\na,3\\n')}"
        ),
        "mutants: ",
    ),
    "names an absent input": (
        replace(SOUND, instruction=SOUND.instruction + "Use input/logs/usage.log too.\n"),
        "lint:missing_input",
    ),
    "runs the agent's code in its own process": (
        checked("import runpy\nif (root / 'x.py').exists(): runpy.run_path(str(root / 'x.py'))\nreturn {'a': 0.0}"),
        "lint:in_process",
    ),
}


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Context, dict[str, dict[str, Any]]]:
    bundles = [
        # The oracle and its mutants are tried where the fault is theirs.
        replace(
            bundle,
            task_id=f"orders-s{seed:04d}",
            seed=seed,
            oracle=bundle.oracle if reason in ("oracle", "mutants: ") else None,
        )
        for seed, (bundle, reason) in enumerate(SPOILED.values(), 1)
    ]
    ctx = context(tmp_path_factory.mktemp("spoiled"), bundles)
    return ctx, audited(ctx)


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_task_is_rejected_for_its_fault(
    spoiled: tuple[Context, dict[str, dict[str, Any]]], name: str
) -> None:
    _, statuses = spoiled
    status = statuses[f"orders-s{list(SPOILED).index(name) + 1:04d}"]
    assert status["status"] == "rejected" and status["split"] is None
    assert any(reason.startswith(SPOILED[name][1]) for reason in status["reasons"]), status["reasons"]


def test_a_crash_is_told_apart_from_a_zero(spoiled: tuple[Context, dict[str, dict[str, Any]]]) -> None:
    ctx, _ = spoiled
    crashed = f"orders-s{list(SPOILED).index('crashes on nothing') + 1:04d}"
    row = next(r for r in ctx.lake.rows("audits") if r["task_id"] == crashed and r["probe"] == "untouched")
    assert row["status"] == "verifier_error" and row["score_code"] is None and not row["passed"]
    assert "FileNotFoundError" in row["detail"]


def test_nothing_rejected_is_offered(spoiled: tuple[Context, dict[str, dict[str, Any]]]) -> None:
    ctx, _ = spoiled
    assert accepted_tasks(ctx.lake) == []
    assert not every_task_decided(ctx.lake).passed  # nothing accepted at all is a fault of the whole


def test_a_verifier_that_changes_its_mind_fails_the_repeat(tmp_path: Path) -> None:
    body = "import time\nreturn {'a': float(time.time_ns() % 1000) / 1000}"
    ctx = context(tmp_path, [replace(checked(body), oracle=None)])
    status = audited(ctx)["orders-s0000"]
    assert "repeat" in status["reasons"]


def test_paths_that_cannot_be_laid_out_reject_the_task(tmp_path: Path) -> None:
    ctx = context(tmp_path, [replace(SOUND, inputs={**SOUND.inputs, "../../etc/cron.d/x": b"x"})])
    status = audited(ctx)["orders-s0000"]
    assert "untouched" in status["reasons"]
    row = next(r for r in ctx.lake.rows("audits") if r["probe"] == "untouched")
    assert row["status"] == "not_gradable" and "../../etc/cron.d/x" in row["detail"]


def test_a_second_run_does_nothing_and_a_killed_one_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = context(tmp_path, [SOUND, seeded(1)])
    runs = 0
    real = grade_many

    def counting(*arguments: Any, **named: Any) -> Any:
        nonlocal runs
        runs += 1
        if runs == 2:
            raise SetupError("the sandbox broke")
        return real(*arguments, **named)

    monkeypatch.setattr(effect_module, "grade_many", counting)
    with pytest.raises(SetupError):
        run_stage(STAGE, ctx)
    ctx.lake.commit()
    kept = ctx.lake.event_counts(["audit.probed"])["audit.probed"]
    assert kept > 0 and "task.assigned" not in ctx.lake.event_counts(["task.assigned"])
    first = run_stage(STAGE, ctx)
    assert first.effect["accepted"] == 2
    total = ctx.lake.event_counts(["audit.probed"])["audit.probed"]
    assert first.effect["probes"] == total - kept
    # The second task has the same verifier and the same workspaces: only its repeat is a run of its own.
    assert first.effect["cached"] > 10
    before = runs
    again = run_stage(STAGE, ctx)
    assert (again.effect["probes"], again.effect["found"], runs) == (0, 2, before)
    assert again.built.skipped


def test_an_acceptance_cut_off_before_its_split_is_completed(tmp_path: Path) -> None:
    ctx = context(tmp_path, [SOUND])
    (row,) = ctx.lake.rows("tasks")
    key = f"{row['task_id']}@{row['task_version']}"
    with ctx.lake.spool("tests") as spool:
        payload = {"task_id": row["task_id"], "task_version": row["task_version"], "reasons": [], "bounds": {}}
        spool.stream("decision", key).emit("task.accepted", payload)
    ctx.lake.commit()
    assert audited(ctx)["orders-s0000"]["split"] == "train"
    assert [e.type for e in ctx.lake.events(stream_kind="decision")] == ["task.accepted", "task.assigned"]


def test_splits_follow_the_place_of_a_seed_and_never_move() -> None:
    bounds = AuditsSection()
    tasks = [{"task_id": f"{f}-{s}", "family": f, "seed": s} for f in ("x", "y") for s in range(8)]
    placed = splits(tasks, bounds)
    assert [placed[f"x-{s}"] for s in range(8)] == ["train", "train", "validation", "bench:demo"] * 2
    fewer = splits(tasks[:3], bounds)
    assert all(placed[task] == split for task, split in fewer.items())
    loose = [{"task_id": f"import-{n}", "family": None, "seed": None} for n in range(200)]
    counts = [list(splits(loose, bounds).values()).count(s) for s in ("train", "validation", "bench:demo")]
    assert min(counts) > 20 and counts[0] > counts[1]
    assert splits(loose[50:60], bounds).items() <= splits(loose, bounds).items()


def test_bench_and_train_do_not_share_a_task(tmp_path: Path) -> None:
    cases = [seeded(n, instruction=SOUND.instruction + f"Case {n}.\n", oracle=None) for n in range(4)]
    ctx = context(tmp_path, cases)
    audited(ctx)
    assert [len(accepted_tasks(ctx.lake, s)) for s in ("train", "validation", "bench:demo", "test")] == [2, 1, 1, 0]
    assert splits_are_apart(ctx.lake).passed


def test_an_imported_verifier_that_runs_agent_code_is_flagged_and_kept_from_the_bench(tmp_path: Path) -> None:
    source = SOUND.reward["check.py"] + b"\n\ndef unused(path):\n    import runpy\n    runpy.run_path(path)\n"
    imported = [
        replace(
            SOUND, task_id=f"task_{n:04d}", family=None, seed=None, origin="import:bundle", route="import",
            reward={"check.py": source}, oracle=None, instruction=SOUND.instruction + f"Case {n}.\n",
        )
        for n in range(4)
    ]  # fmt: skip
    ctx = context(tmp_path, imported, bench_every=1)  # every place is the bench's
    assert {row["split"] for row in audited(ctx).values()} == {"train"}
    flags = [row for row in ctx.lake.rows("audits") if row["probe"] == "lint:in_process"]
    assert [row["passed"] for row in flags] == [False] * 4 and "runpy.run_path" in flags[0]["detail"]


def test_the_bound_on_mutants_is_a_share() -> None:
    rows = [{"probe": f"mutant:x:{n}", "passed": n > 0} for n in range(20)]
    assert decide(rows, AuditsSection()).accepted
    worse = [{**row, "passed": n > 1} for n, row in enumerate(rows)]
    assert decide(worse, AuditsSection()).reasons == ["mutants: 18 of 20 noticed"]
    assert decide([{"probe": "lint:in_process", "passed": False}], AuditsSection(), {"lint:in_process"}).accepted


def test_lints_see_what_a_verifier_names_and_runs() -> None:
    bundle = checked("return {'a': float((root / 'input/missing.csv').exists())}")
    assert missing_input(bundle) == ["input/missing.csv"]
    assert missing_input(SOUND) == [] and in_process(SOUND) == []
    assert in_process(checked("return eval('{}')")) == ["check.py:5 eval"]


def test_an_unsound_acceptance_is_caught_by_the_check(tmp_path: Path) -> None:
    ctx = context(tmp_path, [SOUND])
    (row,) = ctx.lake.rows("tasks")
    with ctx.lake.spool("tests") as spool:
        stream = spool.stream("decision", f"{row['task_id']}@{row['task_version']}")
        shared = {"task_id": row["task_id"], "task_version": row["task_version"]}
        stream.emit("task.accepted", {**shared, "reasons": [], "bounds": {}})
        stream.emit("task.assigned", {**shared, "split": "train"})
    ctx.lake.commit()
    ctx.lake.build(STAGE.projection)
    outcome = accepted_are_sound(ctx.lake)
    assert not outcome.passed and "reference solution" in outcome.detail
