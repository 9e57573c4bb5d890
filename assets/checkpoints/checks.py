"""Checks of the stage `checkpoints`: the folders are whole, and training taught the model something."""

from __future__ import annotations

import json

from assets.checkpoints.artefacts import checkpoint_folder
from assets.stage import CheckOutcome, StageCheck
from lake import Lake
from lake.ids import Json
from training.folder import folder_problem
from training.tokenizer import tokenizer_sha256


def folders_whole(lake: Lake) -> CheckOutcome:
    """Each folder holds configuration, tokenizer and weights of full length, and is the one the row speaks of."""
    rows = lake.rows("checkpoints")
    problems = [problem for row in rows if (problem := _problem(lake, row))]
    return CheckOutcome(
        not problems, f"{len(rows)} folders" + (f": {problems[0]}" if problems else ""), {"folders": len(rows)}
    )


def loss_fell(lake: Lake) -> CheckOutcome:
    """Fine-tuning ends with a lower loss than it began with, and the logged losses are those of the row."""
    rows = [row for row in lake.rows("checkpoints") if row["method"] == "sft"]
    logged: dict[str, dict[int, float]] = {}
    for metric in lake.rows("training_metrics"):
        if metric["metric"] == "loss":
            logged.setdefault(metric["checkpoint_id"], {})[metric["step"]] = metric["value"]
    failed = []
    for row in rows:
        losses = logged.get(row["checkpoint_id"], {})
        ends = (losses[min(losses)], losses[max(losses)]) if losses else None
        if ends != (row["loss_first"], row["loss_last"]) or not row["loss_last"] < row["loss_first"]:
            failed.append(f"{row['checkpoint_id']}: {row['loss_first']} → {row['loss_last']}, logged {ends}")
    detail = "; ".join(failed) or ", ".join(f"{row['loss_first']:.3f} → {row['loss_last']:.3f}" for row in rows)
    return CheckOutcome(not failed, detail or "nothing fine-tuned yet", {"fine_tuned": len(rows)})


def _problem(lake: Lake, row: dict[str, Json]) -> str | None:
    folder = checkpoint_folder(lake, row["checkpoint_id"])
    if problem := folder_problem(folder):
        return problem
    if tokenizer_sha256(folder) != row["tokenizer_sha256"]:
        return f"{folder}/tokenizer.json is not the one the checkpoint was saved with"
    architectures = json.loads((folder / "config.json").read_text())["architectures"]
    return (
        None if architectures == [row["architecture"]] else f"{folder} is a {architectures}, not {row['architecture']}"
    )


CHECKS = (
    StageCheck(
        "checkpoints_folders_whole",
        "checkpoints",
        folders_whole,
        "Every checkpoint's folder is there, whole, and carries the tokenizer of its row.",
    ),
    StageCheck(
        "checkpoints_loss_fell",
        "checkpoints",
        loss_fell,
        "Every fine-tuning run ended with a lower loss than it began with.",
    ),
)
