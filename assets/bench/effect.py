"""Runs the profile's policies on the suite: plan, run, ingest, grade; each policy's run of a suite version once.

Belongs here: the course of a bench run and its two events. Does not belong here: how attempts are run and graded
(the earlier stages), scores (`projection.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict

from assets import logs, rollouts, sft, trajectories, verdicts
from assets.bench.runs import FINISHED, KIND, STARTED, BenchRun, counted_by_rollout
from assets.bench.serving import served, serving_config
from assets.bench.suites import Suite, load_suite, suite_name
from assets.checkpoints import find_checkpoint
from assets.rollouts import PlannedAttempt
from assets.stage import Context
from lake.errors import ClawGymError
from lake.ids import Json, digest


def run_bench(context: Context) -> Mapping[str, int]:
    """Run what is not done yet. A policy whose endpoint fails does not keep the others from being scored.

    Raises:
        StageError: the suite has no tasks, or, after everything else is done, what stopped a policy.
    """
    context.lake.commit()
    suite = load_suite(context.lake, suite_name(context.profile))
    done = context.lake.streams(KIND, (FINISHED,))
    counts: Counter[str] = Counter()
    todo: list[BenchRun] = []
    failed: list[ClawGymError] = []
    for name in context.profile.bench.policies:
        try:
            run, planned = _plan(context, suite, _full_name(context, name))
            if not planned:
                counts["nothing_to_follow"] += 1
            elif run.bench_run_id in done:
                counts["found"] += 1
            else:
                _start(context, suite, run)
                _run(context, run, planned)
                todo.append(run)
        except ClawGymError as error:
            failed.append(error)
            counts["failed"] += 1
    if todo:
        _harvest(context, todo)
        counts.update(_finish(context, todo))
    if failed:
        raise failed[0]
    return dict(counts)


def _plan(context: Context, suite: Suite, policy: str) -> tuple[BenchRun, Sequence[PlannedAttempt]]:
    """A policy's run of the suite, and its rollouts; what was planned before is not planned again."""
    section = context.profile.bench
    capped = _capped(context, policy)
    planned = rollouts.plan_batch(
        capped,
        purpose="bench",
        batch=f"bench-{suite.name}",
        tasks=suite.tasks,
        policies=[policy],
        repeats=section.repeats,
        seed=section.seed,
    )
    config: dict[str, Json] = {
        "k": section.repeats,
        "turn_limit": capped.profile.rollouts.turn_limit,
        "score_column": section.score_column,
        "rollouts": sorted(attempt.rollout_id for attempt in planned),
        "serving": serving_config(section.repeats) if policy.startswith("checkpoint:") else None,
    }
    name = planned[0].policy if planned else policy
    run_id = digest(suite.name, suite.version, name, config, section.seed)
    run = BenchRun(
        bench_run_id=run_id,
        suite=suite.name,
        suite_version=suite.version,
        policy=name,
        policy_kind=planned[0].policy_kind if planned else "",
        score_column=section.score_column,
        k=section.repeats,
        seed=section.seed,
        resamples=section.resamples,
        rollouts={attempt.rollout_id: attempt.task_id for attempt in planned},
    )
    return run, planned


def _capped(context: Context, policy: str) -> Context:
    """The context with the bench's turn limit, which is for models: a teacher follows its plan to the end."""
    if policy.startswith("scripted:"):
        return context
    limits = context.profile.rollouts.model_copy(update={"turn_limit": context.profile.bench.turn_limit})
    profile = context.profile.model_copy(update={"rollouts": limits})
    return Context(context.lake, profile, context.run_id, context.progress)


def _full_name(context: Context, policy: str) -> str:
    """`checkpoint:latest` and shortened ids by their full id; other names as they are."""
    kind, _, rest = policy.partition(":")
    return f"checkpoint:{find_checkpoint(context.lake, rest)['checkpoint_id']}" if kind == "checkpoint" else policy


def _start(context: Context, suite: Suite, run: BenchRun) -> None:
    if run.bench_run_id in context.lake.streams(KIND):
        return
    with context.lake.spool("bench", context.run_id) as spool:
        payload = {name: value for name, value in asdict(run).items() if name != "bench_run_id"}
        spool.stream(KIND, run.bench_run_id).emit(STARTED, {**payload, "task_versions": suite.task_versions})
    context.lake.commit()


def _run(context: Context, run: BenchRun, planned: Sequence[PlannedAttempt]) -> None:
    with served(context, run.policy) if run.policy_kind == "checkpoint" else nullcontext():
        rollouts.run_batch(_capped(context, run.policy), planned)


def _harvest(context: Context, runs: Sequence[BenchRun]) -> None:
    """Take in the logs, grade, and bring the tables before this stage up to date."""
    lake = context.lake
    lake.build(rollouts.STAGE.projection)
    logs.ingest_attempts(context)
    lake.commit()
    lake.build(logs.STAGE.projection)
    lake.build(trajectories.STAGE.projection)
    counted = counted_by_rollout(lake.rows("attempts"))
    wanted = {rollout_id for run in runs for rollout_id in run.rollouts}
    verdicts.grade_attempts(context, sorted(str(counted[r]["attempt_id"]) for r in wanted if r in counted))
    lake.commit()
    lake.build(verdicts.STAGE.projection)
    lake.build(sft.STAGE.projection)


def _settled(attempt: Mapping[str, Json]) -> bool:
    return attempt["state"] in ("ended", "lost") and attempt["ending"] != "spend_cap"


def _finish(context: Context, runs: Sequence[BenchRun]) -> Mapping[str, int]:
    """State the end of the runs all of whose rollouts are settled: counted, or given up."""
    attempts = context.lake.rows("attempts")
    counted = counted_by_rollout(attempts)
    latest = {row["rollout_id"]: row for row in sorted(attempts, key=lambda row: row["attempt_no"])}
    counts: Counter[str] = Counter()
    with context.lake.spool("bench", context.run_id) as spool:
        for run in runs:
            if not all(_settled(latest[rollout_id]) for rollout_id in run.rollouts):
                counts["unfinished"] += 1  # another runner has some of it, or a spend cap stands before the rest
                continue
            ids = sorted(str(counted[rollout_id]["attempt_id"]) for rollout_id in run.rollouts if rollout_id in counted)
            spool.stream(KIND, run.bench_run_id, next_seq=1).emit(FINISHED, {"attempt_ids": ids})
            counts["finished"] += 1
    context.lake.commit()
    return counts
