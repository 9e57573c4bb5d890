"""Verdicts on attempts as the log states them: graded once, kept for ever, never invented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.grading import Grade, grade
from assets.rollouts import STAGE as ROLLOUTS
from assets.sandbox.folder import materialise, snapshot
from assets.stage import Context, run_stage
from assets.tasks import STAGE as TASKS
from assets.tasks import TaskBundle
from assets.tasks.propose import propose
from assets.verdicts import STAGE, grade_attempts, regrade
from assets.verdicts import effect as effect_module
from assets.verdicts.checks import every_end_has_a_verdict, verdicts_are_sound, verifiers_hold
from lake import rows_table
from lake.errors import SetupError
from lake.ids import digest
from tests.audits.bundles import SOUND, checked, context

ORACLE: Mapping[str, bytes] = {**SOUND.inputs, **(SOUND.oracle or {})}


def attempt(
    ctx: Context,
    name: str,
    files: Mapping[str, bytes] | None,
    *,
    task: TaskBundle = SOUND,
    ending: str = "finished",
    kind: str = "agent",
    folder: Path | None = None,
) -> str:
    """State an attempt that ended with these files (or with what is in `folder`); null gives no final workspace."""
    attempt_id = digest(name, 0)
    planned = {
        "attempt_id": attempt_id, "rollout_id": digest(name), "attempt_no": 0, "purpose": "collect", "batch": "t",
        "task_id": task.task_id, "task_version": task.task_version, "policy": "scripted:strong@1",
        "policy_kind": "scripted", "harness": "openclaw@2026.9.6", "config_fingerprint": "x", "config": {}, "seed": 1,
        "repeat": 0, "initial_workspace_id": "w",
    }  # fmt: skip
    place = folder or ctx.lake.root.parent / f"final-{attempt_id}"
    if files is not None:
        materialise(files, place)
    with ctx.lake.spool("tests") as spool:
        stream = spool.stream("attempt", attempt_id)
        stream.emit("attempt.planned", planned)
        stream.emit("attempt.started", {"sandbox": "bubblewrap"})
        if kind == "lost":
            stream.emit("attempt.lost", {"reason": "the runner was killed"})
            return attempt_id
        shot = snapshot(place, limit_bytes=10**6) if place.exists() else None
        manifest = []
        for entry in shot.files if shot else []:
            if entry.data is not None:
                spool.put_blob(entry.data)
            fields = ("path", "kind", "sha256", "size", "mode", "note")
            manifest.append({**{f: getattr(entry, f) for f in fields}, "format": "text"})
        ended = {
            "attempt_id": attempt_id, "ending": ending, "ending_kind": kind, "ending_detail": "as told", "exit_code": 0,
            "session_id": None, "model_calls": 1, "upstream_errors": 0, "prefix_breaks": 0, "duration_s": 1.0,
            "final_workspace_id": shot.workspace_id if shot else None, "files": manifest,
        }  # fmt: skip
        stream.emit("attempt.ended", ended)
    return attempt_id


def graded(ctx: Context) -> dict[str, dict[str, Any]]:
    run_stage(STAGE, ctx)
    return {row["attempt_id"]: row for row in ctx.lake.rows("verdicts") if row["is_latest"]}


def outcomes(ctx: Context) -> list[bool]:
    ctx.lake.commit()
    ctx.lake.build(ROLLOUTS.projection)
    return [check.run(ctx.lake).passed for check in STAGE.checks]


def test_right_wrong_and_untouched_workspaces_get_their_scores(tmp_path: Path) -> None:
    ctx = context(tmp_path, [SOUND])
    right = attempt(ctx, "right", ORACLE)
    wrong = attempt(ctx, "wrong", {**ORACLE, "output/summary.json": b'{"total": 11, "names": ["a", "b", "c"]}'})
    nothing = attempt(ctx, "nothing", SOUND.inputs, ending="gave_up")
    rows = graded(ctx)
    assert [rows[a]["score_code"] for a in (right, wrong, nothing)] == [1.0, 0.75, 0.0]
    assert rows[wrong]["checks"] == '{"header":1.0,"names":1.0,"rows":1.0,"total":0.0}'
    assert (rows[wrong]["checks_passed"], rows[wrong]["checks_total"]) == (3, 4)
    assert rows[right]["score"] == 1.0 and rows[right]["score_rubric"] is None
    assert rows[right]["verifier_version"] == SOUND.verifier_version and rows[right]["judge_version"] == "none"
    assert outcomes(ctx) == [True, True, True]


def test_agent_endings_are_graded_as_they_stand(tmp_path: Path) -> None:
    ctx = context(tmp_path, [SOUND])
    endings = ("turn_limit", "time_limit", "token_limit", "malformed_call", "workspace_limit")
    done = [attempt(ctx, ending, ORACLE, ending=ending) for ending in endings]
    rows = graded(ctx)
    assert [rows[attempt_id]["score_code"] for attempt_id in done] == [1.0] * 5


def test_infrastructure_endings_are_not_graded_and_never_zero(tmp_path: Path) -> None:
    ctx = context(tmp_path, [SOUND])
    names = ("model_endpoint", "sandbox", "harness_crash")
    broken = [attempt(ctx, name, ORACLE, ending=name, kind="infrastructure") for name in names]
    broken.append(attempt(ctx, "lost", None, kind="lost"))
    broken.append(attempt(ctx, "no workspace", None))
    rows = graded(ctx)
    for attempt_id in broken:
        row = rows[attempt_id]
        assert row["status"] == "not_gradable" and row["detail"]
        assert all(row[c] is None for c in ("score_code", "score", "wrapper_score", "checks_passed", "checks_total"))
    assert "model_endpoint" in rows[broken[0]]["detail"] and "killed" in rows[broken[3]]["detail"]
    assert outcomes(ctx) == [True, True, True]


def test_a_broken_verifier_gives_a_verdict_without_a_score(tmp_path: Path) -> None:
    crash = checked("raise KeyError('amount')")
    ctx = context(tmp_path, [crash])
    done = attempt(ctx, "x", ORACLE, task=crash)
    found = graded(ctx)[done]
    assert found["status"] == "verifier_error" and found["score_code"] is None and "KeyError" in found["detail"]


def test_running_again_gives_nothing_new_and_only_the_asked_are_graded(tmp_path: Path) -> None:
    ctx = context(tmp_path, [SOUND])
    first, second = attempt(ctx, "a", ORACLE), attempt(ctx, "b", SOUND.inputs)
    assert grade_attempts(ctx, {first})["scored"] == 1
    ctx.lake.commit()
    counts = grade_attempts(ctx)
    assert (counts["scored"], counts["found"]) == (1, 1)
    ctx.lake.commit()
    assert grade_attempts(ctx)["found"] == 2
    assert {e.payload["attempt_id"] for e in ctx.lake.events("verdict.recorded")} == {first, second}


def test_a_repaired_verifier_regrades_old_runs_and_history_stays(tmp_path: Path) -> None:
    lax = checked("return {'there': float((root / 'output/orders.csv').exists())}")
    ctx = context(tmp_path, [lax])
    done = attempt(ctx, "x", {**ORACLE, "output/orders.csv": b"wrong"}, task=lax)
    assert graded(ctx)[done]["score_code"] == 1.0
    with ctx.lake.spool("tests") as spool:
        propose(spool, SOUND)  # the same task with the strict verifier
    ctx.lake.commit()
    ctx.lake.build(TASKS.projection)
    assert regrade(ctx)["scored"] == 1
    ctx.lake.commit()
    ctx.lake.build(STAGE.projection)
    rows = {row["verifier_version"]: row for row in ctx.lake.rows("verdicts")}
    assert rows[lax.verifier_version]["score_code"] == 1.0 and not rows[lax.verifier_version]["is_latest"]
    assert rows[SOUND.verifier_version]["score_code"] == 0.5 and rows[SOUND.verifier_version]["is_latest"]
    assert rows[SOUND.verifier_version]["task_version"] == lax.task_version  # what the agent was told
    assert regrade(ctx)["found"] == 1
    assert outcomes(ctx)[:2] == [True, True]


def test_another_instruction_is_another_task_and_is_not_regraded(tmp_path: Path) -> None:
    ctx = context(tmp_path, [SOUND])
    attempt(ctx, "x", ORACLE)
    graded(ctx)
    with ctx.lake.spool("tests") as spool:
        propose(spool, checked("return {'a': 1.0}", replace(SOUND, instruction="Do something else.")))
    ctx.lake.commit()
    ctx.lake.build(TASKS.projection)
    assert regrade(ctx)["scored"] == 0


def test_a_task_with_a_rubric_has_no_score_until_judged(tmp_path: Path) -> None:
    rule = {"name": "tone", "file_path": "output/summary.json", "scores": {}}
    judged = replace(SOUND, rubric=(rule,))
    ctx = context(tmp_path, [judged])
    done = attempt(ctx, "x", ORACLE, task=judged)
    row = graded(ctx)[done]
    assert row["score_code"] == 1.0 and row["score"] is None and row["score_rubric"] is None
    assert outcomes(ctx)[1]


def test_our_own_failure_is_no_verdict_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = context(tmp_path, [SOUND])
    good, bad = attempt(ctx, "good", ORACLE), attempt(ctx, "bad", SOUND.inputs)
    real = grade

    def failing(workspace: Path, *arguments: Any, **more: Any) -> Grade:
        if not (workspace / "output").exists():
            raise SetupError("bubblewrap did not start the command: out of memory")
        return real(workspace, *arguments, **more)

    monkeypatch.setattr(effect_module, "grade", failing)
    said: list[str] = []
    told = Context(ctx.lake, ctx.profile, progress=lambda message, done=None, total=None: said.append(message))
    assert grade_attempts(told)["undone"] == 1
    assert any(bad in line and "out of memory" in line for line in said)
    ctx.lake.commit()
    with pytest.raises(SetupError):  # not one could be given
        grade_attempts(ctx)
    monkeypatch.setattr(effect_module, "grade", real)
    rows = graded(ctx)
    assert rows[good]["score_code"] == 1.0 and rows[bad]["score_code"] == 0.0


def test_links_modes_and_odd_names_are_graded_as_the_agent_left_them(tmp_path: Path) -> None:
    body = "import os\nreturn {'link': float(os.path.islink(root / 'l') and (root / 'l').read_text() == 'x'),"
    body += " 'mode': float(os.access(root / 'run.sh', os.X_OK)),"
    body += " 'odd': float(b'\\xff' in os.listdir(os.fsencode(root))),"
    body += " 'empty_dir': float((root / 'd').is_dir()), 'no_leak': float(not (root / 'secret').exists())}"
    task = checked(body)
    ctx = context(tmp_path, [task])
    place = tmp_path / "final"
    materialise({"f": b"x", "run.sh": b"#!/bin/sh\n"}, place)
    (place / "run.sh").chmod(0o755)
    (place / "l").symlink_to("f")
    (place / "d").mkdir()
    (place / "secret").symlink_to(tmp_path / "lake" / "lake.json")
    Path(str(place) + "/\udcff").write_bytes(b"")
    done = attempt(ctx, "x", None, task=task, folder=place)
    row = graded(ctx)[done]
    assert row["score_code"] == 1.0, row["checks"]


def test_the_checks_see_a_verdict_that_says_too_much(tmp_path: Path) -> None:
    ctx = context(tmp_path, [SOUND])
    attempt(ctx, "x", ORACLE, ending="sandbox", kind="infrastructure")
    graded(ctx)
    assert outcomes(ctx) == [True, True, True]
    (row,) = ctx.lake.rows("verdicts")
    ctx.lake.store.overwrite("verdicts", rows_table("verdicts", [{**row, "score_code": 0.0}]), {})
    outcome = verdicts_are_sound(ctx.lake)
    assert not outcome.passed and "disagree" in outcome.detail
    errors = [{**row, "verdict_id": str(n), "status": "verifier_error", "is_latest": n > 0} for n in range(3)]
    ctx.lake.store.overwrite("verdicts", rows_table("verdicts", errors), {})
    assert not verifiers_hold(ctx.lake).passed and not every_end_has_a_verdict(ctx.lake).passed
