"""What a checkpoint is made from, as data: its configuration and the identity that follows.

Belongs here: configurations as plain JSON and `checkpoint_id`. Does not belong here: doing any of it (`effect.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from assets.profile import CheckpointsSection
from lake.ids import Json, canonical, digest, sha256_hex
from training.folder import folder_sha256
from training.model import ModelConfig
from training.sft import SftConfig
from training.tokenizer import template_sha256

TRAINER_VERSION: Final = 1
"""Raised whenever the same configuration and examples would give another model."""


@dataclass(frozen=True)
class Recipe:
    """One checkpoint to be made."""

    method: str
    config: dict[str, Json]
    example_ids: tuple[str, ...]
    tokenizer_sha256: str | None
    """None where the tokenizer is made with the checkpoint, from the examples."""
    parent_id: str | None

    @cached_property
    def checkpoint_id(self) -> str:
        """Digest of everything the checkpoint follows from."""
        return digest(self.method, self.config, self.example_ids, self.tokenizer_sha256, self.parent_id)

    @property
    def example_ids_sha256(self) -> str:
        """Digest of the sorted example ids."""
        return sha256_hex(canonical(sorted(self.example_ids)))


def model_config(section: CheckpointsSection) -> ModelConfig:
    """Shape of the tiny model."""
    return ModelConfig(
        hidden_size=section.hidden_size,
        layers=section.layers,
        heads=section.heads,
        kv_heads=section.kv_heads,
        max_length=section.max_length,
        seed=section.seed,
    )


def sft_config(section: CheckpointsSection) -> SftConfig:
    """Settings of the training run."""
    return SftConfig(
        steps=section.steps,
        learning_rate=section.learning_rate,
        batch_size=section.batch_size,
        max_length=section.max_length,
        seed=section.seed,
    )


def init_recipe(section: CheckpointsSection, example_ids: Sequence[str]) -> Recipe:
    """A tiny model with random weights, and a tokenizer trained on the examples."""
    config = {
        "trainer": TRAINER_VERSION,
        "template": template_sha256(),
        "vocab_size": section.vocab_size,
        "model": asdict(model_config(section)),
    }
    return Recipe("init", config, tuple(sorted(example_ids)), None, None)


def sft_recipe(
    section: CheckpointsSection,
    example_ids: Sequence[str],
    validation_ids: Sequence[str],
    tokenizer: str,
    parent_id: str | None,
) -> Recipe:
    """Fine-tuning of the parent, or of the base model's folder where there is no parent."""
    config: dict[str, Json] = {
        "trainer": TRAINER_VERSION,
        "template": template_sha256(),
        "sft": asdict(sft_config(section)),
        "validation_ids_sha256": sha256_hex(canonical(sorted(validation_ids))),
    }
    if section.base_model is not None:
        config["base_model"] = {
            "name": Path(section.base_model).name,
            "sha256": folder_sha256(Path(section.base_model)),
        }
    return Recipe("sft", config, tuple(sorted(example_ids)), tokenizer, parent_id)
