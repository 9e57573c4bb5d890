"""How near two instructions are: an embedder that needs no model, and the greedy rule over all categories.

Belongs here: embedding and comparison. Does not belong here: what is compared with what (`effect.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

WIDTH: Final = 4096
_WORD: Final = re.compile(r"[^\W_]+")


class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def name(self) -> str:
        """With its version; thresholds belong to it."""

    @property
    def width(self) -> int:
        """Numbers in a vector."""

    def __call__(self, text: str) -> Vector:
        """A vector of length 1 (or 0, for a text without words)."""


@dataclass(frozen=True)
class HashingEmbedder:
    """Words and pairs of neighbouring words of the whole text, hashed; counts damped by their logarithm."""

    name: str = "hashing:1"
    width: int = WIDTH

    def __call__(self, text: str) -> Vector:
        """Embed it. Numbers and paths count like words."""
        words = _WORD.findall(text.lower())
        counts = Counter([*words, *(f"{a} {b}" for a, b in pairwise(words))])
        vector = np.zeros(WIDTH, np.float32)
        for token, count in sorted(counts.items()):
            place = crc32(token.encode("utf-8", "surrogatepass"))
            vector[place % WIDTH] += (1.0 if place & 0x8000_0000 else -1.0) * (1.0 + np.log(np.float32(count)))
        length = float(np.linalg.norm(vector))
        return vector / np.float32(length) if length else vector


class Kept:
    """Instructions that later ones must differ from; each is embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._rows: dict[str, int] = {}
        self._matrix: Vector = np.zeros((0, embedder.width), np.float32)
        self._counts: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def only(self, texts: Mapping[str, str], names: Collection[str]) -> None:
        """Let exactly these count, whatever was kept before.

        Args:
            texts: name to instruction, of all that may be named.
            names: those that count.
        """
        self._counts[:] = False
        for name in sorted(names):
            self.keep(name, texts[name])

    def keep(self, name: str, text: str) -> None:
        """Let one count. A name stands for one text."""
        if name not in self._rows:
            self._rows[name] = len(self._rows)
            if len(self._rows) > len(self._matrix):
                more = max(64, len(self._matrix))
                self._matrix = np.vstack([self._matrix, np.zeros((more, self.embedder.width), np.float32)])
                self._counts = np.concatenate([self._counts, np.zeros(more, np.bool_)])
            self._matrix[self._rows[name]] = self.embedder(text)
        self._counts[self._rows[name]] = True

    def nearest(self, text: str) -> tuple[str | None, float]:
        """The counting instruction nearest to a text, and the cosine to it; (null, 0) where none counts."""
        if not self._counts.any():
            return None, 0.0
        cosines = np.where(self._counts, self._matrix @ self.embedder(text), -np.inf)
        at = int(np.argmax(cosines))
        return next(name for name, row in self._rows.items() if row == at), float(cosines[at])
