"""What policies of endpoints have used, from the proxy's records, and what rollouts that are open will use.

The records are the facts: those in the log, and those of attempts whose folder is not taken in yet. Prices are
settings, so a new price changes what old calls cost. Does not belong here: holding requests back (`llm/account.py`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import sql
from assets.llm.usage import Usage
from assets.profile import EndpointSection
from assets.rollouts.plan import AttemptState, PlannedAttempt
from assets.rollouts.policies import resolve
from assets.rollouts.proxy.record import bytes_of
from assets.rollouts.proxy.usage import usage_of
from lake import Lake
from lake.ids import Json
from lake.leftovers import attempt_folder

PAPER_TOKENS = 18_670
PAPER_TURNS = 13
"""Means of a conversation in the paper's training set: its tokens, and its turns."""

Basis = Literal["own attempts", "profile", "paper"]


@dataclass
class Spent:
    """What a policy has used."""

    model: str
    calls: int = 0
    """Upstream tries."""
    usage: Usage = field(default_factory=Usage)
    least_prompt: int = 0
    """Of the calls that were answered, the prompt of the smallest; 0 when none was. Tokens."""
    attempts: dict[str, Usage] = field(default_factory=lambda: defaultdict(Usage))
    """By attempt, whatever its ending."""


@dataclass(frozen=True)
class Prediction:
    """What the open rollouts of a policy will use, between a low and a high figure."""

    policy: str
    attempts: int
    """Open rollouts; done ones cost nothing."""
    basis: Basis
    basis_n: int
    """Past attempts the figures are the mean of; 0 for the other bases."""
    low: Usage
    high: Usage
    cost_low: float | None
    """Null: the model has no price."""
    cost_high: float | None


def spent(lake: Lake, states: Mapping[str, Sequence[AttemptState]]) -> dict[str, Spent]:
    """Endpoint policy to what it has used."""
    policies = {
        state.planned.attempt_id: state.planned.policy
        for attempts in states.values()
        for state in attempts
        if state.planned.policy_kind == "endpoint"
    }
    found: dict[str, Spent] = {}
    for record in _records(lake, sorted(policies)):
        policy = policies[record["attempt_id"]]
        one = found.setdefault(policy, Spent(resolve(policy).model.model))
        usage = _usage(record)
        one.calls += 1
        if usage.prompt:
            one.least_prompt = min(usage.prompt, one.least_prompt or usage.prompt)
        one.usage += usage
        one.attempts[record["attempt_id"]] += usage
    return dict(sorted(found.items()))


def predict(
    settings: EndpointSection,
    open_rollouts: Sequence[PlannedAttempt],
    before: Mapping[str, Spent],
    states: Mapping[str, Sequence[AttemptState]],
) -> list[Prediction]:
    """What these rollouts will use, a prediction for each endpoint policy among them.

    Means of the policy's own attempts that ended by the agent, where there are some; else `expected_tokens` of the
    profile; else the paper's mean conversation, sent again with every turn. The last two do not say how much of it are
    answers or cached, so that their costs are bounds: all of it prompt and as cheap as it gets, or none cached and the
    whole conversation answers.
    """
    ended = {s.planned.attempt_id for attempts in states.values() for s in attempts if s.ending_kind == "agent"}
    counts: dict[str, int] = defaultdict(int)
    for attempt in open_rollouts:
        if attempt.policy_kind == "endpoint":
            counts[attempt.policy] += 1
    predictions = []
    for policy, count in sorted(counts.items()):
        past = [u for a, u in (before[policy].attempts if policy in before else {}).items() if a in ended]
        basis, low, high = _one_attempt(settings, past)
        price = settings.prices.get(resolve(policy).model.model)
        low, high = _times(low, count), _times(high, count)
        predictions.append(Prediction(policy, count, basis, len(past), low, high, low.cost(price), high.cost(price)))
    return predictions


def _one_attempt(settings: EndpointSection, past: Sequence[Usage]) -> tuple[Basis, Usage, Usage]:
    if past:
        total = sum(past, Usage())
        mean = Usage(*(round(value / len(past)) for value in (total.prompt, total.cached, total.completion)))
        return "own attempts", mean, mean
    if settings.expected_tokens is not None:
        tokens = settings.expected_tokens
        return "profile", Usage(tokens, tokens, 0), Usage(0, 0, tokens)
    # A conversation that grows evenly over n turns to T tokens is sent n times, T (n - 1) / 2 tokens of prompts in all.
    prompts = PAPER_TOKENS * (PAPER_TURNS - 1) // 2
    low = Usage(prompts + PAPER_TOKENS, prompts + PAPER_TOKENS, 0)
    return "paper", low, Usage(prompts, 0, PAPER_TOKENS)


def _times(usage: Usage, count: int) -> Usage:
    return Usage(usage.prompt * count, usage.cached * count, usage.completion * count)


def _records(lake: Lake, attempts: Sequence[str]) -> Iterator[Mapping[str, Json]]:
    """The proxy's records of attempts, each once; folders first, since one may be taken in meanwhile."""
    seen: set[str] = set()
    for attempt_id in attempts:
        path = attempt_folder(lake.root, attempt_id) / "proxy.jsonl"
        try:
            lines = path.read_bytes().splitlines()
        except OSError:
            continue
        yield from _new(seen, attempt_id, lines)
    if not attempts:
        return
    rows = lake.sql(sql.load("rollouts/spend"), {"attempts": list(attempts)}).fetchall()
    for _, attempt_id, raw, blob in rows:
        yield from _new(seen, str(attempt_id), [lake.blob(blob) if raw is None else bytes(raw)])


def _new(seen: set[str], attempt_id: str, lines: Sequence[bytes]) -> Iterator[Mapping[str, Json]]:
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue  # the torn end of what a killed runner wrote
        if isinstance(record, dict) and record.get("attempt_id") == attempt_id and record["record_id"] not in seen:
            seen.add(record["record_id"])
            yield record


def _usage(record: Mapping[str, Json]) -> Usage:
    return usage_of(
        record["usage"],
        status=record["status"],
        error=record["error"],
        request_bytes=int(record["request"]["size"]),
        response=bytes_of(record["response"]["body"]),
    )
