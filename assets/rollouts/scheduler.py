"""Running a batch: workers, leases, retries of what the agent is not to blame for, and what dead runners left.

An agent ending is never run again. Within one call a rollout gets at most `max_attempts` attempts; over its life at
most as many that ended in a crash of the harness or the sandbox. A dead endpoint, Ctrl-C or a killed runner cost
nothing: the next call goes on; after a spend cap, the next call with a higher one. Nothing is deleted by a retry.
Does not belong here: one attempt (`attempt.py`).
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assets.llm.account import Account
from assets.llm.usage import Usage
from assets.rollouts.attempt import Machinery, attempt_folder, run_attempt
from assets.rollouts.cage import open_cage
from assets.rollouts.leases import HEARTBEAT_S, Leases
from assets.rollouts.openclaw.install import locate
from assets.rollouts.openclaw.outcome import Ending
from assets.rollouts.plan import LOST, PLANNED, STREAM, AttemptState, PlannedAttempt, rollout_states
from assets.rollouts.policies import Part, resolve, upstream
from assets.rollouts.process import kill_naming
from assets.rollouts.proxy.server import ProxyServer
from assets.rollouts.spend import spent
from assets.stage import Context
from lake import Lake
from lake.errors import ClawGymError, StageError
from lake.ids import Json

_COMMIT_EVERY_S = 15.0
_GIVE_UP_AFTER = 3
"""Rollouts that may fail by the endpoint in a row, none succeeding in between, before the batch is stopped."""


@dataclass
class _Batch:
    """What the workers of a batch share."""

    ctx: Context
    machinery: Machinery
    leases: Leases
    tasks: Mapping[tuple[str, str], Mapping[str, Any]]
    work: queue.SimpleQueue[PlannedAttempt]
    total: int
    counts: Counter[str] = field(default_factory=Counter)
    dead_endpoint: list[str] = field(default_factory=list)
    """Details of the endpoint's failures in a row."""
    finished: int = 0
    working: int = 0
    """Workers that have not ended."""
    idle: threading.Event = field(default_factory=threading.Event)
    """Set when all of them have."""
    failures: list[BaseException] = field(default_factory=list)
    """What a worker fell over: a fault of ours, raised when all have stopped."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def given_up(self) -> bool:
        """Whether no further rollout is started."""
        return (
            self.machinery.interrupted.is_set() or len(self.dead_endpoint) >= _GIVE_UP_AFTER or self.refused is not None
        )

    @property
    def refused(self) -> str | None:
        """What an endpoint said that it will say to every request; null when none did."""
        return self.machinery.account.refused if self.machinery.account else None

    def over_cap(self, attempt: PlannedAttempt) -> bool:
        """Whether there is no more to spend on a rollout."""
        account = self.machinery.account
        return attempt.policy_kind == "endpoint" and account is not None and account.closed is not None


def reap(lake: Lake, run_id: str | None = None) -> int:
    """State `attempt.lost` for the attempts of runners that are gone, and kill what they left running.

    Returns:
        How many there were.
    """
    leases = Leases(lake.root)
    dead = [lease for lease in leases.all() if lease.dead()]
    if not dead:
        return 0
    for lease in dead:
        if lease.agent is not None:
            lease.agent.kill()
        kill_naming(attempt_folder(lake, lease.attempt_id))
    lake.commit()  # takes in what the dead had written
    states = {s.planned.attempt_id: s for attempts in rollout_states(lake).values() for s in attempts}
    with lake.spool("rollouts.scheduler", run_id) as spool:
        for lease in dead:
            state = states.get(lease.attempt_id)
            if state is not None and state.ending_kind is None:
                stream = spool.stream(STREAM, lease.attempt_id, next_seq=state.events)
                stream.emit(LOST, {"reason": f"its runner (process {lease.owner.pid} on {lease.host}) is gone"})
    lake.commit()
    for lease in dead:
        leases.release(lease.attempt_id)
    return len(dead)


def run_batch(ctx: Context, attempts: Sequence[PlannedAttempt]) -> Mapping[str, int]:
    """Run what of these rollouts is not done yet, retries included, and commit.

    Returns:
        Counts: `found` done before, `elsewhere` (another runner has it), `exhausted`, `over_spend_cap` (not started),
        and one per ending.

    Raises:
        UsageError: the cap on money cannot be kept, since a model has no price.
        SetupError: Node, OpenClaw, the sandbox or an endpoint's address is missing.
        StageError: the model endpoint does not work; what was planned stays planned.
        KeyboardInterrupt: Ctrl-C; running attempts were stopped and stated lost, the next call goes on.
    """
    ctx.lake.commit()
    reap(ctx.lake, ctx.run_id)
    settings = ctx.profile.rollouts
    todo, counts = _open_rollouts(ctx, attempts)
    if not todo:
        return dict(counts)
    installation, cage = locate(), open_cage(settings.sandbox)
    cage.probe()
    tasks = {(row["task_id"], row["task_version"]): row for row in ctx.lake.rows("tasks")}
    for policy in sorted({attempt.policy for attempt in todo}):
        _check_policy(policy, next(attempt for attempt in todo if attempt.policy == policy), tasks)
    work: queue.SimpleQueue[PlannedAttempt] = queue.SimpleQueue()
    for attempt in todo:
        work.put(attempt)
    with ProxyServer() as proxy:
        account = _open_account(ctx, todo)
        machinery = Machinery(ctx.lake, settings, cage, installation, proxy, threading.Event(), account)
        batch = _Batch(ctx, machinery, Leases(ctx.lake.root), tasks, work, len(todo), counts)
        _run_workers(batch, settings.concurrency)
    ctx.lake.commit()
    if batch.refused is not None:
        raise StageError(f"the model endpoint refuses: {batch.refused}; then run again, what was done is kept")
    if batch.dead_endpoint and batch.given_up:
        raise StageError(
            f"{_GIVE_UP_AFTER} rollouts in a row failed by the model endpoint: {batch.dead_endpoint[-1]}; "
            "see to the endpoint and run again, what was done is kept"
        )
    return dict(batch.counts)


def _open_account(ctx: Context, todo: Sequence[PlannedAttempt]) -> Account | None:
    """The account of the batch's endpoint policies, with what the log says was spent; null where it has none."""
    models = [resolve(name).model for name in sorted({a.policy for a in todo if a.policy_kind == "endpoint"})]
    if not models:
        return None
    before = {one.model: one for one in spent(ctx.lake, rollout_states(ctx.lake)).values()}
    opening = {
        model.model: Usage(before[model.model].least_prompt if model.model in before else 0, 0, model.max_tokens)
        for model in models
    }
    spent_before = {name: one.usage for name, one in before.items()}
    return Account(ctx.profile.endpoint, spent_before, tuple(opening), opening=opening)


