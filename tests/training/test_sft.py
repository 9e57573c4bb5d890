"""A real TRL run on a tiny model: loss where it belongs, falling, repeatable; the folder loads anywhere."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from lake.errors import StageError
from tests.training.conversations import corpus
from training.chat import Conversation
from training.folder import folder_problem
from training.model import ModelConfig, init_model, load_model
from training.sft import SftConfig, SftResult, check_labels, train
from training.tokenise import Encoder
from training.tokenizer import load_tokenizer, train_tokenizer

CONFIG = SftConfig(steps=8, max_length=4096, batch_size=2)


@pytest.fixture(scope="module")
def trained(start: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SftResult, list[tuple[int, str]]]:
    target = tmp_path_factory.mktemp("sft") / "one"
    seen: list[tuple[int, str]] = []
    result = train(
        start, corpus(), target, CONFIG, validation=corpus(2), on_metric=lambda s, m: seen.extend((s, n) for n in m)
    )
    return target, result, seen


def test_the_loss_falls(trained: tuple[Path, SftResult, list[tuple[int, str]]]) -> None:
    _, result, seen = trained
    assert result.loss_last < result.loss_first - 0.3
    assert result.validation["loss_after"] < result.validation["loss_before"]
    assert abs(result.loss_first - math.log(600)) < 1.0  # an untrained model guesses evenly
    assert {(step, "loss") for step in range(1, 9)} <= set(seen)
    assert len(seen) == len(set(seen))
    assert result.examples == 6 and result.dropped == {} and result.trained_tokens < result.tokens


def test_the_folder_is_an_ordinary_one(trained: tuple[Path, SftResult, list[tuple[int, str]]]) -> None:
    target, result, _ = trained
    assert folder_problem(target) is None
    model = AutoModelForCausalLM.from_pretrained(str(target))
    tokenizer = AutoTokenizer.from_pretrained(str(target))
    assert type(model).__name__ == result.architecture == "Qwen3ForCausalLM"
    assert sum(p.numel() for p in model.parameters()) == result.parameters
    assert model.config.use_cache and model.config.eos_token_id == tokenizer.eos_token_id
    assert not target.with_name("one.partial").exists()


def test_two_runs_agree(trained: tuple[Path, SftResult, list[tuple[int, str]]], start: Path, tmp_path: Path) -> None:
    target, result, _ = trained
    again = train(start, corpus(), tmp_path / "two", CONFIG)
    assert abs(again.loss_last - result.loss_last) < 1e-4
    one, two = load_model(target).state_dict(), load_model(tmp_path / "two").state_dict()
    assert max(float((one[name] - two[name]).abs().max()) for name in one) < 1e-4
    other = train(start, corpus(), tmp_path / "three", SftConfig(steps=8, max_length=4096, batch_size=2, seed=2))
    assert abs(other.loss_last - result.loss_last) > 1e-6  # the seed means something


def test_the_loss_is_on_the_assistant_only(start: Path, tmp_path: Path) -> None:
    """The trainer's first loss equals the loss worked out by hand under the mask, and not the one over all tokens."""
    conversation = corpus(1)[0]
    result = train(start, [conversation], tmp_path / "out", SftConfig(steps=1, max_length=4096))
    row = Encoder(load_tokenizer(start)).encode(conversation)
    ids = torch.tensor([row.input_ids])
    with torch.no_grad():
        logits = load_model(start)(ids).logits[0, :-1]
    losses = torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="none")
    mask = torch.tensor(row.assistant_masks[1:], dtype=torch.bool)
    assert abs(result.loss_first - float(losses[mask].mean())) < 1e-4
    assert abs(float(losses.mean()) - float(losses[mask].mean())) > 1e-3


def test_labels_that_differ_from_the_mask_are_refused(start: Path) -> None:
    row = Encoder(load_tokenizer(start)).encode(corpus(1)[0])
    right = [t if m else -100 for t, m in zip(row.input_ids, row.assistant_masks, strict=True)]
    check_labels(Dataset.from_dict({"labels": [right]}), [row])
    with pytest.raises(StageError, match="labels of row 0 are not our mask"):
        check_labels(Dataset.from_dict({"labels": [row.input_ids]}), [row])


def test_nothing_to_train_on(start: Path, tmp_path: Path) -> None:
    with pytest.raises(StageError, match=r"none of 1 conversations can be trained on: \{'too_long': 1\}"):
        train(start, corpus(1), tmp_path / "out", SftConfig(steps=1, max_length=10))
    with pytest.raises(StageError, match="none given"):
        train(start, [], tmp_path / "out", SftConfig(steps=1))
    with pytest.raises(StageError, match="no_assistant"):
        train(start, [Conversation([{"role": "user", "content": "x"}])], tmp_path / "out", SftConfig(steps=1))
    assert not (tmp_path / "out").exists()


def test_a_loss_that_is_not_finite_publishes_nothing(start: Path, tmp_path: Path) -> None:
    with pytest.raises(StageError, match="the loss is not finite"):
        train(start, corpus(2), tmp_path / "out", SftConfig(steps=6, learning_rate=1e30, max_length=4096))
    assert not (tmp_path / "out").exists()


def test_the_seed_makes_the_model() -> None:
    tokenizer = train_tokenizer(corpus(1), vocab_size=300)
    one, two, other = (
        init_model(tokenizer, ModelConfig(hidden_size=16, heads=2, seed=s)).state_dict() for s in (1, 1, 2)
    )
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_a_damaged_folder_is_named(trained: tuple[Path, SftResult, list[tuple[int, str]]], tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    assert "is not there" in str(folder_problem(copy))
    shutil.copytree(trained[0], copy)
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    assert "its header says" in str(folder_problem(copy))
    weights.write_bytes(b"xx")
    assert "cut or no safetensors" in str(folder_problem(copy))
    weights.unlink()
    assert "holds no .safetensors" in str(folder_problem(copy))
    (copy / "config.json").write_text("{")
    assert "is not JSON" in str(folder_problem(copy))
