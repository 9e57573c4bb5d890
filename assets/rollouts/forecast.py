"""Before anything is spent: how many attempts are open, what they will use and cost, what was spent, which caps hold.

Belongs here: putting a forecast together, and its lines. Does not belong here: the figures (`spend.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from assets.llm.usage import Usage
from assets.profile import EndpointSection
from assets.rollouts.plan import PlannedAttempt, rollout_states
from assets.rollouts.spend import PAPER_TOKENS, PAPER_TURNS, Prediction, Spent, predict, spent
from assets.stage import Context
from lake.ids import Json


@dataclass(frozen=True)
class Forecast:
    """What a batch is going to ask for."""

    rollouts: int
    done: int
    free: int
    """Open rollouts of policies that ask no endpoint."""
    predictions: Sequence[Prediction]
    spent: Mapping[str, Spent]
    settings: EndpointSection

    def json(self) -> dict[str, Json]:
        """As JSON; what is not known is null."""
        limits = self.settings
        return {
            "rollouts": self.rollouts,
            "done": self.done,
            "without_endpoint": self.free,
            "predictions": [_prediction_json(one) for one in self.predictions],
            "spent": [_spent_json(name, one, limits) for name, one in self.spent.items()],
            "currency": limits.currency,
            "spend_limit": limits.spend_limit,
            "token_limit": limits.token_limit,
        }

    def lines(self) -> Iterator[str]:
        """For people."""
        endpoint = sum(one.attempts for one in self.predictions)
        yield f"{self.rollouts} rollouts: {self.done} done, {self.free} without an endpoint, {endpoint} through one"
        for one in self.predictions:
            money = _range(one.cost_low, one.cost_high, self.settings.currency)
            yield f"{one.policy}: {one.attempts} attempts, about {one.high.tokens:,} tokens, cost {money}"
            yield f"  basis: {_basis(one)}"
        yield from self.spent_lines()
        yield f"caps of this lake: {_caps(self.settings)}"

    def spent_lines(self) -> Iterator[str]:
        """What was spent so far, a line a policy."""
        for name, one in self.spent.items():
            cost = one.usage.cost(self.settings.prices.get(one.model))
            guessed = f", {one.usage.estimated:,} of them estimated" if one.usage.estimated else ""
            yield (
                f"spent so far by {name}: {one.usage.tokens:,} tokens in {one.calls:,} calls{guessed}, cost"
                f" {_range(cost, cost, self.settings.currency)}"
            )


def forecast(ctx: Context, attempts: Sequence[PlannedAttempt]) -> Forecast:
    """The forecast of a batch.

    Args:
        attempts: as `plan_batch` or `preview_batch` give them.
    """
    states = rollout_states(ctx.lake)
    still = [a for a in attempts if not any(s.ending_kind == "agent" for s in states.get(a.rollout_id, ()))]
    before = spent(ctx.lake, states)
    return Forecast(
        rollouts=len(attempts),
        done=len(attempts) - len(still),
        free=sum(attempt.policy_kind != "endpoint" for attempt in still),
        predictions=predict(ctx.profile.endpoint, still, before, states),
        spent=before,
        settings=ctx.profile.endpoint,
    )


def _range(low: float | None, high: float | None, currency: str) -> str:
    if low is None or high is None:
        return "unknown (no price for the model; lower bound unknown)"
    return f"{low:.4f} {currency}" if low == high else f"{low:.4f} to {high:.4f} {currency}"


def _basis(one: Prediction) -> str:
    if one.basis == "own attempts":
        return f"mean of {one.basis_n} past attempts of this policy in the lake"
    if one.basis == "profile":
        return "endpoint.expected_tokens of the profile; low: all of it cached prompt, high: all of it answers"
    return (
        f"no past attempt; the paper's mean conversation of {PAPER_TOKENS / 1000:.2f}K tokens in {PAPER_TURNS} turns,"
        " sent again with every turn; low: all cached, high: none cached and all of it answers"
    )


def _caps(settings: EndpointSection) -> str:
    caps = [] if settings.token_limit is None else [f"{settings.token_limit:,} tokens"]
    caps += [] if settings.spend_limit is None else [f"{settings.spend_limit:g} {settings.currency}"]
    return " and ".join(caps) or "none (set endpoint.token_limit or endpoint.spend_limit)"


def _usage_json(usage: Usage) -> dict[str, Json]:
    return {**asdict(usage), "tokens": usage.tokens}


def _prediction_json(one: Prediction) -> dict[str, Json]:
    return {
        "policy": one.policy,
        "attempts": one.attempts,
        "basis": one.basis,
        "basis_n": one.basis_n,
        "tokens": one.high.tokens,
        "low": _usage_json(one.low),
        "high": _usage_json(one.high),
        "cost_low": one.cost_low,
        "cost_high": one.cost_high,
    }


def _spent_json(name: str, one: Spent, settings: EndpointSection) -> dict[str, Json]:
    cost = one.usage.cost(settings.prices.get(one.model))
    return {"policy": name, "calls": one.calls, "attempts": len(one.attempts), **_usage_json(one.usage), "cost": cost}
