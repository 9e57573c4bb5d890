"""A real family through the real agent: the strong teacher earns everything, the weak one does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assets.grading import grade
from assets.sandbox import Limits, open_sandbox
from assets.sandbox.folder import FileEntry, restore
from assets.stage import Context
from assets.tasks import generate, load_bundle
from tests.rollouts.conftest import MakeContext
from tests.rollouts.runs import run

pytestmark = pytest.mark.openclaw


def score(context: Context, row: dict[str, Any], folder: Path) -> float:
    """Score of an attempt's frozen workspace by its task's verifier."""
    entries = [
        FileEntry(file["path"], file["kind"], file["sha256"], file["size"], file["mode"], None)
        for file in context.lake.rows("final_files")
        if file["attempt_id"] == row["attempt_id"] and file["change"] != "removed"
    ]
    restore(entries, folder, lambda entry: context.lake.blob(str(entry.sha256)))
    task = next(task for task in context.lake.rows("tasks") if task["task_id"] == row["task_id"])
    bundle = load_bundle(context.lake, task)
    graded = grade(
        folder, bundle.reward, protocol=bundle.verifier_protocol, sandbox=open_sandbox("bubblewrap"), limits=Limits()
    )
    assert graded.status == "scored" and graded.score_code is not None, graded.detail
    return graded.score_code


def test_strong_and_weak_on_a_family(make_context: MakeContext, tmp_path: Path) -> None:
    context = make_context(concurrency=2, time_limit_s=180.0)
    ran = run(context, list(generate(("expense_claims",), n=1)), ["scripted:strong", "scripted:weak"])
    scores = {row["policy"]: score(context, row, tmp_path / row["attempt_id"]) for row in ran.attempts}
    assert all(row["ending_kind"] == "agent" for row in ran.attempts), [row["ending_detail"] for row in ran.attempts]
    assert scores["scripted:strong@1"] == 1.0
    assert scores["scripted:weak@1"] < 0.9
