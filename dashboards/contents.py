"""Contents of files as the pages show them: text, with secrets masked as in everything derived.

Belongs here: from bytes of the log to text that may be shown. Does not belong here: which file, layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dashboards.connection import blob
from lake.masking import Masker

SHOWN: Final = 200_000
"""Most of a file that is shown. Characters."""
MARGIN: Final = 8_192
"""Read beyond what is shown, so that no secret is cut in two and escapes the mask. Bytes."""


@dataclass(frozen=True)
class Shown:
    """The text of a file, or its beginning."""

    text: str
    whole: int
    """Size of the whole file. Bytes."""
    cut: bool
    masked: int
    """Distinct secrets masked in what was read, by this masker."""


def text_of(sha256: str, masker: Masker, *, replace: bool = False) -> Shown | None:
    """The text of a content of the log, masked; null when it is not there, or no text.

    Args:
        sha256: the content.
        masker: numbers what can be guessed; contents that are shown together share one.
        replace: show what is no UTF-8 as replacement characters, instead of nothing.
    """
    data = blob(sha256)
    if data is None:
        return None
    cut = len(data) > SHOWN + MARGIN
    part = data[: SHOWN + MARGIN]
    try:
        text = part.decode("utf-8", "replace" if replace else "ignore" if cut else "strict")
    except UnicodeDecodeError:
        return None
    masked = masker.mask(text)
    end = min(SHOWN, len(masked) - MARGIN) if cut else len(masked)
    return Shown(masked[:end], len(data), cut, masker.count)