def _open_rollouts(ctx: Context, attempts: Iterable[PlannedAttempt]) -> tuple[list[PlannedAttempt], Counter[str]]:
    """The attempt to run next of each rollout that is not done, and counts of the others."""
    states = rollout_states(ctx.lake)
    counts: Counter[str] = Counter()
    todo: list[PlannedAttempt] = []
    for rollout_id in dict.fromkeys(attempt.rollout_id for attempt in attempts):
        known = states[rollout_id]
        last = known[-1]
        if any(state.ending_kind == "agent" for state in known):
            counts["found"] += 1
        elif last.ending_kind is None:
            todo.append(last.planned)
        elif _crashes(known) >= ctx.profile.rollouts.max_attempts:
            counts["exhausted"] += 1
        else:
            todo.append(_plan_again(ctx, last.planned))
    ctx.lake.commit()
    return todo, counts


def _crashes(states: Sequence[AttemptState]) -> int:
    return sum(state.ending in ("harness_crash", "sandbox") for state in states)


def _plan_again(ctx: Context, attempt: PlannedAttempt) -> PlannedAttempt:
    following = attempt.again()
    with ctx.lake.spool("rollouts.scheduler", ctx.run_id) as spool:
        spool.stream(STREAM, following.attempt_id).emit(PLANNED, following.payload())
    return following


