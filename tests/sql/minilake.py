"""A synthetic lake for tests of SQL and pages: deterministic in (n, seed), any size.

Belongs here: the shape of the whole (which table gets which rows) and `build`. What happens inside one run is
`miniruns.py`. Does not belong here: anything a real stage computes; the figures are invented and labelled so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

import lake
from lake.ids import Json, canonical, digest, event_id, sha256_hex
from lake.projection import conform, rows_table
from lake.schema import TABLES
from tests.sql import miniruns
from tests.sql.minitasks import Task, file_rows, make_tasks, persona_rows, skill_rows

EPOCH = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
POLICIES = ("scripted:strong@1", "scripted:weak@1")
CHECKPOINT = "checkpoint:9f2c4e6a8b0d1f3a5c7e"
PARENT = "0a1b2c3d4e5f60718293"
CHUNK = 1000

Rows = dict[str, list[dict[str, Json]]]


@dataclass
class Sink:
    """Rows by table, turned into Arrow chunk by chunk so that a large lake fits in memory."""

    rows: Rows = field(default_factory=lambda: defaultdict(list))
    chunks: dict[str, list[pa.Table]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, rows: Iterable[dict[str, Json]]) -> None:
        self.rows[name].extend(rows)

    def flush(self) -> None:
        for name, rows in self.rows.items():
            if rows:
                self.chunks[name].append(rows_table(name, rows))
        self.rows.clear()

    def table(self, name: str) -> pa.Table:
        return pa.concat_tables([TABLES[name].arrow.empty_table(), *self.chunks[name]])


def build(root: Path, n: int = 36, seed: int = 7, *, raw: bool = True) -> lake.Lake:
    """A lake with `n` trajectories of our own runs, two foreign ones, and everything around them.

    Args:
        root: an empty or missing folder.
        n: trajectories.
        seed: other seeds give other figures.
        raw: whether to write the raw records too (they are the bulk of a large lake).
    """
    opened = lake.open(root)
    sink = Sink()
    tasks = make_tasks(max(14, n // 2), seed)
    _inputs(sink, tasks)
    runs = miniruns.plan(tasks, n, seed)
    for start in range(0, len(runs), CHUNK):
        for run in runs[start : start + CHUNK]:
            miniruns.write(sink, run, EPOCH + timedelta(minutes=run.number), raw=raw)
        sink.flush()
    miniruns.write_foreign(sink, EPOCH, raw=raw)
    _training(sink, runs)
    _bench(sink, runs)
    _reviews(sink, tasks)
    _models(sink, tasks)
    sink.flush()
    for name, spec in TABLES.items():
        rows = sink.table(name)
        if spec.kind == "log":
            if rows.num_rows:
                order = [(column, "ascending") for column in (spec.sort_by or spec.key)]
                opened.store.append(name, rows.sort_by(order), {"minilake": 0})
        else:
            opened.store.overwrite(name, conform(name, rows), {"clawgym.rows": str(rows.num_rows)})
    opened.snapshot("minilake")
    return opened


def event(kind: str, stream: str, seq: int, type: str, at: datetime, payload: Json) -> dict[str, Json]:  # noqa: A002
    """One row of `events`."""
    return {
        "event_id": event_id(kind, stream, seq), "stream_kind": kind, "stream_id": stream, "seq": seq, "type": type,
        "type_version": 1, "occurred_at": at, "recorded_at": at, "actor": "minilake", "payload": canonical(payload),
    }  # fmt: skip


def _inputs(sink: Sink, tasks: list[Task]) -> None:
    sink.add("personas", persona_rows())
    sink.add("skills", skill_rows())
    blobs: dict[str, bytes] = {}
    for task in tasks:
        blobs |= {sha256_hex(data): data for data in (*task.inputs.values(), *task.package.values())}
        sink.add("tasks", [task.row()])
        sink.add("workspaces", file_rows(task.inputs, task))
        sink.add("audits", task.audit_rows())
        sink.add("task_status", [task.status_row()])
    blobs |= {sha256_hex(data): data for data in miniruns.final_contents(tasks)}
    sink.add(
        "blobs",
        (
            {"sha256": sha, "size": len(data), "mime": "text/plain", "data": data, "stored_at": EPOCH}
            for sha, data in sorted(blobs.items())
        ),
    )


def _training(sink: Sink, runs: list[miniruns.Run]) -> None:
    kept = [run for run in runs if run.kept]
    own = CHECKPOINT.removeprefix("checkpoint:")
    common = {
        "architecture": "Qwen3ForCausalLM", "parameters": 229_952, "tokenizer_sha256": sha256_hex("tokenizer"),
        "template_sha256": sha256_hex("template"), "created_at": EPOCH,
    }  # fmt: skip
    for checkpoint, method, parent, rows, steps in ((PARENT, "init", None, 0, 0), (own, "sft", PARENT, len(kept), 20)):
        sink.add(
            "checkpoints",
            [
                {
                    **common, "checkpoint_id": checkpoint, "method": method, "parent_id": parent,
                    "path": f"checkpoints/{checkpoint}", "config": canonical({"steps": steps, "learning_rate": 0.003}),
                    "examples": rows, "example_ids_sha256": sha256_hex(f"{rows}"), "steps": steps,
                    "loss_first": 7.4 if steps else None, "loss_last": 3.1 if steps else None,
                    "event_id": event_id("training", checkpoint, 0),
                }
            ],
        )  # fmt: skip
    for step in range(1, 21):
        for metric, value in (("loss", 7.4 * 0.957**step), ("learning_rate", 0.003 * (1 - step / 20))):
            sink.add("training_metrics", [{"checkpoint_id": own, "step": step, "metric": metric, "value": value}])


def _bench(sink: Sink, runs: list[miniruns.Run]) -> None:
    """Scores of the bench attempts; the interval is a normal one over tasks, which is enough for a picture."""
    by_policy: dict[str, list[miniruns.Run]] = defaultdict(list)
    for run in runs:
        if run.purpose == "bench" and run.counted:
            by_policy[run.policy].append(run)
    for policy, mine in sorted(by_policy.items()):
        scopes: dict[tuple[str, str], list[miniruns.Run]] = defaultdict(list)
        for run in mine:
            scopes["suite", "demo"].append(run)
            scopes["category", run.task.category].append(run)
            scopes["task", run.task.task_id].append(run)
        for (scope, value), members in sorted(scopes.items()):
            sink.add("bench_scores", [_score_row(policy, scope, value, members)])
    strong, weak = (_task_means(by_policy[policy]) for policy in POLICIES)
    if strong and weak:
        sink.add("bench_comparisons", [_comparison_row(strong, weak)])


def _task_means(runs: list[miniruns.Run]) -> dict[str, float]:
    scores: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if run.score is not None:
            scores[run.task.task_id].append(run.score)
    return {task: sum(values) / len(values) for task, values in sorted(scores.items())}


def _comparison_row(strong: dict[str, float], weak: dict[str, float]) -> dict[str, Json]:
    """The two teachers side by side; its interval is a normal one."""
    common = [task for task in strong if task in weak]
    differences = [weak[task] - strong[task] for task in common]
    mean = sum(differences) / len(common) if common else 0.0
    spread = 1.96 * (sum((d - mean) ** 2 for d in differences)) ** 0.5 / max(len(common), 1)
    first, second = (digest("demo", policy) for policy in POLICIES)
    return {
        "first_run_id": first, "second_run_id": second, "suite": "demo", "suite_version": digest("demo", length=16),
        "first_policy": POLICIES[0], "second_policy": POLICIES[1], "scripted": True, "score_column": "score_code",
        "tasks": len(common), "difference": mean, "low": mean - spread, "high": mean + spread, "p_value": 0.25,
        "first_mean": sum(strong[task] for task in common) / max(len(common), 1),
        "second_mean": sum(weak[task] for task in common) / max(len(common), 1),
        "better": sum(d > 0 for d in differences), "worse": sum(d < 0 for d in differences),
        "equal": sum(d == 0 for d in differences),
        "gained": [task for task in common if weak[task] >= 0.999 > strong[task]],
        "lost": [task for task in common if strong[task] >= 0.999 > weak[task]],
    }  # fmt: skip


def _score_row(policy: str, scope: str, value: str, members: list[miniruns.Run]) -> dict[str, Json]:
    scripted = policy.startswith("scripted:")
    scores = [run.score for run in members if run.score is not None]
    mean = sum(scores) / len(scores) if scores else None
    spread = None
    if mean is not None and len(scores) > 1:
        spread = 1.96 * (sum((s - mean) ** 2 for s in scores) / (len(scores) - 1) / len(scores)) ** 0.5
    calls = sum(run.calls for run in members)
    return {
        "bench_run_id": digest("demo", policy), "suite": "demo", "suite_version": digest("demo", length=16),
        "policy": policy, "policy_kind": policy.split(":")[0], "scope": scope, "scope_value": value,
        "score_column": "score_code",
        "tasks": len({run.task.task_id for run in members}), "n": len(scores), "n_null": len(members) - len(scores),
        "mean": mean,
        "low": None if mean is None or spread is None else max(0.0, mean - spread),
        "high": None if mean is None or spread is None else min(1.0, mean + spread),
        "pass_at_1": sum(s >= 0.999 for s in scores) / len(scores) if scores else None,
        "pass_hat_k": sum(s >= 0.999 for s in scores) / len(scores) if scores else None,
        "k": 1, "valid_call_rate": None if not calls else (1.0 if scripted else 0.25),
        "label": "scripted teacher: checks the harness, not a model" if scripted else "tiny model trained on the demo",
    }  # fmt: skip


def _reviews(sink: Sink, tasks: list[Task]) -> None:
    decisions = (("accept", "Instruction and verifier agree."), ("revise", "The total is asked for twice."))
    for task, (decision, note) in zip(tasks, decisions, strict=False):
        review = digest("review", task.task_id)
        payload = {
            "review_id": review, "subject_kind": "task", "subject_id": f"{task.task_id}@{task.version}",
            "decision": decision, "reviewer": "person:ada", "note": note,
        }  # fmt: skip
        sink.add("events", [event("review", review, 0, "review.recorded", EPOCH, payload)])


def _models(sink: Sink, tasks: list[Task]) -> None:
    """What models were asked to write and to judge: two candidates and a rubric."""
    for index, end in enumerate(("proposed", "quarantined")):
        candidate = f"persona-s1-{index:05d}"
        end_of = (
            {"step": "task_review", "kind": "unclear", "reason": "two readings"} if index else {"task_id": candidate}
        )
        payload: dict[str, Json] = {
            "candidate_id": candidate, "route": "persona", "seed": 1, "index": index, "rounds": 1, "wording": "1",
            "scenario_category": tasks[index].scenario, "scenario_subcategory": tasks[index].subcategory,
            "persona_id": None, "skill_ids": [], "instruction": "Do it.", "novel": True,
            "calls": {"task_draft": ["c0"], "task_inputs": ["c1", "c2"]},
            **end_of,
        }  # fmt: skip
        sink.add("events", [event("candidate", candidate, 0, f"candidate.{end}", EPOCH, payload)])
    rules = [{"name": "useful", "weight": 1.0, "scores": [0.5, 0.75], "reasons": ["short", "to the point"]}]
    verdict = {
        "verdict_id": digest("judged"), "attempt_id": None, "task_id": tasks[0].task_id, "judge_version": "judge:1:m:0",
        "judgement": {"rules": rules, "agreement": 0.0, "failure": None, "calls": ["c3", "c4"]},
    }  # fmt: skip
    sink.add("events", [event("verdict", digest("judged"), 0, "verdict.recorded", EPOCH, verdict)])
