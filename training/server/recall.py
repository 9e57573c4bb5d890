"""The ids a turn was generated with, for when it comes back as text in the next request.

A model may write a text in other tokens than the tokenizer would. Encoding the text afresh would then change what the
model is said to have seen, break the prefix cache, and train on tokens nobody sampled. So turns that ended properly
are remembered by what came before them and by their text, and put in again as they were.
Does not belong here: encoding itself (`training/tokenise.py`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from training.tokenise import ids_bytes

_TURNS: Final = 4096


class Recall:
    """Remembers turns; the one not used for longest goes first. Safe to use from threads."""

    def __init__(self, turns: int = _TURNS) -> None:
        self._turns: OrderedDict[tuple[bytes, str], list[int]] = OrderedDict()
        self._max = turns
        self._lock = threading.Lock()

    def remember(self, prompt: Sequence[int], text: str, tokens: Sequence[int]) -> None:
        """Remember that after `prompt` the model wrote `text` as `tokens`, end of turn not among them."""
        with self._lock:
            self._turns[(sha256(ids_bytes(prompt)).digest(), text)] = list(tokens)
            while len(self._turns) > self._max:
                self._turns.popitem(last=False)

    def find(self, before: bytes, text: str) -> list[int] | None:
        """The ids of a turn.

        Args:
            before: sha256 of all ids before it.
            text: its text as the format renders it.
        """
        with self._lock:
            found = self._turns.get((before, text))
            if found is not None:
                self._turns.move_to_end((before, text))
            return found
