"""Conversations to token ids and assistant masks, and the proof that the masks are right.

Belongs here: encoding (shared by trainers and the policy server), the invariants of a row, decoding the mask back.
Does not belong here: the format itself (`chat.py`), any trainer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

import numpy as np
from tokenizers import Tokenizer

from training.chat import (
    CONTROL,
    END_OF_TURN,
    START_OF_TURN,
    Conversation,
    assistant_text,
    is_trained,
    normalise,
    render,
)
from training.turns import parse

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True)
class Row:
    """One tokenised conversation."""

    input_ids: list[int]
    assistant_masks: list[int]
    """1 where the model generates the token, else 0."""


@dataclass(frozen=True)
class Tokenised:
    """The rows that can be trained on, in the order given, and why the others cannot."""

    rows: list[Row]
    kept: list[int]
    """Index of each row's conversation."""
    dropped: dict[str, int]
    """Reason to count: `too_long` (never cut), or the first broken invariant."""

    @property
    def tokens(self) -> int:
        """Tokens of all rows."""
        return sum(len(row.input_ids) for row in self.rows)

    @property
    def trained_tokens(self) -> int:
        """Tokens the loss is on."""
        return sum(sum(row.assistant_masks) for row in self.rows)


class Recalls(Protocol):
    """Knows the ids that turns were generated with."""

    def find(self, before: bytes, text: str) -> list[int] | None:
        """Ids of the turn `text` after ids whose sha256 (of `ids_bytes`) is `before`; None where it is not known."""


def ids_bytes(ids: Sequence[int]) -> bytes:
    """Ids as bytes for hashing: 32 bits each, little-endian."""
    return np.asarray(ids, dtype="<i4").tobytes()


class Encoder:
    """Encodes rendered conversations with one tokenizer.

    Each piece is encoded on its own, so a token never spans the border between what is given and what is generated:
    the ids of a prompt are exactly the beginning of the ids of the prompt with its answer.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        self._plain = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._plain.encode_special_tokens = True  # control tokens written inside a message stay characters
        self._control = {token: tokenizer.get_vocab()[token] for token in CONTROL}
        self.end_of_turn = self._control[END_OF_TURN]
        self.start_of_turn = self._control[START_OF_TURN]

    def encode(
        self, conversation: Conversation, *, generation_prompt: bool = False, recall: Recalls | None = None
    ) -> Row:
        """Ids and mask of a conversation; linear in its length.

        Args:
            conversation: what to encode.
            generation_prompt: whether to end with the opening of an assistant turn.
            recall: knows with which ids assistant turns were generated; those are taken where it does.
        """
        pieces = render(conversation, generation_prompt=generation_prompt)
        texts = [piece.text for piece in pieces if not piece.control]
        encoded = iter(self._plain.encode_batch_fast(texts, add_special_tokens=False))
        ids: list[int] = []
        mask: list[int] = []
        running = sha256()
        for piece in pieces:
            found: Sequence[int] = [self._control[piece.text]] if piece.control else next(encoded).ids
            if recall is not None:
                if piece.trained and not piece.control:
                    found = recall.find(running.digest(), piece.text) or found
                running.update(ids_bytes(found))
            ids += found
            mask += [int(piece.trained)] * len(found)
        return Row(ids, mask)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, control tokens included."""
        return str(self._plain.decode(list(ids), skip_special_tokens=False))


def masked_runs(row: Row) -> list[list[int]]:
    """The stretches of ids under the mask, in order."""
    pairs = zip(row.input_ids, row.assistant_masks, strict=True)
    return [[token for token, _ in group] for trained, group in groupby(pairs, key=lambda pair: pair[1]) if trained]


def broken_invariant(encoder: Encoder, conversation: Conversation, row: Row) -> str | None:
    """The first invariant the row breaks, or None.

    `no_assistant` (empty mask) · `no_end_of_turn` (a masked run does not end on the end-of-turn token) ·
    `foreign_token` (a control token inside a run, so it holds more than one turn or part of another) ·
    `missing_turn` (runs and trained assistant messages differ in number) · `other_text` (the decoded run is not the
    text of its message) · `not_invertible` (the text does not parse back to the message: a call whose arguments are no
    JSON object, or words that read as a call).
    """
    runs = masked_runs(row)
    if not runs:
        return "no_assistant"
    for run in runs:
        if run[-1] != encoder.end_of_turn:
            return "no_end_of_turn"
        if encoder.end_of_turn in run[:-1] or encoder.start_of_turn in run:
            return "foreign_token"
    wanted = [normalise(m) for m in conversation.messages if is_trained(m)]
    if len(wanted) != len(runs):
        return "missing_turn"
    for message, run in zip(wanted, runs, strict=True):
        text = encoder.decode(run[:-1])
        if text != assistant_text(message):
            return "other_text"
        turn = parse(text)
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
        found = (turn.reasoning, turn.content, [(call.name, call.arguments) for call in turn.calls])
        if found != (message.get("reasoning_content", ""), message["content"], calls):
            return "not_invertible"
    return None


def tokenise(encoder: Encoder, conversations: Iterable[Conversation], *, max_length: int) -> Tokenised:
    """Encode conversations; rows that are too long or break an invariant are left out and counted, never cut.

    Args:
        encoder: the tokenizer.
        conversations: what to encode.
        max_length: longest row in tokens.
    """
    rows: list[Row] = []
    kept: list[int] = []
    dropped: Counter[str] = Counter()
    for index, conversation in enumerate(conversations):
        row = encoder.encode(conversation)
        reason = "too_long" if len(row.input_ids) > max_length else broken_invariant(encoder, conversation, row)
        if reason is not None:
            dropped[reason] += 1
            continue
        rows.append(row)
        kept.append(index)
    return Tokenised(rows, kept, dict(sorted(dropped.items())))
