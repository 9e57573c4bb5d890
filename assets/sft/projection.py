"""Tables `sft_examples` and `sft_decisions` from trajectories, attempts, verdicts, splits and the policy that holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from assets.sft.filter import DUPLICATE, KEPT, Facts, content_sha256, decide
from assets.sft.policy import EVENT, Policy, latest
from lake import Projection, View, rows_table
from lake.engine import SQL_ROOT
from lake.ids import Json, digest

Row = Mapping[str, Json]


def build(view: View) -> Mapping[str, pa.Table]:
    """Decide on each trajectory from its facts, then read the text of those that pass."""
    _, policy = latest(view.events(EVENT))
    facts: list[Row] = view.sql(_query("facts")).to_pylist()
    reasons = {row["trajectory_id"]: decide(_facts(row, policy), policy.threshold) for row in facts}
    passed = [row for row in facts if reasons[row["trajectory_id"]] == KEPT]
    examples = _examples(passed, _texts(view, passed), policy)
    kept = {str(example["trajectory_id"]) for example in examples}
    reasons |= {row["trajectory_id"]: DUPLICATE for row in passed if row["trajectory_id"] not in kept}
    decisions = [_decision(row, reasons[row["trajectory_id"]], policy) for row in facts]
    return {
        "sft_examples": rows_table("sft_examples", examples),
        "sft_decisions": rows_table("sft_decisions", decisions),
    }


def _facts(row: Row, policy: Policy) -> Facts:
    return Facts(
        ours=row["ours"],
        purpose=row["purpose"],
        counted=row["counted"],
        branch=row["branch"],
        trajectory_class=row["class"],
        has_tools=row["has_tools"],
        split=row["split"],
        has_verdict=row["verdict_id"] is not None,
        score=row[policy.score_column],
    )


def _decision(row: Row, reason: str, policy: Policy) -> dict[str, Json]:
    return {
        "trajectory_id": row["trajectory_id"],
        "attempt_id": row["attempt_id"],
        "decision": KEPT if reason == KEPT else "dropped",
        "reason": reason,
        "score": row[policy.score_column],
    }


def _texts(view: View, rows: Iterable[Row]) -> dict[str, Row]:
    ids = [row["trajectory_id"] for row in rows]
    found: list[Row] = view.sql(_query("texts"), {"trajectory_ids": ids}).to_pylist()
    return {str(row["trajectory_id"]): row for row in found}


def _examples(rows: Sequence[Row], texts: Mapping[str, Row], policy: Policy) -> list[dict[str, Json]]:
    """Examples by (split, trajectory), the first of each content: nothing stands in train and validation at once."""
    first: dict[str, dict[str, Json]] = {}
    for row in sorted(rows, key=lambda row: (row["split"], row["trajectory_id"])):
        text = texts[row["trajectory_id"]]
        sha = content_sha256(json.loads(text["messages"]), json.loads(text["tools"]))
        copied = ("trajectory_id", "attempt_id", "task_id", "task_version", "verdict_id", "split", "policy")
        counted = ("turns", "tool_calls", "context_differs")
        example = {name: row[name] for name in (*copied, *counted)} | {
            "example_id": digest(row["trajectory_id"], policy.version, sha),
            "score_column": policy.score_column,
            "score": row[policy.score_column],
            "messages": text["messages"],
            "tools": text["tools"],
            "content_sha256": sha,
        }
        first.setdefault(sha, example)
    return list(first.values())


def _query(name: str) -> str:
    return (SQL_ROOT / "sft" / f"{name}.sql").read_text()


PROJECTION = Projection(
    name="sft",
    version=1,
    outputs=("sft_examples", "sft_decisions"),
    events=(EVENT,),
    build=build,
    tables=("trajectories", "attempts", "verdicts", "task_status"),
)
