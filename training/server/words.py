"""Tokens to text as they come: bytes, characters that span tokens, stop strings.

Belongs here: text of tokens. Does not belong here: what the text means (`training/turns.py`).
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from training.turns import held

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class TokenBytes:
    """The bytes of each token of a byte-level tokenizer."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self._tokens: list[str] = list(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
        self._added = {int(index) for index in tokenizer.added_tokens_decoder}

    def of(self, token: int) -> bytes:
        """Bytes of a token; those of padding rows of the vocabulary are none."""
        if token >= len(self._tokens) or self._tokens[token] is None:
            return b""
        text = self._tokens[token]
        if token in self._added:
            return text.encode("utf-8")
        return bytes(self._alphabet[character] for character in text)

    @cached_property
    def _alphabet(self) -> dict[str, int]:
        """How byte-level tokenizers write bytes: printable ones as themselves, the rest as U+0100 and on."""
        printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        others = [byte for byte in range(256) if byte not in printable]
        return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


class TextStream:
    """Text that is certain: no half characters, and nothing that may still become a stop string."""

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self.stopped = False
        self._stops = [stop for stop in stops if stop]
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._waiting = ""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """Take the bytes of a token; returns what is certain. After a stop string nothing comes any more."""
        if self.stopped:
            return ""
        self._waiting += self._decoder.decode(data, final)
        found = [at for stop in self._stops if (at := self._waiting.find(stop)) >= 0]
        if found:
            self.stopped = True
            return self._take(min(found))
        keep = 0 if final else max((held(self._waiting, stop) for stop in self._stops), default=0)
        return self._take(len(self._waiting) - keep)

    def _take(self, length: int) -> str:
        taken, self._waiting = self._waiting[:length], self._waiting[length:]
        return taken
