"""Running rollouts in tests and reading what they left."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.rollouts import STAGE, PlannedAttempt, attempt_folder, plan_batch, run_batch
from assets.rollouts.proxy.record import Call, Decoder
from assets.rollouts.teacher.replay import content_text
from assets.stage import Context
from assets.tasks import TaskBundle
from assets.tasks.plan import Plan, Step
from tests.rollouts.handmade import state_tasks


@dataclass(frozen=True)
class Ran:
    """A batch after its run."""

    planned: list[PlannedAttempt]
    counts: Mapping[str, int]
    attempts: list[dict[str, Any]]
    """Rows of `attempts`."""


def plan(
    context: Context, bundles: Sequence[TaskBundle], policies: Sequence[str] = ("scripted:strong",)
) -> list[PlannedAttempt]:
    """State the tasks and plan their rollouts."""
    rows = state_tasks(context, bundles)
    return plan_batch(context, purpose="collect", batch="test", tasks=rows, policies=policies, repeats=1, seed=1)


def run(context: Context, bundles: Sequence[TaskBundle], policies: Sequence[str] = ("scripted:strong",)) -> Ran:
    """State, plan, run and project."""
    planned = plan(context, bundles, policies)
    counts = run_batch(context, planned)
    context.lake.build(STAGE.projection)
    return Ran(planned, counts, context.lake.rows("attempts"))


def calls(context: Context, attempt_id: str) -> list[Call]:
    """The proxy's records of an attempt, decoded."""
    decoder = Decoder()
    lines = (attempt_folder(context.lake, attempt_id) / "proxy.jsonl").read_bytes().splitlines()
    return [decoder.decode(json.loads(line)) for line in lines]


def tool_results(context: Context, attempt_id: str) -> list[str]:
    """What the tools returned, in order, as the model saw it in the last request."""
    messages = json.loads(calls(context, attempt_id)[-1].request)["messages"]
    return [content_text(message["content"]) for message in messages if message["role"] == "tool"]


def plan_of(*steps: Step, closing: str = "Done.") -> Plan:
    """A plan without slips and flaws."""
    return Plan(steps=steps, slips=(), flaws=(), closing=closing)
