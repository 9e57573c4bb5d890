"""Keys and values of prompts seen before, for requests that extend each other.

Belongs here: finding the longest shared beginning, and a bound on what is kept. Does not belong here: the model.

An entry is never changed: the model's cache grows by concatenation, so what it was started from stays as it is and may
be shared by requests that run at the same time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

Layers = Sequence[tuple["torch.Tensor", "torch.Tensor"]]
"""Keys and values of each layer: (1, heads, tokens, head size)."""


@dataclass(frozen=True)
class Entry:
    """The keys and values of some ids."""

    ids: npt.NDArray[np.int64]
    layers: Layers


class PrefixCache:
    """Keeps entries up to a number of tokens; the one not used for longest goes first. Safe to use from threads."""

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._next = 0
        self._lock = threading.Lock()

    @property
    def tokens(self) -> int:
        """Tokens kept now."""
        return sum(len(entry.ids) for entry in self._entries.values())

    def find(self, ids: Sequence[int]) -> tuple[int, Layers]:
        """The longest beginning of `ids` that is known, at most all but the last of them, and its keys and values."""
        wanted = np.asarray(ids, dtype=np.int64)[:-1]
        with self._lock:
            lengths = {key: shared(entry.ids, wanted) for key, entry in self._entries.items()}
            if not lengths or (longest := max(lengths.values())) == 0:
                return 0, ()
            key = next(key for key, length in lengths.items() if length == longest)
            self._entries.move_to_end(key)
            layers = self._entries[key].layers
        return longest, [(keys[:, :, :longest], values[:, :, :longest]) for keys, values in layers]

    def keep(self, ids: Sequence[int], layers: Layers) -> None:
        """Keep the keys and values of `ids`. Entries that are a beginning of it are no longer needed."""
        array = np.asarray(ids, dtype=np.int64)
        if not len(array) or len(array) > self.max_tokens:
            return
        with self._lock:
            for key in [key for key, e in self._entries.items() if shared(e.ids, array) == len(e.ids)]:
                del self._entries[key]
            self._entries[self._next] = Entry(array, layers)
            self._next += 1
            while self.tokens > self.max_tokens:
                self._entries.popitem(last=False)


def shared(one: npt.NDArray[np.int64], two: npt.NDArray[np.int64]) -> int:
    """Length of the common beginning."""
    size = min(len(one), len(two))
    differs = np.flatnonzero(one[:size] != two[:size])
    return int(differs[0]) if len(differs) else size
