"""Adds the rubric half to verdicts: a further verdict by this judge on what the code verifier has scored.

Belongs here: what is open for the judge of the profile, the event, the 70/30 score. A new judge version judges again;
the verdicts before it stay. Does not belong here: how a judge judges (`assets/grading/judge.py`).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from assets.grading.judge import Judged, judge, judge_version
from assets.llm.client import Client, models
from assets.llm.failures import LlmError, OutOfBudget
from assets.llm.many import all_of
from assets.stage import Context
from assets.verdicts.attempts import EndedAttempt, ended_attempts
from lake import Lake
from lake.ids import digest, utc_now
from lake.spool import Spool

RECORDED: Final = "verdict.recorded"
CODE_SHARE: Final = 0.7
RUBRIC_SHARE: Final = 0.3


@dataclass(frozen=True)
class Half:
    """A verdict that has only its code half."""

    verdict: Mapping[str, Any]
    """Payload of the verdict without a judge."""
    attempt: EndedAttempt
    instruction: str
    rules: list[dict[str, Any]]
    judge_version: str

    @property
    def verdict_id(self) -> str:
        """Digest of (attempt, verifier version, judge version)."""
        return digest(self.attempt.attempt_id, self.verdict["verifier_version"], self.judge_version)


def judge_attempts(context: Context, attempt_ids: Collection[str] | None = None) -> Mapping[str, int]:
    """Judge each scored attempt at a task with a rubric that this judge version has not judged yet.

    Args:
        attempt_ids: only these; all where null.

    Returns:
        Counts: `judged`, `unjudged` (no usable answer: a verdict without rubric score that says why), `waiting` (no
        budget, or an endpoint that did not answer: tried again next time). Empty where the profile has no judge.

    Raises:
        SetupError, StageError: no endpoint, or every call would fail the same way.
    """
    model = models(context.profile.llm).get("judge")
    if model is None:
        return {}
    context.lake.commit()
    version = judge_version(context.profile.llm, context.profile.judge, model)
    halves = _open(context.lake, version, attempt_ids)
    return asyncio.run(_judge_all(context, halves)) if halves else {}


def _open(lake: Lake, version: str, attempt_ids: Collection[str] | None) -> list[Half]:
    attempts = {attempt.attempt_id: attempt for attempt in ended_attempts(lake)}
    rubrics = {
        (row["task_id"], row["verifier_version"]): row
        for row in lake.rows("tasks")
        if row["rubric"] not in (None, "[]")
    }
    done = lake.streams("verdict", (RECORDED,))
    found = []
    for event in lake.events(RECORDED):
        verdict = event.payload
        task = rubrics.get((verdict["task_id"], verdict["verifier_version"]))
        attempt = attempts.get(verdict["attempt_id"])
        if verdict["judge_version"] != "none" or verdict["status"] != "scored" or task is None or attempt is None:
            continue
        half = Half(verdict, attempt, task["instruction"], json.loads(task["rubric"]), version)
        if half.verdict_id not in done and (attempt_ids is None or attempt.attempt_id in attempt_ids):
            found.append(half)
    return sorted(found, key=lambda half: half.verdict_id)


async def _judge_all(context: Context, halves: list[Half]) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    async with Client(context.lake, context.profile.llm, run_id=context.run_id) as client:
        with context.lake.spool("verdicts.judge", context.run_id) as spool:

            async def one(half: Half) -> None:
                counts[await _judge_one(context, client, spool, half)] += 1
                context.progress("judged", counts.total(), len(halves))

            await all_of(one(half) for half in halves)
    return dict(counts)


async def _judge_one(context: Context, client: Client, spool: Spool, half: Half) -> str:
    try:
        found = await judge(
            client,
            context.profile.judge,
            instruction=half.instruction,
            rules=half.rules,
            files=_files(context.lake, half),
            subject=half.attempt.attempt_id,
        )
    except OutOfBudget as error:
        context.progress(str(error))
        return "waiting"
    except LlmError as error:
        context.progress(f"attempt {half.attempt.attempt_id} is not judged yet: {error.detail}")
        return "waiting"
    spool.stream("verdict", half.verdict_id).emit(RECORDED, payload_of(half, found), caused_by=half.attempt.event_id)
    return "unjudged" if found.score_rubric is None else "judged"


def _files(lake: Lake, half: Half) -> dict[str, bytes]:
    """Contents of the files that rules name, as the workspace was frozen; links and what is not there are left out."""
    named = {str(rule.get("file_path")) for rule in half.rules}
    wanted = {e.path: e.sha256 for e in half.attempt.files if e.kind == "file" and e.sha256 and e.path in named}
    contents = lake.blobs(set(wanted.values()))
    return {path: contents[sha] for path, sha in wanted.items()}


def payload_of(half: Half, found: Judged) -> dict[str, Any]:
    """The payload of `verdict.recorded`: the code half as it was, and the rubric's; nothing is renormalised."""
    code = half.verdict["score_code"]
    rubric = found.score_rubric
    return {
        **half.verdict,
        "verdict_id": half.verdict_id,
        "judge_version": half.judge_version,
        "score_rubric": rubric,
        "score": None if rubric is None else CODE_SHARE * code + RUBRIC_SHARE * rubric,
        "detail": half.verdict["detail"]
        if rubric is not None
        else f"judge_error, {found.failure}: {found.detail}"[:400],
        "graded_at": utc_now().isoformat(),
        "judgement": {
            "rules": [asdict(rule) for rule in found.rules],
            "agreement": found.agreement,
            "failure": found.failure,
            "calls": list(found.calls),
        },
    }
