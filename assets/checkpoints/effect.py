"""Makes the checkpoints of the profile: a tiny untrained one (or a given folder), then fine-tuned on the examples.

Belongs here: doing a recipe once, with its events. Does not belong here: training itself (`training`).

A checkpoint is done when `checkpoint.saved` is in the log. A run that was interrupted is done again from its start: its
folder never got its name, and the projection reads the metrics after the last `training.started` only.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assets.checkpoints.artefacts import checkpoint_folder, only_trainer
from assets.checkpoints.provenance import code_commit, library_versions
from assets.checkpoints.recipe import Recipe, init_recipe, model_config, sft_config, sft_recipe
from assets.sft import conversation_of, read_examples
from assets.stage import Context
from lake.errors import StageError
from lake.ids import Json, canonical
from lake.spool import Stream
from training.chat import Conversation
from training.model import architecture_of, load_model, parameters_of, save_init
from training.sft import train
from training.tokenizer import template_sha256, tokenizer_sha256, train_tokenizer

KIND = "training"
STARTED, METRIC, SAVED, FAILED = "training.started", "training.metric", "checkpoint.saved", "training.failed"

Work = Callable[[Stream, Path], Mapping[str, Json]]
"""Makes the folder, emits metrics, returns what it adds to the row."""


def train_checkpoints(context: Context) -> Mapping[str, int]:
    """Make what the profile asks for and the log does not hold.

    Raises:
        StageError: there are no examples, or a run failed for good.
    """
    context.lake.commit()
    section = context.profile.checkpoints
    examples = read_examples(context.lake, "train")
    if not examples:
        raise StageError(_why_no_examples(context))
    validation = read_examples(context.lake, "validation")
    conversations = [conversation_of(example) for example in examples]
    ids = [str(example["example_id"]) for example in examples]
    counts = {"trained": 0, "initialised": 0, "found": 0}
    start, parent_id = (None if section.base_model is None else Path(section.base_model)), None
    if start is None:
        first = init_recipe(section, ids)
        made = _once(context, first, lambda stream, folder: _initialise(context, conversations, folder))
        counts["initialised" if made else "found"] += 1
        start, parent_id = checkpoint_folder(context.lake, first.checkpoint_id), first.checkpoint_id
    if not (start / "tokenizer.json").is_file():
        raise StageError(f"{start} holds no tokenizer.json; restore that folder or name another base_model")
    held_out = [str(example["example_id"]) for example in validation]
    recipe = sft_recipe(section, ids, held_out, tokenizer_sha256(start), parent_id)
    made = _once(
        context,
        recipe,
        lambda stream, folder: _fine_tune(
            context, stream, start, conversations, [conversation_of(row) for row in validation], folder
        ),
    )
    counts["trained" if made else "found"] += 1
    return counts


def _once(context: Context, recipe: Recipe, work: Work) -> bool:
    """Do a recipe unless the log says it is done; returns whether it was done now."""
    lake, checkpoint_id = context.lake, recipe.checkpoint_id
    folder = checkpoint_folder(lake, checkpoint_id)
    with only_trainer(folder):
        events = [event for event in lake.events(stream_kind=KIND) if event.stream_id == checkpoint_id]
        if any(event.type == SAVED for event in events):
            return False
        if failed := [event for event in events if event.type == FAILED]:
            raise StageError(
                f"training {checkpoint_id} failed before: {failed[-1].payload['reason']}; change the profile's "
                "[checkpoints] or its examples"
            )
        shutil.rmtree(folder, ignore_errors=True)  # of a run that died before it could say that it was done
        snapshot_id = lake.snapshot(f"train {recipe.method}", context.run_id)
        try:
            with lake.spool("checkpoints", context.run_id) as spool:
                stream = spool.stream(KIND, checkpoint_id, next_seq=len(events))
                _record(stream, recipe, snapshot_id, folder, work)
        finally:
            lake.commit()
    return True


def _record(stream: Stream, recipe: Recipe, snapshot_id: str, folder: Path, work: Work) -> None:
    stream.emit(STARTED, _started(recipe, snapshot_id))
    try:
        extra = work(stream, folder)
    except StageError as error:
        stream.emit(FAILED, {"reason": str(error)})
        raise
    stream.emit(SAVED, _row(recipe, folder, snapshot_id) | dict(extra))


def _initialise(context: Context, conversations: Sequence[Conversation], folder: Path) -> Mapping[str, Json]:
    section = context.profile.checkpoints
    context.progress("training the tokenizer")
    save_init(folder, train_tokenizer(conversations, vocab_size=section.vocab_size), model_config(section))
    return {"steps": 0, "examples": len(conversations), **_measure(folder)}


def _fine_tune(
    context: Context,
    stream: Stream,
    start: Path,
    conversations: Sequence[Conversation],
    validation: Sequence[Conversation],
    folder: Path,
) -> Mapping[str, Json]:
    config = sft_config(context.profile.checkpoints)

    def on_metric(step: int, metrics: Mapping[str, float]) -> None:
        stream.emit(METRIC, {"step": step, "metrics": {name: _finite(value) for name, value in metrics.items()}})
        context.progress("fine-tuning", step, config.steps)

    result = train(start, conversations, folder, config, validation=validation, on_metric=on_metric)
    stream.emit(
        METRIC,
        {
            "step": result.steps,
            "metrics": {
                "rows": result.examples,
                "row_tokens": result.tokens,
                "trained_tokens": result.trained_tokens,
                **{f"rows_dropped_{reason}": count for reason, count in result.dropped.items()},
            },
        },
    )
    return {
        "steps": result.steps,
        "examples": result.examples,
        "loss_first": result.loss_first,
        "loss_last": result.loss_last,
        "architecture": result.architecture,
        "parameters": result.parameters,
    }


def _measure(folder: Path) -> Mapping[str, Json]:
    model = load_model(folder)
    return {"architecture": architecture_of(model), "parameters": parameters_of(model)}


def _started(recipe: Recipe, snapshot_id: str) -> dict[str, Json]:
    return {
        "method": recipe.method,
        "config": recipe.config,
        "parent_id": recipe.parent_id,
        "example_ids": list(recipe.example_ids),
        "snapshot_id": snapshot_id,
        "commit": code_commit(),
        "versions": library_versions(),
    }


def _row(recipe: Recipe, folder: Path, snapshot_id: str) -> dict[str, Json]:
    return {
        "checkpoint_id": recipe.checkpoint_id,
        "method": recipe.method,
        "parent_id": recipe.parent_id,
        "path": f"checkpoints/{recipe.checkpoint_id}",
        "tokenizer_sha256": tokenizer_sha256(folder),
        "template_sha256": template_sha256(),
        "config": canonical(recipe.config),
        "snapshot_id": snapshot_id,
        "example_ids_sha256": recipe.example_ids_sha256,
        "loss_first": None,
        "loss_last": None,
        "commit": code_commit(),
    }


def _finite(value: float) -> Json:
    """Events hold no NaN; a value that is not finite is written as text."""
    return value if value == value and abs(value) != float("inf") else str(value)


def _why_no_examples(context: Context) -> str:
    reasons: dict[str, int] = {}
    for row in context.lake.rows("sft_decisions"):
        reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    told = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())) or "there are no trajectories"
    return f"no training examples: {told}; collect rollouts that pass the filter, or lower [sft] threshold"
