"""Tokens that model calls used, what they cost, and an estimate where nobody counted them.

Belongs here: the sum type and reading it from an answer. Does not belong here: keeping below a cap (`account.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assets.profile import Price
from lake.ids import Json

BYTES_PER_TOKEN = 4
"""For estimates, over requests (JSON) and answers alike."""


@dataclass(frozen=True)
class Usage:
    """Tokens."""

    prompt: int = 0
    """Cached ones included."""
    cached: int = 0
    """Of the prompt, those the endpoint had at hand."""
    completion: int = 0
    estimated: int = 0
    """Of prompt and completion together, those that nobody counted."""

    @property
    def tokens(self) -> int:
        """Prompt and completion."""
        return self.prompt + self.completion

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.completion + other.completion,
            self.estimated + other.estimated,
        )

    def cost(self, price: Price | None) -> float | None:
        """Money for it, in the currency of the price; null where there is no price."""
        if price is None:
            return None
        cached = price.input if price.cached is None else price.cached
        fresh = self.prompt - self.cached
        return (fresh * price.input + self.cached * cached + self.completion * price.output) / 1_000_000


def stated_usage(stated: Mapping[str, Json] | None) -> Usage | None:
    """What `usage` of an answer says; null where it counts nothing (all zeros is what endpoints send that do not)."""
    prompt, completion = _count(stated, "prompt_tokens"), _count(stated, "completion_tokens")
    if prompt + completion == 0:
        return None
    details = (stated or {}).get("prompt_tokens_details")
    cached = _count(details if isinstance(details, dict) else None, "cached_tokens")
    return Usage(prompt, min(cached, prompt), completion)


def estimated_prompt(request_bytes: int) -> int:
    """Tokens of a request by its size."""
    return -(-request_bytes // BYTES_PER_TOKEN)


def estimated(request_bytes: int, said: str) -> Usage:
    """Tokens of a request and its answer by their sizes, said to be estimated."""
    prompt = estimated_prompt(request_bytes)
    completion = -(-len(said.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
    return Usage(prompt, 0, completion, prompt + completion)


def _count(counts: Mapping[str, Json] | None, name: str) -> int:
    value = (counts or {}).get(name)
    return max(0, int(value)) if isinstance(value, int | float) and not isinstance(value, bool) else 0
