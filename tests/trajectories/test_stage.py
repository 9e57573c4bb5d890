"""The stage over a lake: rows, checks that pass and checks that fail, determinism, masking everywhere."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.logs import STAGE as LOGS
from assets.logs import ingest_attempts, ingest_paths
from assets.logs.readers.database import DatabaseReader
from assets.rollouts import STAGE as ROLLOUTS
from assets.stage import Context
from assets.trajectories import STAGE
from lake import Lake, rows_table
from lake.engine import SQL_ROOT
from tests.trajectories.attempts import FIXTURES, context, make_attempt, state_attempt
from tests.trajectories.sessions import Session, exec_call
from tests.trajectories.test_secrets import CANARIES, planted

TABLES = STAGE.projection.outputs


def build(lake: Lake) -> None:
    for stage in (ROLLOUTS, LOGS, STAGE):
        lake.build(stage.projection)


def checks(lake: Lake) -> dict[str, bool]:
    return {check.name: check.run(lake).passed for check in STAGE.checks}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    """A lake with three recorded attempts and logs of others."""
    made = context(tmp_path_factory.mktemp("trajectories"))
    for number, case in enumerate(("toolerr", "reasoning", "compaction_overflow")):
        make_attempt(made.lake, case, f"{number:020d}")
    ingest_attempts(made)
    ingest_paths(made, [FIXTURES / "handmade", FIXTURES / "shape"])
    build(made.lake)
    yield made


def test_every_check_passes(built: Context) -> None:
    assert checks(built.lake) == {"ledger_adds_up": True, "rules_known": True, "counted_attempts_have_one": True}


def test_an_attempt_has_its_trajectory_steps_calls_and_samples(built: Context) -> None:
    rows = [row for row in built.lake.rows("trajectories") if row["attempt_id"] == "0" * 20]
    (row,) = rows
    assert (row["class"], row["turns"], row["tool_calls"], row["tool_errors"], row["tool_types"]) == (
        "normal", 7, 6, 6, 5,
    )  # fmt: skip
    assert (row["task_id"], row["policy"], row["context_differs"]) == ("task-1", "scripted:strong@1", 0.0)
    messages = json.loads(row["messages"])
    assert [m["role"] for m in messages[:4]] == ["system", "user", "assistant", "tool"]
    assert messages[1]["content"] == "Do the task."  # neither date nor `Runtime:` line
    assert all(isinstance(c["function"]["arguments"], str) for m in messages for c in m.get("tool_calls", ()))
    assert [tool["type"] for tool in json.loads(row["tools"])] == ["function"] * 6
    steps = [s for s in built.lake.rows("steps") if s["trajectory_id"] == row["trajectory_id"]]
    assert len(steps) == len(messages) and all(s["proxy_record_key"] for s in steps if s["role"] == "assistant")
    samples = [s for s in built.lake.rows("samples") if s["trajectory_id"] == row["trajectory_id"]]
    made = {s["step"]: s["response_id"] for s in samples}
    assert made == {s["step"]: s["response_id"] for s in steps if s["role"] == "assistant"}


def test_rows_lead_back_to_raw_records(built: Context) -> None:
    dangling = built.lake.sql(
        "select count(*) from (select record_key from steps union all select record_key from tool_calls"
        " union all select result_record_key from tool_calls union all select record_key from diagnostics"
        " union all select record_key from samples union all select proxy_record_key from steps) found"
        " where record_key is not null and record_key not in (select record_key from raw_records)"
    ).fetchall()
    assert dangling == [(0,)]


def test_tool_messages_follow_their_calls(built: Context) -> None:
    for row in built.lake.rows("trajectories"):
        open_ids: list[str] = []
        for message in json.loads(row["messages"]):
            if message["role"] == "tool":
                assert open_ids.pop(0) == message["tool_call_id"]
            else:
                assert not open_ids
                open_ids = [call["id"] for call in message.get("tool_calls", ())]
        assert not open_ids


def test_what_a_rule_touched_is_one_query(built: Context) -> None:
    query = (SQL_ROOT / "trajectories" / "touched_by_rule.sql").read_text()
    found = built.lake.sql(query, {"rule": "utf8_bom"}).fetchall()
    assert [(row[0], row[2], row[5], Path(row[4]).name) for row in found] == [
        ("utf8_bom", "repaired", 1, "utf8_bom.jsonl")
    ]


def test_a_second_build_gives_the_same_and_does_nothing(built: Context) -> None:
    before = {name: built.lake.table(name) for name in TABLES}
    assert built.lake.build(STAGE.projection).skipped
    again = built.lake.build(STAGE.projection, force=True)
    assert not again.skipped and all(built.lake.table(name).equals(before[name]) for name in TABLES)


def test_the_loss_check_fails_when_a_record_has_no_fate(tmp_path: Path) -> None:
    made = context(tmp_path)
    shutil.copy(FIXTURES / "handmade" / "baseline.jsonl", tmp_path / "a.jsonl")
    ingest_paths(made, [tmp_path / "a.jsonl"])
    build(made.lake)
    assert checks(made.lake)["ledger_adds_up"]
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b'{"type":"custom"}\n')
    ingest_paths(made, [tmp_path / "a.jsonl"])
    assert not checks(made.lake)["ledger_adds_up"]
    build(made.lake)
    assert checks(made.lake)["ledger_adds_up"]


def test_the_rules_check_fails_on_a_name_nobody_declared(tmp_path: Path) -> None:
    made = context(tmp_path)
    ingest_paths(made, [FIXTURES / "handmade" / "utf8_bom.jsonl"])
    build(made.lake)
    assert checks(made.lake)["rules_known"]
    rules = [row for row in made.lake.rows("cleaning_rules") if row["rule"] != "utf8_bom"]
    made.lake.store.overwrite("cleaning_rules", rows_table("cleaning_rules", rules), {})
    assert not checks(made.lake)["rules_known"]


def test_the_attempts_check_fails_when_nothing_can_be_read(tmp_path: Path) -> None:
    made = context(tmp_path)
    folder = made.lake.root / "attempts" / ("7" * 20)
    folder.mkdir(parents=True)
    (folder / "proxy.jsonl").write_text("{broken\n")
    state_attempt(made.lake, "7" * 20, None)
    ingest_attempts(made)
    build(made.lake)
    assert checks(made.lake) == {"ledger_adds_up": True, "rules_known": True, "counted_attempts_have_one": False}


def test_an_attempt_without_transcript_is_put_together_from_its_calls(tmp_path: Path) -> None:
    made = context(tmp_path)
    make_attempt(made.lake, "toolerr", "8" * 20)
    shutil.rmtree(made.lake.root / "attempts" / ("8" * 20) / "state")
    ingest_attempts(made)
    build(made.lake)
    assert all(checks(made.lake).values())
    (row,) = made.lake.rows("trajectories")
    assert (row["class"], row["turns"], row["tool_calls"], row["context_differs"]) == ("normal", 7, 6, 0.0)
    assert json.loads(row["messages"])[-1] == {"role": "assistant", "content": "Had errors. "}


def test_no_canary_is_in_any_table(tmp_path: Path) -> None:
    s = Session("canaries")
    for kind in CANARIES:
        s.user(f"use this: {planted(kind)}")
        s.assistant(f"I see {planted(kind)}", (f"c_{kind}", "exec", {"command": f"echo '{planted(kind)}'"}))
        s.result(f"c_{kind}", json.dumps({"out": planted(kind)}), isError=True)
        s.assistant("", stopReason="error", errorMessage=planted(kind))
        s.message({"role": "assistant", "content": [{"type": "thinking", "thinking": planted(kind)}], "usage": None})
    (tmp_path / "s.jsonl").write_bytes(b"\n".join(s.lines()) + b"\n")
    made = context(tmp_path)
    ingest_paths(made, [tmp_path / "s.jsonl"])
    build(made.lake)
    assert made.lake.rows("trajectories")[0]["secrets_masked"] >= len(CANARIES)
    for name in TABLES:
        text = json.dumps(made.lake.rows(name), default=str)
        leaked = [kind for kind, secret in CANARIES.items() if secret in text or json.dumps(secret)[1:-1] in text]
        assert not leaked, (name, leaked)
    raw = made.lake.sql("select count(*) from raw_records where contains(decode(raw), 'glpat-Canary')").fetchall()
    assert raw[0][0] > 0  # never in raw
    report = made.lake.sql("select count(*) from diagnostics where rule = 'secret_masked'").fetchall()
    assert report[0][0] >= len(CANARIES)


def test_secrets_in_names_ids_keys_and_usage_are_masked(tmp_path: Path) -> None:
    key = CANARIES["anthropic_key"]
    s = Session("names")
    s.user("go")
    s.assistant(
        "", (f"c_{key} ", f"exec {key}", {key: 1}), model=f"m {key}", stopReason=f"toolUse {key}", responseId=key,
        usage={"input": 1, "output": 1, "note": key},
    )  # fmt: skip
    s.result(f"c_{key} ", toolName=f"exec {key}")
    s.assistant("", ("call_4111111111111111", "exec", {}))
    s.result("call_4111111111111111")
    (tmp_path / "s.jsonl").write_bytes(b"\n".join(s.lines()) + b"\n")
    made = context(tmp_path)
    ingest_paths(made, [tmp_path / "s.jsonl"])
    build(made.lake)
    for name in TABLES:
        assert name == "raw_records" or key not in json.dumps(made.lake.rows(name), default=str), name
    calls = made.lake.rows("tool_calls")
    assert "[masked:anthropic_key:" in calls[0]["tool"] + calls[0]["arguments"] and calls[0]["result_step"] is not None
    assert "call_4111111111111111" in {call["tool_call_id"] for call in calls}, "an id of digits is no card"
    messages = json.loads(made.lake.rows("trajectories")[0]["messages"])
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == calls[0]["tool_call_id"]


def test_c14_a_history_copied_into_another_file_is_counted_once(tmp_path: Path) -> None:
    first = Session("first")
    first.user("go")
    first.assistant("one", exec_call("a"), responseId="r1")
    first.result("a")
    first.assistant("two", responseId="r2")
    fork = first.forked("fork", minute=30)
    fork.user("further")
    fork.assistant("three", responseId="r3")
    copy = first.forked("copy", minute=40)
    for name, session in (("a", first), ("b", fork), ("c", copy)):
        (tmp_path / f"{name}.jsonl").write_bytes(b"\n".join(session.lines()) + b"\n")
    made = context(tmp_path)
    ingest_paths(made, [tmp_path / f"{name}.jsonl" for name in "abc"])
    build(made.lake)
    rows: dict[str, dict[str, Any]] = {row["session_id"]: row for row in made.lake.rows("trajectories")}
    assert {name: (row["class"], row["turns"], row["output_tokens"]) for name, row in rows.items()} == {
        "first": ("normal", 2, 40), "fork": ("normal", 1, 20), "copy": ("copy", 0, None),
    }  # fmt: skip
    assert len(json.loads(rows["fork"]["messages"])) == 6
    marked = made.lake.sql("select count(*) from diagnostics where rule = 'copied_context'").fetchall()
    assert marked == [(4,)]


def test_c05_a_trajectory_that_begins_before_its_transcript(tmp_path: Path) -> None:
    made = context(tmp_path)
    make_attempt(made.lake, "toolerr", "5" * 20)
    session = Session("gap")
    session.user("second question")
    session.assistant("second answer")
    event = {
        "traceSchema": "openclaw-trajectory", "type": "prompt.submitted", "ts": "2026-03-01T09:00:00.000Z",
        "sessionId": "gap", "data": {"prompt": "first question"},
    }  # fmt: skip
    (tmp_path / "gap.jsonl").write_bytes(b"\n".join(session.lines()) + b"\n")
    (tmp_path / "gap.trajectory.jsonl").write_text(json.dumps(event) + "\n")
    ingest_paths(made, [tmp_path / "gap.jsonl", tmp_path / "gap.trajectory.jsonl"])
    build(made.lake)
    found = made.lake.sql("select detail from diagnostics where rule = 'head_gap' and session_id = 'gap'").fetchall()
    assert found == [("transcript from 2026-03-01T10:02:00+00:00, events from 2026-03-01T09:00:00+00:00",)]
    assert all(checks(made.lake).values())


def test_c07_one_session_in_a_file_and_in_the_database_is_one(tmp_path: Path) -> None:
    made = context(tmp_path)
    database = tmp_path / "openclaw-agent.sqlite"
    database.write_bytes(gzip.decompress((FIXTURES / "agent.sqlite.gz").read_bytes()))
    session = "f3ec739d-6f63-4d22-a6fd-03bb063a7060"
    for source in DatabaseReader().sources(database, database.read_bytes()[:64]) or []:
        if source.session_id == session and source.kind == "openclaw.transcript":
            (tmp_path / "s.jsonl").write_bytes(b"".join(line.raw + b"\n" for line in source.lines()))
    ingest_paths(made, [database, tmp_path / "s.jsonl"])
    build(made.lake)
    rows = [row for row in made.lake.rows("trajectories") if row["session_id"] == session]
    assert sorted((row["class"] == "copy", row["turns"] > 0) for row in rows) == [(False, True), (True, False)]
    assert all(checks(made.lake).values())
