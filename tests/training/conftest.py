"""A tokenizer and a tiny checkpoint, made once for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from tests.training.conversations import corpus
from training.model import ModelConfig, save_init
from training.tokenise import Encoder
from training.tokenizer import train_tokenizer


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    return train_tokenizer(corpus(), vocab_size=600)


@pytest.fixture(scope="session")
def encoder(tokenizer: PreTrainedTokenizerFast) -> Encoder:
    return Encoder(tokenizer)


@pytest.fixture(scope="session")
def start(tokenizer: PreTrainedTokenizerFast, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an untrained tiny model."""
    target = tmp_path_factory.mktemp("checkpoints") / "init"
    save_init(target, tokenizer, ModelConfig(hidden_size=32, max_length=4096))
    return target
