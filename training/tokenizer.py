"""A tokenizer trained locally: byte-level BPE with the tokens of the chat format.

Belongs here: training one from texts, saving and loading a tokenizer folder, its digests. Does not belong here: what
the texts are, the chat format (`chat.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from lake.errors import StageError
from lake.ids import sha256_hex
from training.chat import CONTROL, END_OF_TEXT, END_OF_TURN, MARKS, TEMPLATE_PATH, Conversation, render

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Qwen's tokenizers cut text before merging; digits stand alone."""


def train_tokenizer(conversations: Iterable[Conversation], *, vocab_size: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer on rendered conversations. The same texts give the same tokenizer.

    No Unicode normalisation (Qwen's tokenizers apply NFC): file contents must come back byte for byte.

    Args:
        conversations: what to learn from.
        vocab_size: upper bound of the whole vocabulary, at least 256 bytes and the tokens of the format.
    """
    from transformers import PreTrainedTokenizerFast

    named = len(CONTROL) + len(MARKS)
    if vocab_size < 256 + named:
        raise StageError(f"vocab_size {vocab_size} is below {256 + named} (all bytes and the tokens of the format)")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - named,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(conversations), trainer=trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in CONTROL])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in MARKS])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        eos_token=END_OF_TURN,
        pad_token=END_OF_TEXT,
        chat_template=TEMPLATE_PATH.read_text(encoding="utf-8"),
        clean_up_tokenization_spaces=False,
    )


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """The tokenizer of a checkpoint folder, with this project's chat template.

    Raises:
        StageError: the folder holds none, or one without the tokens of the chat format.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    if not (folder / "tokenizer.json").is_file():
        raise StageError(f"{folder} holds no tokenizer.json; name a transformers checkpoint folder")
    tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise StageError(
            f"the tokenizer in {folder} is a {type(tokenizer).__name__}; one with a tokenizer.json is needed"
        )
    vocabulary = tokenizer.get_vocab()
    missing = [token for token in (*CONTROL, *MARKS) if token not in vocabulary]
    if missing:
        raise StageError(
            f"the tokenizer in {folder} has no token {', '.join(missing)}; use a Qwen3-style checkpoint as base_model"
        )
    tokenizer.chat_template = TEMPLATE_PATH.read_text(encoding="utf-8")
    return tokenizer


def tokenizer_sha256(folder: Path) -> str:
    """sha256 (hex) of `tokenizer.json` in a checkpoint folder."""
    return sha256_hex((folder / "tokenizer.json").read_bytes())


def template_sha256() -> str:
    """sha256 (hex) of the chat template."""
    return sha256_hex(TEMPLATE_PATH.read_bytes())


def _texts(conversations: Iterable[Conversation]) -> Iterator[str]:
    for conversation in conversations:
        for piece in render(conversation):
            if not piece.control:
                yield piece.text
