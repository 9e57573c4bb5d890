"""Tables of the stage `verdicts`: the history of grading, and which attempts pass the filter."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import TIMESTAMP, Column, Table

VERDICTS = Table(
    name="verdicts",
    stage="verdicts",
    kind="projection",
    doc="One grading of one frozen workspace. Appended, never overwritten.",
    grain="one attempt x verifier version x judge version",
    key=("verdict_id",),
    columns=(
        Column("verdict_id", pa.string(), "Digest of (attempt, verifier version, judge version), 20 hex digits"),
        Column("attempt_id", pa.string(), "Attempt", references="attempts.attempt_id"),
        Column("task_id", pa.string(), "Task", references="tasks.task_id"),
        Column("task_version", pa.string(), "Task version"),
        Column("workspace_id", pa.string(), "Workspace graded: the final files of the attempt", nullable=True),
        Column("verifier_version", pa.string(), "Verifier"),
        Column("judge_version", pa.string(), "Judge; none when not judged"),
        Column("status", pa.string(), "scored | verifier_error | verifier_timeout | judge_error | not_gradable"),
        Column(
            "score_code",
            pa.float64(),
            "Mean of the named checks or the verifier's own reward; null unless scored",
            nullable=True,
        ),
        Column("score_rubric", pa.float64(), "Rubric score; null when not judged", nullable=True),
        Column(
            "score", pa.float64(), ".7/.3 when both exist, code when the task has no rubric, else null", nullable=True
        ),
        Column("verifier_reward", pa.float64(), "The verifier's own `reward`, when it states one", nullable=True),
        Column("wrapper_score", pa.float64(), "What the original reward.sh would have printed", nullable=True),
        Column("checks_passed", pa.int32(), "Checks at 1", nullable=True),
        Column("checks_total", pa.int32(), "Checks", nullable=True),
        Column("checks", pa.string(), "JSON object: check name to value"),
        Column("detail", pa.string(), "Why there is no score", nullable=True),
        Column("is_latest", pa.bool_(), "Latest verdict of its attempt"),
        Column("graded_at", TIMESTAMP, "When", role="bookkeeping"),
        Column("duration_s", pa.float64(), "Wall time", unit="s", role="bookkeeping"),
        Column("event_id", pa.string(), "Event", references="events.event_id"),
    ),
)

TABLES = (VERDICTS,)
