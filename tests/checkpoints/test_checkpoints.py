"""Checkpoints: made once, whole or not at all, with their provenance; interrupted runs start again cleanly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from assets import sft
from assets.checkpoints import STAGE, checkpoint_folder, find_checkpoint
from assets.profile import CheckpointsSection, Profile
from assets.stage import Context, StageRun, run_stage
from lake import Lake
from lake import open as open_lake
from lake.errors import StageError, UsageError
from lake.ids import Json
from tests.sft.rows import Run, fill

RUNS = [Run(n) for n in range(1, 5)] + [Run(5, split="validation"), Run(6, split="bench:demo")]


def profile(**section: Json) -> Profile:
    small = {"hidden_size": 32, "vocab_size": 400, "steps": 4, "max_length": 4096}
    return Profile(checkpoints=CheckpointsSection(**{**small, **section}))


def go(opened: Lake, **section: Json) -> StageRun:
    settings = profile(**section)
    run_stage(sft.STAGE, Context(opened, settings))
    return run_stage(STAGE, Context(opened, settings))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    opened = fill(tmp_path_factory.mktemp("lake") / "lake", RUNS)
    assert go(opened).effect == {"trained": 1, "initialised": 1, "found": 0}
    return opened


def test_two_rows_with_their_provenance(trained: Lake) -> None:
    by_method = {row["method"]: row for row in trained.rows("checkpoints")}
    init, tuned = by_method["init"], by_method["sft"]
    assert tuned["parent_id"] == init["checkpoint_id"] and init["parent_id"] is None
    assert tuned["tokenizer_sha256"] == init["tokenizer_sha256"]
    assert tuned["architecture"] == "Qwen3ForCausalLM" and tuned["parameters"] == init["parameters"] > 10_000
    assert tuned["examples"] == 4 and tuned["steps"] == 4 and tuned["loss_last"] < tuned["loss_first"]
    assert json.loads(tuned["config"])["sft"]["learning_rate"] == 3e-3
    assert tuned["snapshot_id"] in {row["snapshot_id"] for row in trained.rows("snapshots")}
    assert tuned["commit"] is None or len(tuned["commit"]) == 40
    (started,) = [e for e in trained.events("training.started") if e.stream_id == tuned["checkpoint_id"]]
    kept = [r["example_id"] for r in sft.read_examples(trained, "train")]
    assert started.payload["example_ids"] == sorted(kept)
    assert set(started.payload["versions"]) == {"torch", "transformers", "trl", "tokenizers"}


def test_metrics_are_rows(trained: Lake) -> None:
    tuned = find_checkpoint(trained, "latest")["checkpoint_id"]
    metrics = {(r["step"], r["metric"]): r["value"] for r in trained.rows("training_metrics")}
    assert {r["checkpoint_id"] for r in trained.rows("training_metrics")} == {tuned}
    assert [step for step, name in sorted(metrics) if name == "loss"] == [1, 2, 3, 4]
    assert metrics[(4, "eval_loss")] < metrics[(0, "eval_loss")]
    assert metrics[(4, "rows")] == 4 and metrics[(4, "trained_tokens")] < metrics[(4, "row_tokens")]


def test_the_folder_loads_with_transformers_alone(trained: Lake) -> None:
    folder = checkpoint_folder(trained, find_checkpoint(trained, "latest")["checkpoint_id"])
    model = AutoModelForCausalLM.from_pretrained(str(folder))
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    ids: Json = tokenizer.apply_chat_template(
        [{"role": "user", "content": "x"}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    assert model.generate(**ids, max_new_tokens=3, do_sample=False).shape[1] == ids["input_ids"].shape[1] + 3


def test_nothing_is_trained_twice(trained: Lake) -> None:
    before = trained.event_counts(["training.started", "checkpoint.saved"])
    again = go(trained)
    assert again.effect == {"trained": 0, "initialised": 0, "found": 2} and again.built.skipped
    assert trained.event_counts(["training.started", "checkpoint.saved"]) == before


def test_checks_pass_and_can_fail(trained: Lake, tmp_path: Path) -> None:
    import shutil

    assert all(check.run(trained).passed for check in STAGE.checks)
    copy = tmp_path / "lake"
    shutil.copytree(trained.root, copy)
    opened = open_lake(copy)
    folders, loss = (check.run for check in STAGE.checks)
    folder = checkpoint_folder(opened, find_checkpoint(opened, "latest")["checkpoint_id"])
    (folder / "tokenizer.json").write_text("{}")
    assert "not the one the checkpoint was saved with" in folders(opened).detail
    shutil.rmtree(folder)
    assert "is not there" in folders(opened).detail
    with pytest.raises(StageError, match="is gone"):
        find_checkpoint(opened, "latest")
    from tests.sft.rows import put

    put(opened, "checkpoints", [{**row, "loss_last": 99.0} for row in opened.rows("checkpoints")])
    assert not loss(opened).passed


def test_other_settings_or_examples_are_another_checkpoint(trained: Lake, tmp_path: Path) -> None:
    first = find_checkpoint(trained, "latest")["checkpoint_id"]
    assert go(trained, steps=5).effect == {"trained": 1, "initialised": 0, "found": 1}
    second = find_checkpoint(trained, "latest")
    assert second["checkpoint_id"] != first and second["steps"] == 5
    fewer = fill(tmp_path / "lake", RUNS[:2])
    go(fewer)
    assert find_checkpoint(fewer, "latest")["checkpoint_id"] not in {first, second["checkpoint_id"]}
    with pytest.raises(UsageError, match="no checkpoint is called 'zz'"):
        find_checkpoint(trained, "zz")


def test_the_same_everywhere(trained: Lake, tmp_path: Path) -> None:
    """Another lake with the same examples makes checkpoints of the same names and, within 1e-4, the same weights."""
    other = fill(tmp_path / "lake", RUNS)
    go(other)
    ids = {row["checkpoint_id"] for row in other.rows("checkpoints")}
    assert ids <= {row["checkpoint_id"] for row in trained.rows("checkpoints")}
    for checkpoint_id in ids:
        one, two = (
            AutoModelForCausalLM.from_pretrained(str(checkpoint_folder(lake, checkpoint_id))).state_dict()
            for lake in (trained, other)
        )
        assert max(float((one[name] - two[name]).abs().max()) for name in one) < 1e-4


def test_a_given_model_is_the_parent_by_its_content(trained: Lake, tmp_path: Path) -> None:
    base = next(row["checkpoint_id"] for row in trained.rows("checkpoints") if row["method"] == "init")
    opened = fill(tmp_path / "lake", RUNS)
    counts = go(opened, base_model=str(checkpoint_folder(trained, base))).effect
    assert counts == {"trained": 1, "initialised": 0, "found": 0}
    (row,) = opened.rows("checkpoints")
    assert row["parent_id"] is None and len(json.loads(row["config"])["base_model"]["sha256"]) == 64
    assert row["loss_last"] < row["loss_first"]
    with pytest.raises(StageError, match=r"no tokenizer\.json|holds no files"):
        go(opened, base_model=str(tmp_path / "nothing"))


def test_no_examples_is_one_plain_line(tmp_path: Path) -> None:
    opened = fill(tmp_path / "lake", [Run(1, score_code=0.1), Run(2, split="bench:demo")])
    with pytest.raises(StageError) as error:
        go(opened)
    assert str(error.value) == (
        "no training examples: 1 below_threshold, 1 not_train_split; "
        "collect rollouts that pass the filter, or lower [sft] threshold"
    )
    assert opened.event_counts(["training.started"]) == {}


def test_a_failed_run_is_a_fact_and_not_tried_again(tmp_path: Path) -> None:
    opened = fill(tmp_path / "lake", RUNS[:2])
    with pytest.raises(StageError, match="too_long"):
        go(opened, max_length=16)
    assert opened.event_counts(["training.failed"]) == {"training.failed": 1}
    with pytest.raises(StageError, match="failed before: none of 2 conversations"):
        go(opened, max_length=16)
    assert opened.event_counts(["training.started"])["training.started"] == 2  # init and the one that failed
    assert go(opened).effect["trained"] == 1


KILLED = """
import sys
from assets.checkpoints import STAGE
from assets.stage import Context, run_stage
from lake import open as open_lake
from tests.checkpoints.test_checkpoints import profile
def progress(message, done=None, total=None):
    print(message, done, flush=True)