def _check_policy(name: str, attempt: PlannedAttempt, tasks: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
    """Fail now, not in every attempt, when a policy cannot act."""
    task = tasks[(attempt.task_id, attempt.task_version)]
    plan = None if task["plan"] is None else json.loads(task["plan"])
    upstream(resolve(name), Part(attempt.task_id, attempt.task_version, plan, attempt.seed, attempt.repeat))


def _run_workers(batch: _Batch, concurrency: int) -> None:
    """Run the workers to their end, while this thread commits and says that it lives."""
    batch.working = min(concurrency, batch.total)
    for number in range(batch.working):
        threading.Thread(target=_work, args=(batch,), name=f"rollout-{number}").start()
    try:
        _tend(batch)
    except BaseException:
        batch.machinery.interrupted.set()
        batch.idle.wait()
        batch.ctx.lake.commit()
        raise
    if batch.failures:
        batch.ctx.lake.commit()
        raise batch.failures[0]


def _tend(batch: _Batch) -> None:
    committed = time.monotonic()
    # Not Thread.join: a KeyboardInterrupt in it makes a thread that still runs look ended (bpo-45274).
    while not batch.idle.wait(HEARTBEAT_S):
        batch.leases.beat()
        if time.monotonic() - committed >= _COMMIT_EVERY_S:
            batch.ctx.lake.commit()
            committed = time.monotonic()


def _work(batch: _Batch) -> None:
    try:
        while not batch.given_up:
            try:
                attempt = batch.work.get_nowait()
            except queue.Empty:
                return
            outcome = _run_rollout(batch, attempt)
            with batch.lock:
                batch.counts[outcome] += 1
                batch.finished += 1
            batch.ctx.progress(f"{attempt.task_id} {attempt.policy}: {outcome}", batch.finished, batch.total)
    except BaseException as error:
        batch.failures.append(error)
        batch.machinery.interrupted.set()
    finally:
        with batch.lock:
            batch.working -= 1
            if batch.working == 0:
                batch.idle.set()


def _run_rollout(batch: _Batch, attempt: PlannedAttempt) -> str:
    """Run a rollout up to its counted attempt or to the end of its allowance; what came out, in a word."""
    allowance = batch.machinery.settings.max_attempts
    ending: Ending | None = None
    if batch.over_cap(attempt):
        return "over_spend_cap"
    for number in range(allowance):
        if number:
            attempt = _plan_again(batch.ctx, attempt)
        if not batch.leases.take(attempt.attempt_id):
            return "elsewhere"
        try:
            ending = _run_leased(batch, attempt)
        finally:
            batch.leases.release(attempt.attempt_id)
        if ending is not None and ending.kind == "agent":
            with batch.lock:
                batch.dead_endpoint.clear()
            return ending.ending
        if batch.given_up or batch.over_cap(attempt):
            break
    if ending is not None and ending.ending == "model_endpoint":
        with batch.lock:
            batch.dead_endpoint.append(ending.detail)
    return "lost" if ending is None else ending.ending


def _run_leased(batch: _Batch, attempt: PlannedAttempt) -> Ending | None:
    task = batch.tasks[(attempt.task_id, attempt.task_version)]
    lake = batch.ctx.lake
    inputs = {entry["path"]: lake.blob(entry["sha256"]) for entry in json.loads(task["input_manifest"])}
    with lake.spool("rollouts.runner", batch.ctx.run_id) as spool:
        try:
            return run_attempt(
                batch.machinery, attempt, task, inputs, spool, lambda p: batch.leases.set_agent(attempt.attempt_id, p)
            )
        except (ClawGymError, OSError) as error:
            # This machine's trouble with one attempt is data; the other attempts go on.
            reason: dict[str, Json] = {"reason": f"{type(error).__name__}: {error}"}
            spool.stream(STREAM, attempt.attempt_id, next_seq=1).emit(LOST, reason)
            return None
