"""A tiny model that has learned one conversation by heart, so that it really makes tool calls; and it served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI

from tests.training.conversations import corpus
from training.model import ModelConfig, cpu_threads, save_init
from training.server import Served, ServerConfig, serving
from training.server.app import Limits
from training.server.engine import Engine
from training.sft import SftConfig, train
from training.tokenizer import train_tokenizer


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    with cpu_threads(1):
        yield


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learned")
    shape = ModelConfig(hidden_size=48, heads=4, kv_heads=2, layers=2, max_length=2048)
    save_init(folder / "init", train_tokenizer(corpus(), vocab_size=600), shape)
    config = SftConfig(steps=90, learning_rate=1e-2, max_length=2048)
    result = train(folder / "init", [corpus(1)[0]], folder / "sft", config)
    assert result.loss_last < 0.1
    return folder / "sft"


@pytest.fixture(scope="session")
def engine(learned: Path) -> Engine:
    return Engine(learned)


@pytest.fixture(scope="session")
def served(learned: Path) -> Iterator[Served]:
    with serving(learned, ServerConfig(names=("tiny", "alias"), limits=Limits(concurrency=2, waiting=2))) as server:
        yield server


@pytest.fixture(scope="session")
def client(served: Served) -> OpenAI:
    return OpenAI(base_url=served.base_url, api_key=served.token, max_retries=0, timeout=60)


@pytest.fixture(scope="session")
def endless(learned: Path) -> Iterator[Served]:
    """One that never ends a turn by itself."""
    with serving(learned, ServerConfig(names=("tiny",), limits=Limits(concurrency=2, waiting=2))) as server:
        server.engine.stop_tokens.clear()
        yield server
