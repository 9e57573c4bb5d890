"""Tables `sft_examples` and `sft_decisions` from trajectories, attempts, verdicts, splits and the policy that holds."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from assets.sft.filter import DUPLICATE, KEPT, Facts, content_sha256, decide
from assets.sft.policy import EVENT, Policy, latest
from lake import Projection, View, rows_table
from lake.ids import Json, digest


def build(view: View) -> Mapping[str, pa.Table]:
    """Decide on each trajectory from its small columns, then read the text of those kept."""
    _, policy = latest(view.events(EVENT))
    trajectories = view.table("trajectories")
    light = trajectories.drop_columns(["messages", "tools"]).append_column("has_tools", _has_tools(trajectories))
    attempts = {row["attempt_id"]: row for row in view.table("attempts").to_pylist()}
    splits = {(row["task_id"], row["task_version"]): row["split"] for row in view.table("task_status").to_pylist()}
    verdicts = {row["attempt_id"]: row for row in view.table("verdicts").to_pylist() if row["is_latest"]}
    decisions: list[dict[str, Json]] = []
    candidates: list[tuple[int, dict[str, Json]]] = []
    for index, trajectory in enumerate(light.to_pylist()):
        attempt = attempts.get(trajectory["attempt_id"])
        verdict = verdicts.get(trajectory["attempt_id"])
        split = splits.get((attempt["task_id"], attempt["task_version"])) if attempt else None
        score = verdict[policy.score_column] if verdict else None
        reason = decide(_facts(trajectory, attempt, verdict, split, score), policy.threshold)
        decisions.append(
            {
                "trajectory_id": trajectory["trajectory_id"],
                "attempt_id": trajectory["attempt_id"],
                "decision": KEPT if reason == KEPT else "dropped",
                "reason": reason,
                "score": score,
            }
        )
        if reason == KEPT and attempt is not None and verdict is not None:
            example = _example(trajectory, attempt, verdict, policy) | {"split": split, "score": score}
            candidates.append((index, example))
    examples = _without_duplicates(_with_text(candidates, trajectories, policy), decisions)
    return {
        "sft_examples": rows_table("sft_examples", examples),
        "sft_decisions": rows_table("sft_decisions", decisions),
    }


def _has_tools(trajectories: pa.Table) -> pa.ChunkedArray:
    """Whether the schemas served are recorded, and not as an empty list."""
    tools = trajectories.column("tools")
    return pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(tools), pa.scalar("[]", tools.type)), False)


def _facts(
    trajectory: dict[str, Json],
    attempt: dict[str, Json] | None,
    verdict: dict[str, Json] | None,
    split: str | None,
    score: float | None,
) -> Facts:
    return Facts(
        ours=attempt is not None,
        purpose=attempt["purpose"] if attempt else None,
        counted=bool(attempt and attempt["counted"]),
        branch=trajectory["branch"],
        trajectory_class=trajectory["class"],
        has_tools=trajectory["has_tools"],
        split=split,
        has_verdict=verdict is not None,
        score=score,
    )


def _example(
    trajectory: dict[str, Json], attempt: dict[str, Json], verdict: dict[str, Json], policy: Policy
) -> dict[str, Json]:
    """The columns of an example that need no text."""
    return {
        "trajectory_id": trajectory["trajectory_id"],
        "attempt_id": attempt["attempt_id"],
        "task_id": attempt["task_id"],
        "task_version": attempt["task_version"],
        "verdict_id": verdict["verdict_id"],
        "policy": attempt["policy"],
        "score_column": policy.score_column,
        "turns": trajectory["turns"],
        "tool_calls": trajectory["tool_calls"],
        "context_differs": trajectory["context_differs"],
    }


def _with_text(
    candidates: list[tuple[int, dict[str, Json]]], trajectories: pa.Table, policy: Policy
) -> list[dict[str, Json]]:
    """Add messages, tools, their digest, and the identity that follows from them."""
    chosen = trajectories.select(["messages", "tools"]).take(pa.array([index for index, _ in candidates], pa.int64()))
    rows = []
    for (_, example), text in zip(candidates, chosen.to_pylist(), strict=True):
        sha = content_sha256(json.loads(text["messages"]), json.loads(text["tools"]))
        example_id = digest(example["trajectory_id"], policy.version, sha)
        rows.append({**example, **text, "content_sha256": sha, "example_id": example_id})
    return rows


def _without_duplicates(examples: list[dict[str, Json]], decisions: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The first of each content by (split, trajectory), so nothing stands in train and validation at once."""
    first: dict[str, dict[str, Json]] = {}
    for example in sorted(examples, key=lambda row: (row["split"], row["trajectory_id"])):
        first.setdefault(example["content_sha256"], example)
    kept = {example["trajectory_id"] for example in first.values()}
    for decision in decisions:
        if decision["decision"] == KEPT and decision["trajectory_id"] not in kept:
            decision |= {"decision": "dropped", "reason": DUPLICATE}
    return list(first.values())


PROJECTION = Projection(
    name="sft",
    version=1,
    outputs=("sft_examples", "sft_decisions"),
    events=(EVENT,),
    build=build,
    tables=("trajectories", "attempts", "verdicts", "task_status"),
)
