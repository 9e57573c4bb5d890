"""Which attempts a batch consists of: identities, `attempt.planned`, and what was planned before.

    rollout = (task version, policy version, harness version, configuration, seed, repeat);  attempt = rollout + number

Belongs here: planning and reading back the state of rollouts. Does not belong here: running (`scheduler.py`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assets.rollouts.cage import open_cage
from assets.rollouts.openclaw import config
from assets.rollouts.openclaw.install import pinned_version
from assets.rollouts.policies import Policy, resolve
from assets.sandbox.folder import FileEntry, workspace_id_of
from assets.stage import Context
from lake import Lake, crash
from lake.ids import Json, digest

Purpose = Literal["collect", "audit", "rl", "bench"]
STREAM = "attempt"
PLANNED, STARTED, ENDED, LOST = "attempt.planned", "attempt.started", "attempt.ended", "attempt.lost"


@dataclass(frozen=True)
class PlannedAttempt:
    """One attempt as planned: the payload of `attempt.planned`."""

    attempt_id: str
    rollout_id: str
    attempt_no: int
    purpose: Purpose
    batch: str
    task_id: str
    task_version: str
    policy: str
    policy_kind: str
    harness: str
    config_fingerprint: str
    config: Mapping[str, Json] = field(hash=False)
    seed: int
    repeat: int
    initial_workspace_id: str

    def payload(self) -> dict[str, Json]:
        """As JSON."""
        return {**self.__dict__, "config": dict(self.config)}

    @staticmethod
    def of(payload: Mapping[str, Json]) -> PlannedAttempt:
        """Back from `payload`."""
        return PlannedAttempt(**{name: payload[name] for name in PlannedAttempt.__dataclass_fields__})

    def again(self) -> PlannedAttempt:
        """The next attempt of the same rollout."""
        number = self.attempt_no + 1
        return PlannedAttempt(**{**self.__dict__, "attempt_no": number, "attempt_id": digest(self.rollout_id, number)})


@dataclass
class AttemptState:
    """One attempt as the log knows it."""

    planned: PlannedAttempt
    events: int
    """How many events its stream has; the number of its next one."""
    ending_kind: str | None
    """agent | infrastructure (lost attempts too); null while it has not ended."""
    ending: str | None = None


def harness() -> str:
    """The agent and its version."""
    return f"openclaw@{pinned_version()}"


def rollout_states(lake: Lake) -> dict[str, list[AttemptState]]:
    """Rollout id to its attempts in order."""
    found: dict[str, list[AttemptState]] = defaultdict(list)
    state: AttemptState | None = None
    for event in lake.events(stream_kind=STREAM):
        if event.type == PLANNED:
            state = AttemptState(PlannedAttempt.of(event.payload), 0, None)
            found[state.planned.rollout_id].append(state)
        if state is None or state.planned.attempt_id != event.stream_id:
            continue
        state.events = event.seq + 1
        if event.type == ENDED:
            state.ending_kind, state.ending = event.payload["ending_kind"], event.payload["ending"]
        elif event.type == LOST:
            state.ending_kind, state.ending = "infrastructure", "lost"
    for attempts in found.values():
        attempts.sort(key=lambda attempt: attempt.planned.attempt_no)
    return dict(found)


def plan_batch(
    ctx: Context,
    *,
    purpose: Purpose,
    batch: str,
    tasks: Sequence[Mapping[str, Any]],
    policies: Sequence[str],
    repeats: int,
    seed: int,
) -> list[PlannedAttempt]:
    """Plan a rollout for each task x policy x repeat, and say which attempt of each counts or is to be run.

    What was planned before, in whatever batch, is not planned again. Tasks without a plan get no scripted rollout.

    Args:
        tasks: rows of `tasks`.
        policies: names as in the profile.
        repeats: rollouts of the same task and policy, which differ in their repeat index.
        seed: given to the policies.

    Returns:
        The latest attempt of every rollout of the batch, those that are done included: `run_batch` skips them.

    Raises:
        UsageError: a policy is not known, or the sandbox cannot run agents.
    """
    known = rollout_states(ctx.lake)
    planned: list[PlannedAttempt] = []
    with ctx.lake.spool("rollouts.plan", ctx.run_id) as spool:
        for task, attempt in _firsts(ctx, purpose, batch, tasks, policies, repeats=repeats, seed=seed):
            states = known.get(attempt.rollout_id)
            if states is not None:
                planned.append(_current(states))
                continue
            spool.stream(STREAM, attempt.attempt_id).emit(PLANNED, attempt.payload(), caused_by=task["event_id"])
            planned.append(attempt)
            known[attempt.rollout_id] = [AttemptState(attempt, 1, None)]
    crash.point("rollout.after_plan")
    ctx.lake.commit()
    return planned


def preview_batch(
    ctx: Context,
    *,
    purpose: Purpose,
    batch: str,
    tasks: Sequence[Mapping[str, Any]],
    policies: Sequence[str],
    repeats: int,
    seed: int,
) -> list[PlannedAttempt]:
    """As `plan_batch`, each rollout once, with nothing stated in the log."""
    known = rollout_states(ctx.lake)
    firsts = _firsts(ctx, purpose, batch, tasks, policies, repeats=repeats, seed=seed)
    found = {attempt.rollout_id: attempt for _, attempt in firsts}
    return [_current(known[rollout_id]) if rollout_id in known else first for rollout_id, first in found.items()]


def _firsts(
    ctx: Context,
    purpose: Purpose,
    batch: str,
    tasks: Sequence[Mapping[str, Any]],
    policies: Sequence[str],
    *,
    repeats: int,
    seed: int,
) -> Iterator[tuple[Mapping[str, Any], PlannedAttempt]]:
    """The first attempt of each rollout of a batch, with its task."""
    settings = ctx.profile.rollouts
    cage = open_cage(settings.sandbox)
    for policy in map(resolve, policies):
        template = config.template(settings.tools, policy.model)
        fingerprint = config.fingerprint(template, cage=cage.fingerprint)
        for task, repeat in ((task, repeat) for task in tasks for repeat in range(repeats)):
            if policy.needs_plan and task["plan"] is None:
                continue
            yield task, _first_attempt(purpose, batch, task, policy, template, fingerprint, seed=seed, repeat=repeat)


def initial_workspace(entries: Iterable[Mapping[str, Any]]) -> str:
    """Identity of a task's untouched workspace, from its input manifest."""
    return workspace_id_of(
        FileEntry(str(e["path"]), "file", str(e["sha256"]), int(e["size"]), 0o644, None) for e in entries
    )


def _current(states: Sequence[AttemptState]) -> PlannedAttempt:
    counted = next((state for state in states if state.ending_kind == "agent"), states[-1])
    return counted.planned


def _first_attempt(
    purpose: Purpose,
    batch: str,
    task: Mapping[str, Any],
    policy: Policy,
    template: Mapping[str, Json],
    fingerprint: str,
    *,
    seed: int,
    repeat: int,
) -> PlannedAttempt:
    rollout_id = digest(task["task_id"], task["task_version"], policy.name, harness(), fingerprint, seed, repeat)
    return PlannedAttempt(
        attempt_id=digest(rollout_id, 0),
        rollout_id=rollout_id,
        attempt_no=0,
        purpose=purpose,
        batch=batch,
        task_id=task["task_id"],
        task_version=task["task_version"],
        policy=policy.name,
        policy_kind=policy.kind,
        harness=harness(),
        config_fingerprint=fingerprint,
        config=template,
        seed=seed,
        repeat=repeat,
        initial_workspace_id=initial_workspace(json.loads(task["input_manifest"])),
    )
