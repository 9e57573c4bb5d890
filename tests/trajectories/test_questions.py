"""The worked questions about logs, on a lake of sessions made for them: usage by model, images back to their bytes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import sql
from assets.logs import STAGE as LOGS
from assets.logs import ingest_paths
from assets.rollouts import STAGE as ROLLOUTS
from assets.trajectories import STAGE
from lake import Lake
from lake.ids import sha256_hex
from tests.trajectories.attempts import context
from tests.trajectories.sessions import Session


def build(folder: Path, *sessions: Session) -> Lake:
    made = context(folder)
    for session in sessions:
        (folder / f"{session.session_id}.jsonl").write_bytes(session.data())
    ingest_paths(made, [folder / f"{session.session_id}.jsonl" for session in sessions])
    for stage in (ROLLOUTS, LOGS, STAGE):
        made.lake.build(stage.projection)
    return made.lake


def ask(lake: Lake, name: str) -> list[dict[str, Any]]:
    relation = lake.sql(sql.load(f"examples/{name}"), read_only=True)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def usage(given: int, made: int, cached: int, cost: float) -> dict[str, Any]:
    return {"input": given, "output": made, "cacheRead": cached, "cacheWrite": 0, "totalTokens": given + made + cached,
            "cost": {"input": cost / 2, "output": cost / 2, "total": cost}}  # fmt: skip


def test_usage_is_summed_over_events_by_model_and_an_unknown_price_is_null(tmp_path: Path) -> None:
    s = Session("usage")
    s.user("go")
    s.assistant("one", model="small", usage=usage(100, 10, 50, 0.25), responseId="r1")
    s.assistant("two", model="large", usage=usage(200, 20, 0, 0), responseId="r2")
    s.user("on")
    s.assistant("three", model="small", usage=usage(100, 10, 0, 0), responseId="r3")
    s.assistant("four", model="none", usage=usage(0, 0, 0, 0), responseId="r4")
    fork = s.forked("usage-fork", minute=90)
    fork.user("more")
    fork.assistant("five", model="large", usage=usage(7, 3, 0, 0), responseId="r5")
    rows = {row["model"]: tuple(row.values())[1:] for row in ask(build(tmp_path, s, fork), "17_usage_by_model")}
    assert rows == {
        "small": (2, 2, 250, 50, 20, 0.25, 1, True),
        "large": (2, 2, 207, 0, 23, None, 0, False),
        "none": (1, 0, None, 0, None, None, 0, False),
    }


def test_an_image_is_found_in_its_raw_record(tmp_path: Path) -> None:
    data = bytes(range(256)) * 20
    s = Session("image")
    s.user("look")
    s.assistant("", ("a", "read", {"path": "p.png"}))
    s.result("a", content=[{"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode()}])
    s.assistant("a gradient")
    lake = build(tmp_path, s)
    (row,) = ask(lake, "18_images")
    assert (row["sha256"], row["bytes"], row["mime"], row["line"]) == (sha256_hex(data), len(data), "image/png", 4)
    raw = lake.sql("select raw from raw_records where record_key = ?", [row["record_key"]]).fetchall()[0][0]
    part = json.loads(bytes(raw))["message"]["content"][0]
    assert base64.b64decode(part["data"]) == data
