"""Multi-turn supervised fine-tuning with TRL: the loss is on what the assistant writes, on nothing else.

Belongs here: one run from a checkpoint folder and conversations to a checkpoint folder. Does not belong here: which
conversations, identities, the log.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from lake.errors import StageError
from training.chat import Conversation
from training.folder import publish
from training.model import architecture_of, cpu_threads, load_model, parameters_of
from training.tokenise import Encoder, Row, Tokenised, tokenise
from training.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedModel, PreTrainedTokenizerFast, TrainerCallback
    from trl.trainer.sft_trainer import SFTTrainer

OnMetric = Callable[[int, Mapping[str, float]], None]
"""Called with the optimiser step and what the trainer logged there."""

IGNORED: Final = -100
"""Label of a token without loss."""

_CLOCK: Final = ("runtime", "per_second", "preparation_time", "total_flos", "epoch")
"""Parts of the names of what the trainer logs about its own speed; that is not about the model."""


@dataclass(frozen=True)
class SftConfig:
    """Settings of one run."""

    steps: int = 20
    learning_rate: float = 3e-3
    batch_size: int = 1
    accumulate: int = 1
    """Micro-batches per optimiser step."""
    max_length: int = 16384
    """Longer rows are left out and counted. Tokens."""
    seed: int = 1
    threads: int | None = 1
    """CPU threads; with 1, two runs agree within 1e-4."""
    device: Literal["cpu", "auto"] = "cpu"
    recompute: bool = False
    """Recompute activations in the backward pass: less memory, about 20 % slower."""


@dataclass(frozen=True)
class SftResult:
    """What a run did."""

    steps: int
    examples: int
    """Rows trained on."""
    dropped: Mapping[str, int]
    tokens: int
    trained_tokens: int
    loss_first: float
    loss_last: float
    architecture: str
    parameters: int
    validation: Mapping[str, float] = field(default_factory=dict)
    """Loss on the validation rows before and after, where there are any."""


def train(
    start: Path,
    conversations: Sequence[Conversation],
    target: Path,
    config: SftConfig,
    *,
    validation: Sequence[Conversation] = (),
    on_metric: OnMetric = lambda step, metrics: None,
) -> SftResult:
    """Fine-tune the checkpoint in `start` and publish the result as `target`, an ordinary transformers folder.

    Args:
        start: checkpoint folder (model and tokenizer).
        conversations: training conversations.
        target: folder to make; it appears only when training is through.
        config: settings.
        validation: conversations whose loss is measured before and after, never trained on.
        on_metric: called as the trainer logs.

    Raises:
        StageError: no conversation can be trained on, or the loss is not finite.
    """
    tokenizer = load_tokenizer(start)
    encoder = Encoder(tokenizer)
    data = tokenise(encoder, conversations, max_length=config.max_length)
    if not data.rows:
        raise StageError(
            f"none of {len(conversations)} conversations can be trained on: {data.dropped or 'none given'}"
        )
    held_out = tokenise(encoder, validation, max_length=config.max_length)
    model = load_model(start)
    losses: list[float] = []

    def on_log(step: int, metrics: Mapping[str, float]) -> None:
        if "loss" in metrics:
            losses.append(metrics["loss"])
        on_metric(step, metrics)

    with cpu_threads(config.threads), tempfile.TemporaryDirectory(prefix="clawgym-sft-") as scratch:
        trainer = _trainer(model, tokenizer, data, held_out, config, Path(scratch), _reporter(on_log))
        check_labels(trainer.train_dataset, data.rows)
        before = _validation_loss(trainer, held_out)
        trainer.train()
        after = _validation_loss(trainer, held_out)
        if not losses or not all(map(math.isfinite, losses)):
            raise StageError(f"the loss is not finite ({losses[-3:]}); lower learning_rate ({config.learning_rate})")
        publish(target, lambda folder: _save(model, tokenizer, folder))
    measured = {} if before is None or after is None else {"loss_before": before, "loss_after": after}
    return SftResult(
        config.steps, len(data.rows), data.dropped, data.tokens, data.trained_tokens, losses[0], losses[-1],
        architecture_of(model), parameters_of(model), measured,
    )  # fmt: skip


def check_labels(dataset: Dataset, rows: Sequence[Row]) -> None:
    """Make sure the trainer will put the loss exactly where the masks say.

    Raises:
        StageError: a label differs from its mask; this TRL treats pre-tokenised rows in another way.
    """
    for index, (labels, row) in enumerate(zip(dataset["labels"], rows, strict=True)):
        pairs = zip(row.input_ids, row.assistant_masks, strict=True)
        if labels != [token if trained else IGNORED for token, trained in pairs]:
            raise StageError(f"TRL's labels of row {index} are not our mask; check the installed trl against pyproject")


def _trainer(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    data: Tokenised,
    held_out: Tokenised,
    config: SftConfig,
    scratch: Path,
    callback: TrainerCallback,
) -> SFTTrainer:
    from transformers import PrinterCallback
    from trl.trainer.sft_config import SFTConfig as TrlConfig
    from trl.trainer.sft_trainer import SFTTrainer

    arguments = TrlConfig(
        output_dir=str(scratch),
        max_steps=config.steps,
        learning_rate=config.learning_rate,
        per_device_train_batch_size=config.batch_size,
        per_device_eval_batch_size=1,
        gradient_accumulation_steps=config.accumulate,
        activation_checkpointing=config.recompute,
        gradient_checkpointing=config.recompute,
        max_length=None,  # long rows are gone already; TRL would cut them
        packing=False,
        seed=config.seed,
        data_seed=config.seed,
        use_cpu=config.device == "cpu",
        bf16=False,
        logging_steps=1,
        logging_nan_inf_filter=False,  # else a loss that is not a number is logged as the one before
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_num_workers=0,
        dataloader_pin_memory=False,
    )
    trainer = SFTTrainer(
        model=model,
        args=arguments,
        train_dataset=_dataset(data.rows),
        eval_dataset=_dataset(held_out.rows) if held_out.rows else None,
        processing_class=tokenizer,
        callbacks=[callback],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _dataset(rows: Sequence[Row]) -> Dataset:
    from datasets import Dataset

    return Dataset.from_list([{"input_ids": row.input_ids, "assistant_masks": row.assistant_masks} for row in rows])


def _validation_loss(trainer: SFTTrainer, held_out: Tokenised) -> float | None:
    return float(trainer.evaluate()["eval_loss"]) if held_out.rows else None


def _save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    model.config.use_cache = True  # the trainer switches it off, and whoever generates wants it
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))


def _reporter(on_log: OnMetric) -> TrainerCallback:
    from transformers import TrainerCallback

    class Reporter(TrainerCallback):
        """Hands on what the trainer logs, numbers only."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
            """The trainer's hook."""
            on_log(
                int(state.global_step),
                {
                    name: float(value)
                    for name, value in (logs or {}).items()
                    if isinstance(value, int | float) and not any(part in name for part in _CLOCK)
                },
            )

    return Reporter()
