"""Checks of the stage `sft`: every trajectory decided once, and nothing in the set that the filter must keep out."""

from __future__ import annotations

from assets.sft.filter import REASONS
from assets.sft.policy import EVENT, STREAM, latest
from assets.stage import CheckOutcome, StageCheck
from lake import Lake


def every_trajectory_decided(lake: Lake) -> CheckOutcome:
    """Decisions and trajectories are the same set, examples are those kept, reasons are known ones."""
    trajectories = set(lake.table("trajectories").column("trajectory_id").to_pylist())
    decisions = lake.rows("sft_decisions")
    kept = {row["trajectory_id"] for row in decisions if row["decision"] == "kept"}
    examples = set(lake.table("sft_examples").column("trajectory_id").to_pylist())
    unknown = sorted({row["reason"] for row in decisions} - set(REASONS))
    odd = [row for row in decisions if (row["decision"] == "kept") != (row["reason"] == "kept")]
    passed = (
        {row["trajectory_id"] for row in decisions} == trajectories and kept == examples and not unknown and not odd
    )
    return CheckOutcome(
        passed,
        f"{len(trajectories)} trajectories, {len(decisions)} decisions, {len(kept)} kept, {len(examples)} examples"
        + (f", unknown reasons {unknown}" if unknown else ""),
        {"trajectories": len(trajectories), "kept": len(kept)},
    )


def only_what_may_be_learned(lake: Lake) -> CheckOutcome:
    """Looked up again from the tables: splits, threshold, purpose; no content in two splits."""
    _, policy = latest(lake.events(EVENT, stream_kind=STREAM))
    row = lake.sql(
        """
        select count(*) as examples,
               count(*) filter (where t.split is distinct from e.split) as wrong_split,
               count(*) filter (where e.split not in ('train', 'validation')) as held_out,
               count(*) filter (where a.purpose is distinct from 'collect' or not a.counted) as wrong_attempt,
               count(*) filter (where not e.score >= $1) as below,
               count(*) - count(distinct e.content_sha256) as repeated
        from sft_examples as e
        left join attempts as a using (attempt_id)
        left join task_status as t on t.task_id = e.task_id and t.task_version = e.task_version
        """,
        [policy.threshold],
    ).fetchone()
    examples, *faults = row or (0, 1)
    names = ("in another split than their task", "held out", "of a wrong attempt", "below the threshold", "repeated")
    found = [f"{count} {name}" for count, name in zip(faults, names, strict=False) if count]
    return CheckOutcome(
        not found, f"{examples} examples" + (": " + ", ".join(found) if found else ""), {"examples": int(examples)}
    )


CHECKS = (
    StageCheck(
        "sft_every_trajectory_decided",
        "sft_decisions",
        every_trajectory_decided,
        "Each trajectory has one decision with a known reason, and those kept are the examples.",
    ),
    StageCheck(
        "sft_only_what_may_be_learned",
        "sft_examples",
        only_what_may_be_learned,
        "No example from a held-out split, an uncounted attempt or below the threshold, and none twice.",
    ),
)
