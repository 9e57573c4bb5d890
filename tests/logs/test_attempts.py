"""Ingest of attempt folders: what is taken, when a folder goes, when it stays."""

from __future__ import annotations

import sqlite3
from collections import Counter

from assets.logs import STAGE, ingest_attempts
from assets.stage import Context
from tests.trajectories.attempts import make_attempt, state_attempt


def test_the_logs_of_an_attempt_are_taken_and_its_folder_goes(context: Context) -> None:
    session = make_attempt(context.lake, "toolerr", "a" * 20)
    counts = ingest_attempts(context)
    assert counts["attempts"] == 1 and not (context.lake.root / "attempts" / ("a" * 20)).exists()
    context.lake.build(STAGE.projection)
    rows = context.lake.rows("sources")
    assert Counter(row["source_kind"] for row in rows) == {
        "openclaw.transcript": 1, "openclaw.trajectory": 1, "openclaw.table": 1, "proxy.call": 1, "openclaw.stdout": 1,
    }  # fmt: skip
    assert {row["attempt_id"] for row in rows} == {"a" * 20}
    assert {row["session_id"] for row in rows if row["session_id"]} == {session}
    assert all(check.run(context.lake).passed for check in STAGE.checks)
    assert ingest_attempts(context) == {"running": 0}


def test_the_write_ahead_log_of_a_killed_agent_is_read(context: Context) -> None:
    """The rows of `make_attempt` are in the WAL only until it closes; here nothing was ever checkpointed."""
    make_attempt(context.lake, "parallel", "b" * 20)
    state = context.lake.root / "attempts" / ("b" * 20) / "state/agents/main/agent"
    writer = sqlite3.connect(state / "openclaw-agent.sqlite")
    writer.execute("pragma wal_autocheckpoint = 0")
    writer.execute(
        'insert into transcript_events values (\'late\', 0, \'{"type":"session","id":"late"}\', 0, null, null, null)'
    )
    writer.commit()
    assert (state / "openclaw-agent.sqlite-wal").stat().st_size > 0
    ingest_attempts(context)
    found = context.lake.sql("select distinct session_id from raw_records where session_id = 'late'").fetchall()
    assert found == [("late",)]
    writer.close()


def test_a_running_attempt_is_left_alone(context: Context) -> None:
    make_attempt(context.lake, "parallel", "c" * 20)
    running = context.lake.root / "attempts" / ("d" * 20)
    running.mkdir()
    assert ingest_attempts(context)["running"] == 1
    assert running.exists()


def test_an_unreadable_state_keeps_its_folder(context: Context) -> None:
    make_attempt(context.lake, "parallel", "e" * 20)
    folder = context.lake.root / "attempts" / ("e" * 20)
    database = folder / "state/agents/main/agent/openclaw-agent.sqlite"
    database.write_bytes(b"torn")
    counts = ingest_attempts(context)
    assert counts["unreadable"] == 1 and counts.get("attempts", 0) == 0
    assert database.exists()


def test_an_attempt_without_state_still_gives_its_calls(context: Context) -> None:
    make_attempt(context.lake, "parallel", "f" * 20)
    folder = context.lake.root / "attempts" / ("f" * 20)
    for path in (folder / "state/agents/main/agent").iterdir():
        path.unlink()
    assert ingest_attempts(context)["attempts"] == 1
    kinds = {row[0] for row in context.lake.sql("select distinct source_kind from raw_records").fetchall()}
    assert kinds == {"proxy.call", "openclaw.stdout"}


def test_a_lost_attempt_without_a_folder_is_nothing(context: Context) -> None:
    state_attempt(context.lake, "0" * 20, None, "infrastructure")
    assert ingest_attempts(context) == {"running": 0}
