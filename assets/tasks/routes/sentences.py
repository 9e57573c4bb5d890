"""An embedder made of a sentence model on disk, such as all-MiniLM-L6-v2; needs the extra `train`.

Belongs here: loading such a folder and pooling. A text longer than the model's window is read in windows: the end of an
instruction counts as much as its beginning. Does not belong here: a model; none is brought along or downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from assets.tasks.routes.novelty import Vector
from lake.errors import SetupError
from lake.ids import sha256_hex

LONGEST: Final = 256
"""Tokens of a window, at most; the model's own limit where that is smaller."""
_WEIGHTS: Final = ("model.safetensors", "pytorch_model.bin")


class SentenceEmbedder:
    """Mean of the token vectors over all windows, at length 1."""

    def __init__(self, folder: str) -> None:
        """Load it.

        Raises:
            SetupError: the extra or the model is missing.
        """
        path = Path(folder).expanduser()
        weights = next((path / name for name in _WEIGHTS if (path / name).is_file()), None)
        if weights is None:
            raise SetupError(f"{path} holds no sentence model ({' or '.join(_WEIGHTS)}); name its folder, or `hashing`")
        try:
            import torch
            from transformers import AutoModel, AutoTokenizer
        except ImportError as error:
            raise SetupError("synthesis.embedder needs the extra `train`; install it, or set `hashing`") from error
        self._torch = torch
        self._tokenizer: Any = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
        self._model: Any = AutoModel.from_pretrained(str(path), local_files_only=True).eval()
        limit = int(getattr(self._model.config, "max_position_embeddings", LONGEST))
        self._window = min(LONGEST, limit)
        self.width = int(self._model.config.hidden_size)
        self.name = f"{path.name}:{sha256_hex(weights.read_bytes())[:12]}"

    def __call__(self, text: str) -> Vector:
        """Embed it."""
        total = np.zeros(self.width, np.float32)
        if not text.strip():
            return total
        windows = self._tokenizer(text, truncation=True, max_length=self._window, return_overflowing_tokens=True)
        for window in windows["input_ids"]:
            with self._torch.no_grad():
                states = self._model(input_ids=self._torch.tensor([window])).last_hidden_state[0]
            total += states.sum(0).numpy()
        length = float(np.linalg.norm(total))
        return total / np.float32(length) if length else total
