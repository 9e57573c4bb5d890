"""The local tokenizer: deterministic, byte-exact, an ordinary folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from lake.errors import StageError
from tests.training.conversations import corpus
from training.chat import CONTROL, MARKS
from training.tokenise import Encoder
from training.tokenizer import load_tokenizer, tokenizer_sha256, train_tokenizer


def test_same_texts_same_tokenizer(tokenizer: PreTrainedTokenizerFast) -> None:
    again = train_tokenizer(corpus(), vocab_size=600)
    assert again.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
    other = train_tokenizer(corpus(2), vocab_size=600)
    assert other.backend_tokenizer.to_str() != tokenizer.backend_tokenizer.to_str()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_comes_back(encoder: Encoder, text: str) -> None:
    ids = encoder._plain.encode(text, add_special_tokens=False).ids
    assert encoder.decode(ids) == text


def test_the_folder_is_an_ordinary_one(start: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    loaded = AutoTokenizer.from_pretrained(str(start))
    text = "[Tue 2026-12-01 03:35 UTC] Sum input/e.csv — ✓<|im_end|>\n<tool_call>"
    assert loaded(text)["input_ids"] == tokenizer(text)["input_ids"]
    assert loaded.eos_token == "<|im_end|>" and loaded.pad_token == "<|endoftext|>"
    assert loaded.chat_template == tokenizer.chat_template
    assert all(len(loaded(token)["input_ids"]) == 1 for token in (*CONTROL, *MARKS))
    assert len(tokenizer_sha256(start)) == 64


def test_too_small_a_vocabulary() -> None:
    with pytest.raises(StageError, match="vocab_size 200 is below"):
        train_tokenizer(corpus(1), vocab_size=200)


def test_a_folder_without_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(StageError, match=r"holds no tokenizer\.json"):
        load_tokenizer(tmp_path)
