"""The ways a question ends without an answer.

Belongs here: `LlmError` (this question: data, the record is set aside) and `OutOfBudget` (nothing more is asked). What
every further question would meet too (a wrong key, an unknown model) is a `StageError`.
"""

from __future__ import annotations

from typing import Literal

Failure = Literal["refused", "malformed", "too_long", "rejected", "unanswered"]
"""refused: the model would not; malformed: no fitting JSON after the repair round; too_long: cut at the limit twice;
rejected: the endpoint will never take the request; unanswered: busy, broken or silent at every try."""


class LlmError(Exception):
    """One question has no usable answer."""

    def __init__(self, kind: Failure, detail: str, call_id: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: Failure = kind
        self.detail = detail
        self.call_id = call_id

    @property
    def passing(self) -> bool:
        """Whether the same question may be answered another time."""
        return self.kind == "unanswered"


class OutOfBudget(Exception):  # noqa: N818 - no error: the end that was asked for
    """The account has no room for the next call."""
