"""ATIF, Harbor's interchange format, 1.7 or 1.8: one document a trajectory.

Results stand in the step of their call; what the format has no field for is in `extra`. A folder has a file for each
(`trajectories/ID.json`, which references to sub-agents name), else they are JSON lines. Does not belong here: reading
it (`assets/trajectories/formats/atif`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from assets.trajectories.exports.item import About, Item, Row, Tally, read_json, to_json, write_lines
from assets.trajectories.exports.usage import metrics_of
from lake.ids import Json

VERSIONS: Final = ("1.7", "1.8")
FOLDER: Final = "trajectories"
_SOURCE: Final = {"system": "system", "user": "user", "assistant": "agent"}
_TOP: Final = (
    "class", "branch", "rules", "source_id", "attempt_id", "task_id", "task_version", "policy", "purpose", "counted",
    "ending", "verdict_status", "score_code", "score", "context_differs", "secrets_masked",
)  # fmt: skip
"""Columns that go into a document's `extra`."""


def write(items: Iterable[Item], to: Path, about: About, tally: Tally) -> None:
    """See `Writer`."""
    tally.expect("without_steps", "results_without_call", "agent_unknown", "subagent_references")
    documents = _documents(items, about, tally)
    if about.single_file:
        write_lines((document for _, document in documents), to)
        return
    (to / FOLDER).mkdir(parents=True)
    for name, document in documents:
        (to / FOLDER / f"{name}.json").write_text(to_json(document) + "\n", encoding="utf-8", newline="\n")


def _documents(items: Iterable[Item], about: About, tally: Tally) -> Iterator[tuple[str, Json]]:
    for item in items:
        if not item.spoken:
            tally.leave_out("without_steps")
            continue
        tally.take(item)
        yield item.trajectory_id, document_of(item, about, tally)


def document_of(item: Item, about: About, tally: Tally) -> dict[str, Json]:
    """A trajectory as a document."""
    row = item.row
    name, version = item.agent
    tally.not_held["agent_unknown"] += version is None
    steps = _steps(item, _references(item, about, tally), tally)
    parent = about.parents.get(item.trajectory_id) or row["parent_session"]
    extra = {column: row[column] for column in _TOP} | {"parent_session_id": parent}
    agent = {
        "name": name or "unknown",
        "version": version or "unknown",
        "model_name": row["model"],
        "tool_definitions": [tool for tool in item.tools if isinstance(tool, dict)] or None,
    }
    return _filled(
        {
            "schema_version": f"ATIF-v{about.atif_version}",
            "session_id": row["session_id"],
            "trajectory_id": item.trajectory_id,
            "agent": _filled(agent),
            "steps": steps,
            "final_metrics": _final(steps),
            "extra": _filled(extra),
        }
    )


def _steps(item: Item, references: dict[int, list[Json]], tally: Tally) -> list[dict[str, Json]]:
    """Steps with numbers from 1; a result goes into the step of its call."""
    made: list[dict[str, Json]] = []
    of_step: dict[int, dict[str, Json]] = {}
    if item.system is not None:
        made.append({"source": "system", "message": item.system})
    for step in item.spoken:
        if step["role"] != "tool":
            of_step[step["step"]] = _step(step, item.calls_of.get(step["step"], []), item.row["model"])
            made.append(of_step[step["step"]])
            continue
        answers = item.answered.get(step["step"])
        home = None if answers is None else of_step.get(answers["step"])
        if home is None:
            tally.not_held["results_without_call"] += 1
            answers, home = None, {"source": "system", "message": "", **_context(step)}
            made.append(home)
        result = _result(step, answers, references.get(step["step"]))
        home.setdefault("observation", {"results": []})["results"].append(result)
    return [{"step_id": number, **step} for number, step in enumerate(made, 1)]


def _step(step: Row, calls: list[Row], usual_model: str | None) -> dict[str, Json]:
    found: dict[str, Json] = {
        "timestamp": _time(step["ts"]),
        "source": _SOURCE[step["role"]],
        "message": step["text"],
        **_context(step),
    }
    extra = {"step": step["step"], "record_key": step["record_key"]}
    if step["role"] == "assistant":
        found["model_name"] = step["model"] if step["model"] != usual_model else None
        found["reasoning_content"] = step["thinking"]
        found["tool_calls"] = [
            {
                "tool_call_id": call["tool_call_id"],
                "function_name": call["tool"],
                "arguments": read_json(call["arguments"]),
            }
            for call in calls
        ] or None
        found["metrics"] = metrics_of(step) or None
        # One answer of the endpoint, where the log or the proxy names it; other turns say nothing of how many.
        found["llm_call_count"] = 1 if step["response_id"] or step["proxy_record_key"] else None
        extra |= {name: step[name] for name in ("stop_reason", "response_id", "proxy_record_key")}
    found["extra"] = _filled(extra)
    return _filled(found)


def _result(step: Row, call: Row | None, references: list[Json] | None) -> dict[str, Json]:
    extra: dict[str, Json] = {"record_key": step["record_key"], "timestamp": _time(step["ts"])}
    extra["is_error"] = step["is_error"]
    if call is not None:
        extra |= {name: call[name] for name in ("error_source", "exit_code", "duration_ms")}
    return _filled(
        {
            "source_call_id": None if call is None else call["tool_call_id"],
            "content": step["text"],
            "subagent_trajectory_ref": references,
            "extra": _filled(extra),
        }
    )


def _context(step: Row) -> dict[str, Json]:
    return {"is_copied_context": True} if step["copied_context"] else {}


def _references(item: Item, about: About, tally: Tally) -> dict[int, list[Json]]:
    """References to sub-agents, by the step of the result that names their session; a file only can be named.

    A child that no result names, and every child in JSON lines, is counted as not held here: the child's own document
    says its parent.
    """
    children = about.children.get((item.row["home"], item.row["session_id"]), [])
    found: dict[int, list[Json]] = {}
    for child in children:
        place = next(
            (s["step"] for s in item.spoken if s["role"] == "tool" and _names(s["text"], child.session_key)), None
        )
        if place is None or about.single_file:
            tally.not_held["subagent_references"] += 1
            continue
        reference = {"trajectory_path": f"{child.trajectory_id}.json", "session_id": child.session_id}
        found.setdefault(place, []).append({**reference, "extra": {"known_by": child.known_by}})
    return found


def _names(text: str, key: str | None) -> bool:
    return key is not None and "childSessionKey" in text and f'"{key}"' in text


def _final(steps: list[dict[str, Json]]) -> dict[str, Json]:
    """Sums over what is not copied; null where no step says, and a cost only where every turn's is known."""
    turns = [step for step in steps if step["source"] == "agent" and not step.get("is_copied_context")]
    metrics = [step.get("metrics", {}) for step in turns]
    costs = [one.get("cost_usd") for one in metrics]
    return _filled(
        {
            "total_prompt_tokens": _sum(metrics, "prompt_tokens"),
            "total_completion_tokens": _sum(metrics, "completion_tokens"),
            "total_cached_tokens": _sum(metrics, "cached_tokens"),
            "total_cost_usd": sum(costs) if costs and None not in costs else None,
            "total_steps": len(steps),
        }
    )


def _sum(metrics: list[dict[str, Any]], name: str) -> int | None:
    known = [one[name] for one in metrics if name in one]
    return sum(known) if known else None


def _filled(value: dict[str, Json]) -> dict[str, Json]:
    """Without what is null."""
    return {name: inner for name, inner in value.items() if inner is not None}


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat().replace("+00:00", "Z")