run_stage(STAGE, Context(open_lake(sys.argv[1]), profile(steps=60), progress=progress))
"""


@pytest.mark.slow
def test_killed_in_the_middle_it_starts_again(tmp_path: Path) -> None:
    opened = fill(tmp_path / "lake", RUNS)
    run_stage(sft.STAGE, Context(opened, profile()))
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(opened.root)],
        stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2], env=os.environ | {"PYTHONPATH": "."},
    )  # fmt: skip
    assert child.stdout is not None
    deadline = time.monotonic() + 120
    for line in child.stdout:
        assert time.monotonic() < deadline
        if line.startswith("fine-tuning 3"):
            break
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    folders = opened.root / "artefacts" / "checkpoints"
    saved = [path for path in folders.iterdir() if path.is_dir()]
    assert len(saved) == 1  # the untrained one; the other never got its name
    assert go(opened, steps=60).effect == {"trained": 1, "initialised": 0, "found": 1}
    row = find_checkpoint(opened, "latest")
    stream = [event.type for event in opened.events() if event.stream_id == row["checkpoint_id"]]
    assert stream.count("training.started") == 2 and stream.count("checkpoint.saved") == 1
    losses = [r for r in opened.rows("training_metrics") if r["metric"] == "loss"]
    assert len(losses) == 60
    assert all(check.run(opened).passed for check in STAGE.checks)


def test_killed_between_folder_and_event(tmp_path: Path) -> None:
    """A folder no event speaks of is made again, so row and weights are of one run."""
    opened = fill(tmp_path / "lake", RUNS[:2])
    go(opened)
    row = find_checkpoint(opened, "latest")
    other = fill(tmp_path / "other", RUNS[:2])
    stray = checkpoint_folder(other, row["checkpoint_id"])
    stray.mkdir(parents=True)
    (stray / "half").write_text("x")
    go(other)
    assert not (stray / "half").exists() and all(check.run(other).passed for check in STAGE.checks)
