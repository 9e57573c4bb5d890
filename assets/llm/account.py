"""What may still be asked of the endpoints that are paid for: one account, shared by all who ask in a run.

A request is sent only when what was spent, what is reserved for requests on their way, and this request's size and
longest answer stay below the caps. The first request for which there is no room closes the account.
Does not belong here: stopping whoever asks, reading what was spent before.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from assets.llm.usage import Usage, estimated_prompt
from assets.profile import BudgetSection
from lake.errors import UsageError

_ADVICE = {
    401: "the key is wrong or missing: set OPENAI_API_KEY, in .env say",
    402: "the account has no credit left",
    403: "the key may not use this model",
    404: "there is no such address or model: look at OPENAI_BASE_URL and at the policy's name",
}
"""Answers that every further request would get too, and what to do about each."""


class Account:
    """Spending by the settings of one section of the profile. Safe to use from any thread."""

    def __init__(
        self,
        settings: BudgetSection,
        spent: Mapping[str, Usage],
        models: Sequence[str] = (),
        *,
        opening: Mapping[str, Usage] = MappingProxyType({}),
        section: str = "endpoint",
    ) -> None:
        """Open it.

        Args:
            spent: model to what it used before, by the log.
            models: those that are going to be asked.
            opening: model to the least that the first call needs; the account is closed without it.
            section: of the profile that holds the settings, as messages name it.

        Raises:
            UsageError: there is a cap in money, and a model without a price.
        """
        unpriced = sorted({*spent, *models} - set(settings.prices))
        if settings.spend_limit is not None and unpriced:
            raise UsageError(
                f"a spend_limit of {settings.spend_limit:g} {settings.currency} cannot be kept without a price for"
                f" {', '.join(unpriced)}; set [{section}.prices.{json.dumps(unpriced[0])}] input and output, or give a"
                " token_limit instead"
            )
        self._settings, self._section = settings, section
        self._spent = dict(spent)
        self._opening = dict(opening) or {"": Usage()}
        self._reserved: dict[str, tuple[str, Usage]] = {}
        self._lock = threading.Lock()
        self.closed: str | None = None
        """Why nothing more is sent, in a line; null while something may be."""
        self.refused: str | None = None
        """What an endpoint said that it will say to every request, and what to do; null when none did."""
        self.closed = self._no_room()

    def admit(self, record_id: str, model: str, request: bytes) -> str | None:
        """Reserve what a request may use; why it must not be sent, or null."""
        wanted = _most(request)
        with self._lock:
            if self.closed is None:
                self.closed = self._over(model, wanted)
            if self.closed is None:
                self._reserved[record_id] = model, wanted
            return self.closed

    def charge(self, record_id: str, model: str, usage: Usage) -> None:
        """State what a request used in the end, in place of what was reserved for it."""
        with self._lock:
            self._reserved.pop(record_id, None)
            self._spent[model] = self._spent.get(model, Usage()) + usage
            if self.closed is None:
                self.closed = self._no_room()

    def hear(self, status: int | None, said: str) -> None:
        """Take note of a final answer that no request will change.

        Args:
            said: the answer, in a line.
        """
        if status in _ADVICE and self.refused is None:
            self.refused = f"{said}; {_ADVICE[status]}"

    def _no_room(self) -> str | None:
        """Why not even the cheapest first call can be paid for; null when one can."""
        reasons = [self._over(model, wanted) for model, wanted in self._opening.items()]
        return reasons[0] if all(reasons) else None

    def _over(self, model: str, wanted: Usage) -> str | None:
        limits = self._settings
        held = [(model, wanted), *self._reserved.values()]
        if limits.token_limit is not None:
            spent = sum(usage.tokens for usage in self._spent.values())
            room = limits.token_limit - spent - sum(usage.tokens for _, usage in held)
            if room < 0 or (room == 0 and not wanted.tokens):
                return (
                    f"{spent:,} tokens spent of {self._section}.token_limit {limits.token_limit:,},"
                    " no room for the next call"
                )
        if limits.spend_limit is not None:
            money = sum(self._cost(*item) for item in self._spent.items())
            left = limits.spend_limit - money - sum(self._cost(*item) for item in held)
            if left < 0 or (left == 0 and not wanted.tokens):
                return (
                    f"{money:.4f} {limits.currency} spent of {self._section}.spend_limit {limits.spend_limit:g},"
                    " no room for the next call"
                )
        return None

    def _cost(self, model: str, usage: Usage) -> float:
        return usage.cost(self._settings.prices.get(model)) or 0.0  # every model has a price where money is capped


def _most(request: bytes) -> Usage:
    """The most a request may use: its size, and the longest answer it asks for."""
    body = json.loads(request)
    longest = [body.get(name) for name in ("max_completion_tokens", "max_tokens")]
    stated = [int(value) for value in longest if isinstance(value, int | float) and value > 0]
    return Usage(estimated_prompt(len(request)), 0, max(stated, default=0))
