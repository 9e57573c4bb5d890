"""Grades attempts that have no verdict under a verifier yet.

Belongs here: which (attempt, verifier version, judge version) are open, the pool, the event. A verdict is only ever
added. Does not belong here: running a verifier (`assets/grading`), which verdicts pass the filter (`sft`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.grading import Grade, grade
from assets.sandbox import Limits, Sandbox, open_sandbox
from assets.sandbox.folder import remove_folder
from assets.stage import Context
from assets.tasks import TaskBundle, load_bundle
from assets.verdicts.attempts import EndedAttempt, ended_attempts, rebuild
from lake.errors import ClawGymError, SetupError
from lake.ids import digest, utc_now

RECORDED = "verdict.recorded"
NO_JUDGE = "none"


@dataclass(frozen=True)
class Open:
    """A verdict to be given."""

    attempt: EndedAttempt
    task: Mapping[str, Any]
    """Row of `tasks` whose verifier grades."""

    @property
    def verdict_id(self) -> str:
        """Digest of (attempt, verifier version, judge version)."""
        return digest(self.attempt.attempt_id, self.task["verifier_version"], NO_JUDGE)


def grade_attempts(context: Context, attempt_ids: Collection[str] | None = None) -> Mapping[str, int]:
    """Give each ended attempt a verdict by the verifier of its own task version.

    Args:
        attempt_ids: only these; all where null.

    Returns:
        Counts: `scored`, `errors` (verifier failed or ran too long), `not_gradable`, `found` (had one), `undone`
        (our sandbox or the log failed: no verdict, tried again next time); with a judge also those of `judge_attempts`.

    Raises:
        SetupError: the sandbox cannot be opened, or not one verdict could be given for its failures.
    """
    context.lake.commit()
    tasks = {(row["task_id"], row["task_version"]): row for row in context.lake.rows("tasks")}
    wanted, missing = [], 0
    for attempt in ended_attempts(context.lake):
        if attempt_ids is not None and attempt.attempt_id not in attempt_ids:
            continue
        task = tasks.get((attempt.task_id, attempt.task_version))
        if task is None:
            missing += 1
            context.progress(f"no verdict for attempt {attempt.attempt_id}: its task is not in the table tasks")
        else:
            wanted.append(Open(attempt, task))
    counts = _give(context, wanted)
    return {**counts, "undone": counts["undone"] + missing, **_judged(context, attempt_ids)}


def regrade(context: Context, task_ids: Collection[str] | None = None) -> Mapping[str, int]:
    """Grade attempts again by the verifier of the latest version of their task, where only the verifier changed.

    An attempt whose instruction or inputs were others is left alone: it was another task.

    Args:
        task_ids: only attempts at these; all where null.

    Returns, Raises:
        As `grade_attempts`.
    """
    context.lake.commit()
    rows = context.lake.rows("tasks")
    stated = {event.event_id: event.occurred_at for event in context.lake.events("task.proposed")}
    own = {(row["task_id"], row["task_version"]): row for row in rows}
    latest: dict[str, Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (stated[row["event_id"]], row["task_version"])):
        latest[row["task_id"]] = row
    wanted = []
    for attempt in ended_attempts(context.lake):
        task, newest = own.get((attempt.task_id, attempt.task_version)), latest.get(attempt.task_id)
        if task is None or newest is None or (task_ids is not None and attempt.task_id not in task_ids):
            continue
        if all(task[name] == newest[name] for name in ("instruction", "input_manifest")):
            wanted.append(Open(attempt, newest))
    return {**_give(context, wanted), **_judged(context, {item.attempt.attempt_id for item in wanted})}


def _judged(context: Context, attempt_ids: Collection[str] | None) -> Mapping[str, int]:
    """The rubric halves, where the profile has a judge."""
    if context.profile.llm.judge.model is None:
        return {}
    from assets.verdicts.judging import judge_attempts  # the client costs a second that offline runs need not pay

    return judge_attempts(context, attempt_ids)


def _give(context: Context, wanted: list[Open]) -> dict[str, int]:
    counts = {"scored": 0, "errors": 0, "not_gradable": 0, "found": 0, "undone": 0}
    known = context.lake.streams("verdict", (RECORDED,))
    waiting = [item for item in wanted if item.verdict_id not in known]
    counts["found"] = len(wanted) - len(waiting)
    if not waiting:
        return counts
    failures: list[ClawGymError] = []
    place = Path(tempfile.mkdtemp(prefix="clawgym-verdicts-"))
    with context.lake.spool("verdicts", context.run_id) as spool, _removed(place):
        for done, (item, given) in enumerate(_graded(context, waiting, place), 1):
            context.progress("verdicts", done, len(waiting))
            if isinstance(given, ClawGymError):
                failures.append(given)
                counts["undone"] += 1
                context.progress(f"no verdict for attempt {item.attempt.attempt_id}: {given}")
                continue
            spool.stream("verdict", item.verdict_id).emit(
                RECORDED, payload_of(item, given), caused_by=item.attempt.event_id
            )
            counts[_COUNTED[given.status]] += 1
            spool.seal()
    if failures and counts["undone"] == len(waiting):
        raise failures[0]
    return counts


@contextmanager
def _removed(place: Path) -> Iterator[None]:
    try:
        yield
    finally:
        remove_folder(place)


_COUNTED = {
    "scored": "scored",
    "verifier_error": "errors",
    "verifier_timeout": "errors",
    "not_gradable": "not_gradable",
}


def _graded(context: Context, waiting: list[Open], place: Path) -> Iterator[tuple[Open, Grade | ClawGymError]]:
    """Each item with its grade or with what kept us from it, in order; few workspaces are on disk at any time."""
    section = context.profile.verdicts
    limits = Limits(wall_s=section.timeout_s, memory_bytes=section.memory_bytes)
    sandbox = open_sandbox(context.profile.rollouts.sandbox)
    bundles: dict[str, TaskBundle] = {}
    pending: list[tuple[Open, Future[Grade] | Grade | ClawGymError]] = []
    with ThreadPoolExecutor(section.concurrency, thread_name_prefix="verdict") as pool:
        for item in waiting:
            reason = item.attempt.not_gradable
            if reason is not None:
                pending.append((item, Grade("not_gradable", None, None, None, detail=reason)))
            else:
                try:
                    version = item.task["verifier_version"]
                    if version not in bundles:
                        bundles[version] = load_bundle(context.lake, item.task)
                    folder = _laid_out(context, item, place)
                    pending.append((item, pool.submit(_grade, folder, bundles[version], sandbox, limits)))
                except ClawGymError as error:
                    pending.append((item, error))
            while len(pending) > 2 * section.concurrency:
                yield _settled(*pending.pop(0))
        for entry in pending:
            yield _settled(*entry)


def _settled(item: Open, found: Future[Grade] | Grade | ClawGymError) -> tuple[Open, Grade | ClawGymError]:
    if not isinstance(found, Future):
        return item, found
    try:
        return item, found.result()
    except ClawGymError as error:
        return item, error


def _laid_out(context: Context, item: Open, place: Path) -> Path:
    """The attempt's final workspace, below `place`."""
    folder = place / item.verdict_id
    try:
        folder.mkdir()
        rebuild(context.lake, item.attempt, folder)
    except OSError as error:
        remove_folder(folder)
        raise SetupError(f"cannot lay out attempt {item.attempt.attempt_id} in {folder}: {error}") from error
    return folder


