"""Runs the probes of each task version without a decision, and decides.

Belongs here: what is done already, the pool, the events. One probe is one stream; a verifier is not run again on a
workspace it has been seen on under the same version, but for `repeat`, whose point is the second run. Does not belong
here: what the probes are (`probes.py`) or what follows from them (`decision.py`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from assets.audits.decision import decide, kept_from_bench, splits
from assets.audits.probes import IN_PROCESS, Outcome, Plan, Probe, plan, same
from assets.grading import Grade, grade, grade_many
from assets.sandbox import Limits, Sandbox, open_sandbox
from assets.sandbox.folder import materialise, remove_folder, workspace_id_of
from assets.stage import Context
from assets.tasks import TaskBundle, load_bundle
from assets.tasks.exchange import stated_splits
from lake.errors import ClawGymError, SetupError, UsageError
from lake.spool import Spool

PROBED = "audit.probed"
ACCEPTED, REJECTED, ASSIGNED = "task.accepted", "task.rejected", "task.assigned"


def audit_tasks(context: Context) -> Mapping[str, int]:
    """Probe and decide each task version that has no decision.

    Raises:
        SetupError: the sandbox cannot be opened, or broke on a probe; probes done so far are kept.
    """
    lake = context.lake
    lake.commit()  # what an interrupted run left is done too
    rows = lake.rows("tasks")
    decided = lake.streams("decision", (REJECTED, ASSIGNED))
    waiting = [row for row in rows if _key(row) not in decided]
    counts = {"accepted": 0, "rejected": 0, "found": len(rows) - len(waiting), "probes": 0, "cached": 0}
    if not waiting:
        return counts
    auditor = _Auditor(context, rows, counts)
    with lake.spool("audits", context.run_id) as spool, auditor:
        for done, row in enumerate(waiting):
            context.progress(f"audit {row['task_id']}", done, len(waiting))
            auditor.audit(row, spool)
            spool.seal()
    context.progress("audits", len(waiting), len(waiting))
    return counts


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['task_id']}@{row['task_version']}"


class _Auditor:
    """One run of the effect: the pool, the sandbox, what is known."""

    def __init__(self, context: Context, rows: list[dict[str, Any]], counts: dict[str, int]) -> None:
        self._context, self._counts = context, counts
        self._bounds = context.profile.audits
        self._splits = {**splits(rows, self._bounds), **stated_splits(context.lake)}
        self._sandbox = open_sandbox(context.profile.rollouts.sandbox)
        self._pool = ThreadPoolExecutor(self._bounds.concurrency, thread_name_prefix="audit")
        verdicts = context.profile.verdicts
        self._limits = Limits(wall_s=verdicts.timeout_s, memory_bytes=verdicts.memory_bytes)
        self._done: dict[str, dict[str, Any]] = {}
        self._seen: dict[tuple[str, str], Grade] = {}
        for event in context.lake.events(PROBED):
            self._done[event.stream_id] = event.payload
            self._remember(event.payload)
        self._opened = {
            event.stream_id: event.event_id for event in context.lake.events(ACCEPTED)
        }  # accepted, but interrupted before the split was stated

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def audit(self, row: Mapping[str, Any], spool: Spool) -> None:
        """All probes of one task version, then the decision."""
        bundle = load_bundle(self._context.lake, row)
        todo = plan(bundle, self._bounds)
        probed = self._probe_all(row, bundle, todo, spool)
        decision = decide(probed, self._bounds, {item.name for item in todo.lints if not item.must_hold})
        stream = spool.stream("decision", _key(row), next_seq=1 if _key(row) in self._opened else 0)
        cause = self._opened.get(_key(row))
        shared = {"task_id": row["task_id"], "task_version": row["task_version"]}
        if cause is None:
            payload = {
                **shared,
                "reasons": decision.reasons,
                "bounds": {"worthless_below": self._bounds.worthless_below, "mutants": self._bounds.mutants_killed},
                "mutants": {"made": decision.mutants, "noticed": decision.killed},
                "skipped": [str(item) for item in todo.skipped],
            }
            cause = stream.emit(ACCEPTED if decision.accepted else REJECTED, payload, caused_by=row["event_id"])
        if decision.accepted:
            flagged = any(item.found for item in todo.lints if item.name == IN_PROCESS)
            split = kept_from_bench(self._splits[row["task_id"]]) if flagged else self._splits[row["task_id"]]
            stream.emit(ASSIGNED, {**shared, "split": split}, caused_by=cause)
        self._counts["accepted" if decision.accepted else "rejected"] += 1

    def _probe_all(
        self, row: Mapping[str, Any], bundle: TaskBundle, todo: Plan, spool: Spool
    ) -> list[Mapping[str, Any]]:
        """Payloads of all probes, those of earlier runs taken from the log."""
        asked = [probe for probe in todo.probes if self._stream(row, probe.name) not in self._done]
        running = self._start(bundle, asked)
        again: Future[Grade] | None = None
        if self._stream(row, todo.repeat.name) not in self._done:
            again = self._pool.submit(self._grade, bundle, todo.repeat.files)
        broke: ClawGymError | None = None
        for probe, workspace_id, future in running:
            try:
                found = future.result()
            except ClawGymError as error:  # what the others learnt is kept first
                broke = error
                continue
            self._state(row, probe, workspace_id, found, probe.judge(found), spool)
        if broke is not None:
            raise broke
        if again is not None:
            workspace_id = workspace_id_of(todo.repeat.files)
            found = again.result()
            outcome = same(self._seen[(row["verifier_version"], workspace_id)], found)
            self._state(row, todo.repeat, workspace_id, found, outcome, spool)
        for item in todo.lints:
            if self._stream(row, item.name) not in self._done:
                detail = "; ".join(item.found)[:400] or None
                nothing = Grade("not_gradable", None, None, None)
                self._emit(row, item.name, None, nothing, Outcome(not item.found, detail), item.bound, spool)
        names = [*(p.name for p in todo.probes), todo.repeat.name, *(x.name for x in todo.lints)]
        return [self._done[self._stream(row, name)] for name in names]

    def _start(self, bundle: TaskBundle, probes: list[Probe]) -> list[tuple[Probe, str, Future[Grade]]]:
        """Each probe with its workspace and the grade to come; those of our own families in few sandboxes together."""
        running, waiting = [], []
        for probe in probes:
            workspace_id, future = workspace_id_of(probe.files), Future[Grade]()
            running.append((probe, workspace_id, future))
            seen = self._seen.get((bundle.verifier_version, workspace_id))
            if seen is not None:
                self._counts["cached"] += 1
                future.set_result(seen)
            else:
                waiting.append((probe.files, future))
        # A verifier and workspaces that others wrote get a sandbox for each run.
        shares = self._bounds.concurrency if bundle.family is not None else max(len(waiting), 1)
        for number in range(shares):
            self._pool.submit(self._grade_share, bundle, waiting[number::shares])
        return running

    def _grade_share(self, bundle: TaskBundle, share: list[tuple[Mapping[str, bytes], Future[Grade]]]) -> None:
        try:
            grades = grade_all([files for files, _ in share], bundle, self._sandbox, self._limits)
            for (_, future), found in zip(share, grades, strict=True):
                future.set_result(found)
        except BaseException as error:
            for _, future in share:
                if not future.done():
                    future.set_exception(error)

    def _grade(self, bundle: TaskBundle, files: Mapping[str, bytes]) -> Grade:
        return grade_files(files, bundle, self._sandbox, self._limits)

    def _state(
        self,
        row: Mapping[str, Any],
        probe: Probe,
        workspace_id: str,
        found: Grade,
        outcome: Outcome,
        spool: Spool,
    ) -> None:
        payload = self._emit(row, probe.name, workspace_id, found, outcome, probe.bound, spool)
        if probe.name != "repeat":
            self._remember(payload)

    def _emit(
        self,
        row: Mapping[str, Any],
        name: str,
        workspace_id: str | None,
        found: Grade,
        outcome: Outcome,
        bound: str,
        spool: Spool,
    ) -> dict[str, Any]:
        stream_id = self._stream(row, name)
        payload: dict[str, Any] = {
            "task_id": row["task_id"],
            "task_version": row["task_version"],
            "probe": name,
            "workspace_id": workspace_id,
            "verifier_version": row["verifier_version"],
            "status": found.status,
            "score_code": found.score_code,
            "checks": found.checks,
            "passed": outcome.passed,
            "bound": bound,
            "detail": outcome.detail,
            "duration_s": round(found.wall_s, 4),
        }
        spool.stream("audit", stream_id).emit(PROBED, payload, caused_by=row["event_id"])
        self._done[stream_id] = payload
        self._counts["probes"] += 1
        return payload

    def _remember(self, payload: Mapping[str, Any]) -> None:
        if payload["workspace_id"] is not None and payload["probe"] != "repeat":
            status = payload["status"]
            why = None if status == "scored" else (payload["detail"] or "").removeprefix(f"{status}: ")
            found = Grade(status, payload["score_code"], None, None, payload["checks"], why)
            self._seen[(payload["verifier_version"], payload["workspace_id"])] = found

    def _stream(self, row: Mapping[str, Any], name: str) -> str:
        return f"{_key(row)}/{name}/{row['verifier_version']}"


def grade_files(files: Mapping[str, bytes], bundle: TaskBundle, sandbox: Sandbox, limits: Limits) -> Grade:
    """Grade a workspace given as files; paths that cannot be laid out are the task's fault, not ours.

    Raises:
        SetupError: it cannot be laid out, or the sandbox broke.
    """
    folder = Path(tempfile.mkdtemp(prefix="clawgym-audit-"))
    try:
        try:
            materialise(files, folder / "workspace")
        except UsageError as error:
            return Grade("not_gradable", None, None, None, detail=str(error))
        return grade(
            folder / "workspace", bundle.reward, protocol=bundle.verifier_protocol, sandbox=sandbox, limits=limits
        )
    except OSError as error:
        raise SetupError(f"cannot lay out a workspace in {folder}: {error}") from error
    finally:
        remove_folder(folder)


def grade_all(
    workspaces: Sequence[Mapping[str, bytes]], bundle: TaskBundle, sandbox: Sandbox, limits: Limits
) -> list[Grade]:
    """As `grade_files` for each, in one sandbox where there are several; see `grade_many`.

    Raises:
        SetupError: as `grade_files`.
    """
    if len(workspaces) < 2:
        return [grade_files(files, bundle, sandbox, limits) for files in workspaces]
    folder = Path(tempfile.mkdtemp(prefix="clawgym-audit-"))
    try:
        places = [folder / str(number) for number in range(len(workspaces))]
        for files, place in zip(workspaces, places, strict=True):
            materialise(files, place)
        return grade_many(places, bundle.reward, protocol=bundle.verifier_protocol, sandbox=sandbox, limits=limits)
    except UsageError:  # one that cannot be laid out: each says so for itself
        return [grade_files(files, bundle, sandbox, limits) for files in workspaces]
    except OSError as error:
        raise SetupError(f"cannot lay out workspaces in {folder}: {error}") from error
    finally:
        remove_folder(folder)
