"""From a policy's name to what answers for it: the one place that knows the kinds of policies.

    scripted:strong[@1]     the scripted teacher, in this process
    openai:<model>          an OpenAI-compatible endpoint: OPENAI_BASE_URL, OPENAI_API_KEY
    openai:$OPENAI_MODEL    the same, its model named in the environment
    checkpoint:<id>         a checkpoint of ours, while somebody serves it (`served_at`)

Belongs here: names, kinds, upstreams. Does not belong here: how an upstream is called (`proxy/upstream.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from assets.rollouts.openclaw.config import ModelSettings
from assets.rollouts.proxy.upstream import HttpUpstream, ScriptedUpstream, Upstream
from assets.rollouts.teacher import CHARACTERS, teacher_policy
from assets.tasks.plan import Plan
from lake.errors import SetupError, UsageError
from lake.ids import Json

PolicyKind = Literal["scripted", "checkpoint", "endpoint"]


@dataclass(frozen=True)
class Policy:
    """A policy by its full name."""

    name: str
    """With its version: `scripted:strong@1`."""
    kind: PolicyKind
    model: ModelSettings

    @property
    def needs_plan(self) -> bool:
        """Whether it can act only on tasks with a plan."""
        return self.kind == "scripted"


@dataclass(frozen=True)
class Part:
    """What a policy is given to act in one rollout."""

    task_id: str
    task_version: str
    plan: Mapping[str, Json] | None
    seed: int
    repeat: int


_served: dict[str, tuple[str, str | None, Mapping[str, Json]]] = {}


@contextmanager
def served_at(
    name: str, base_url: str, added: Mapping[str, Json] | None = None, *, api_key: str | None = None
) -> Iterator[None]:
    """Say where a checkpoint answers, for the time of a block.

    Args:
        name: the policy, `checkpoint:<id>`.
        base_url: of its OpenAI-compatible endpoint, up to `/v1`.
        api_key: bearer token it asks for; sent and never recorded.
        added: fields to add to each request, such as sampling settings or the wish for token ids.
    """
    _served[name] = base_url, api_key, dict(added or {})
    try:
        yield
    finally:
        del _served[name]


def resolve(name: str) -> Policy:
    """The policy of a name as settings give it; versions of teachers may be left out, a model be in the environment.

    Raises:
        UsageError: there is no such policy.
        SetupError: the model's name is to be in the environment, and is not.
    """
    kind, _, rest = name.partition(":")
    if kind == "scripted":
        full = rest if "@" in rest else f"{rest}@1"
        if full in CHARACTERS:
            return Policy(f"scripted:{full}", "scripted", ModelSettings(f"scripted-{full.replace('@', '-')}"))
        raise UsageError(f"there is no scripted policy {rest!r}; there are: {', '.join(sorted(CHARACTERS))}")
    if kind == "openai" and rest:
        model = os.environ.get("OPENAI_MODEL", "").strip() if rest == "$OPENAI_MODEL" else rest
        if not model:
            raise SetupError(f"policy {name} needs OPENAI_MODEL; set it in .env, as .env.example shows")
        return Policy(f"openai:{model}", "endpoint", ModelSettings(model))
    if kind == "checkpoint" and rest:
        return Policy(name, "checkpoint", ModelSettings(rest))
    raise UsageError(
        f"policy {name!r} is not known; use scripted:strong, scripted:medium, scripted:weak, openai:<model> or"
        " checkpoint:<id>"
    )


def upstream(policy: Policy, part: Part) -> Upstream:
    """What answers for a policy in one rollout.

    Raises:
        SetupError: the endpoint's address is not set.
        UsageError: the task has no plan to follow.
    """
    if policy.kind == "scripted":
        if part.plan is None:
            raise UsageError(f"task {part.task_id} has no plan; {policy.name} can only follow one")
        character = CHARACTERS[policy.name.partition(":")[2]]
        task = f"{part.task_id}@{part.task_version}"
        plan = Plan.from_json(dict(part.plan))
        return ScriptedUpstream(
            policy.name, teacher_policy(plan, character, seed=part.seed, repeat=part.repeat, task=task)
        )
    # The seed makes repeats differ, as far as the endpoint honours it; it is recorded with each call.
    seed: dict[str, Json] = {"seed": part.seed * 1000 + part.repeat}
    if policy.kind == "checkpoint":
        if policy.name not in _served:
            raise SetupError(f"policy {policy.name} is not being served; start its policy server, see `served_at`")
        base_url, api_key, added = _served[policy.name]
        return HttpUpstream(base_url, api_key, {**seed, **added})
    address = os.environ.get("OPENAI_BASE_URL")
    if not address:
        raise SetupError(
            f"policy {policy.name} needs an endpoint; set OPENAI_BASE_URL (and OPENAI_API_KEY) in .env, as .env.example"
            " shows"
        )
    return HttpUpstream(address, os.environ.get("OPENAI_API_KEY"), seed)