def _grade(folder: Path, bundle: TaskBundle, sandbox: Sandbox, limits: Limits) -> Grade:
    try:
        return grade(folder, bundle.reward, protocol=bundle.verifier_protocol, sandbox=sandbox, limits=limits)
    finally:
        remove_folder(folder)


def payload_of(item: Open, given: Grade) -> dict[str, Any]:
    """The payload of `verdict.recorded`. Nothing is renormalised: with a rubric and no judge there is no `score`."""
    attempt, has_rubric = item.attempt, item.task["rubric"] not in (None, "[]")
    scored = given.status == "scored"
    detail = given.detail
    if detail is None and attempt.left_out:
        detail = f"{attempt.left_out} files were over the size limit when the workspace was frozen and are missing"
    return {
        "verdict_id": item.verdict_id,
        "attempt_id": attempt.attempt_id,
        "task_id": attempt.task_id,
        "task_version": attempt.task_version,
        "workspace_id": attempt.workspace_id,
        "verifier_version": item.task["verifier_version"],
        "judge_version": NO_JUDGE,
        "status": given.status,
        "score_code": given.score_code,
        "score_rubric": None,
        "score": None if has_rubric else given.score_code,
        "verifier_reward": given.verifier_reward,
        "wrapper_score": given.wrapper_score,
        "checks_passed": sum(value >= 1.0 for value in given.checks.values()) if scored else None,
        "checks_total": len(given.checks) if scored else None,
        "checks": given.checks,
        "detail": detail,
        "graded_at": utc_now().isoformat(),
        "duration_s": round(given.wall_s, 4),
    }
