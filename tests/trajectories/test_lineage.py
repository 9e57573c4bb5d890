"""Whose session each one is: parents found, each by the best evidence there is, or a typed gap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assets.logs import STAGE as LOGS
from assets.logs import ingest_paths
from assets.logs.sessions import home_of
from assets.rollouts import STAGE as ROLLOUTS
from assets.stage import Context
from assets.trajectories import STAGE
from tests.trajectories.attempts import context, write_database

MAIN, CHILD = "agent:main:main", "agent:main:subagent:7"


@pytest.mark.parametrize(
    ("path", "home"),
    [
        ("/u/.openclaw/agents/main/sessions/a.jsonl", "/u/.openclaw"),
        ("/u/.openclaw/agents/main/agent/openclaw-agent.sqlite#session_windows", "/u/.openclaw"),
        ("/u/.openclaw/state/openclaw.sqlite#subagent_runs", "/u/.openclaw"),
        ("/u/.openclaw/cron/runs/j.jsonl", "/u/.openclaw"),
        ("/agents/x/agents/main/sessions/a.jsonl", "/agents/x"),
        ("/logs/sessions/a.jsonl", "/logs"),
        ("/logs/a.jsonl", "/logs"),
    ],
)
def test_the_state_folder_of_a_path(path: str, home: str) -> None:
    assert home_of(path) == home


class Home:
    """A state folder with sessions as their logs have them."""

    def __init__(self, root: Path) -> None:
        self.root = root / ".openclaw"
        self.sessions = self.root / "agents" / "main" / "sessions"
        self.sessions.mkdir(parents=True)

    def session(self, name: str, begun: int, ended: int, *, spawned: str | None = None, **header: Any) -> None:
        """A transcript that went on between two minutes of an hour; `spawned` is a key its call was told."""
        answer: list[dict[str, Any]] = [{"type": "text", "text": f"answer of {name}"}]
        if spawned is not None:
            answer = [{"type": "toolCall", "id": "c", "name": "sessions_spawn", "arguments": {"task": "help"}}]
        records: list[dict[str, Any]] = [
            {"type": "session", "version": 3, "id": name, "timestamp": _at(begun), **header},
            _message("a", None, begun, {"role": "user", "content": f"ask {name}"}),
            _message("b", "a", begun, {"role": "assistant", "content": answer}),
        ]
        if spawned is not None:
            told = json.dumps({"status": "accepted", "childSessionKey": spawned}, indent=2)
            result = {"role": "toolResult", "toolCallId": "c", "toolName": "sessions_spawn"}
            records.append(_message("c", "b", begun, {**result, "content": [{"type": "text", "text": told}]}))
        last = str(records[-1]["id"])
        records.append(_message("z", last, ended, {"role": "assistant", "content": f"end of {name}"}))
        path = self.sessions / f"{name}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))

    def index(self, **entries: dict[str, Any]) -> None:
        """`sessions.json`; `main`, `child` and `other` stand for keys."""
        keys = {"main": MAIN, "child": CHILD, "other": "agent:main:telegram:direct:1"}
        text = json.dumps({keys[name]: entry for name, entry in entries.items()}, indent=2)
        (self.sessions / "sessions.json").write_text(text)


def _at(minute: int) -> str:
    return f"2026-03-01T10:{minute:02d}:00.000Z"


def _message(name: str, parent: str | None, minute: int, message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": name, "parentId": parent, "timestamp": _at(minute), "message": message}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def made(tmp_path: Path) -> Context:
    return context(tmp_path)


def lineage(made: Context, home: Home) -> dict[str, tuple[str | None, str | None, str | None]]:
    """(parent, how it is known, gap) by session."""
    ingest_paths(made, [home.root])
    for stage in (ROLLOUTS, LOGS, STAGE):
        made.lake.build(stage.projection)
    rows = made.lake.sql("select session_id, parent_session_id, known_by, gap from session_lineage").fetchall()
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


def test_the_parents_own_words_win_over_the_index(made: Context, home: Home) -> None:
    """The index knows only the current session of a key: the one that spawned the child was reset since."""
    home.session("old", 0, 20, spawned=CHILD)
    home.session("new", 30, 40)
    home.session("kid", 5, 10)
    home.index(main={"sessionId": "new"}, child={"sessionId": "kid", "spawnedBy": MAIN, "spawnDepth": 1})
    assert lineage(made, home) == {
        "old": (None, None, None),
        "new": (None, None, None),
        "kid": ("old", "spawn_result", None),
    }
    (row,) = [row for row in made.lake.rows("sessions") if row["session_id"] == "kid"]
    assert (row["kind"], row["agent_id"], row["spawned_by"], row["spawn_depth"]) == ("subagent", "main", MAIN, 1)


def test_by_key_and_time_where_no_words_are_left(made: Context, home: Home) -> None:
    home.session("old", 0, 20)
    home.session("new", 30, 40)
    home.session("kid", 35, 36)
    home.index(
        main={"sessionId": "new", "usageFamilySessionIds": ["old", "new"]},
        child={"sessionId": "kid", "spawnedBy": MAIN},
    )
    assert lineage(made, home)["kid"] == ("new", "key_and_time", None)


def test_two_that_may_be_the_parent_are_a_gap_not_a_guess(made: Context, home: Home) -> None:
    home.session("old", 0, 50)
    home.session("new", 5, 50)
    home.session("kid", 20, 21)
    home.index(
        main={"sessionId": "new", "usageFamilySessionIds": ["old", "new"]},
        child={"sessionId": "kid", "spawnedBy": MAIN},
    )
    assert lineage(made, home)["kid"] == (None, None, "subagent_parent_ambiguous")


def test_a_session_of_the_books_without_a_transcript_is_a_gap(made: Context, home: Home) -> None:
    home.session("new", 0, 10)
    home.index(main={"sessionId": "new"}, child={"sessionId": "kid", "spawnedBy": MAIN}, other={"sessionId": "gone"})
    found = lineage(made, home)
    assert found["gone"] == (None, None, "agent_transcript_unavailable")
    assert found["kid"] == ("new", "key", "agent_transcript_unavailable")


def test_a_sub_agent_of_nobody_known_is_a_gap(made: Context, home: Home) -> None:
    home.session("kid", 0, 10)
    home.index(child={"sessionId": "kid", "spawnedBy": MAIN})
    assert lineage(made, home)["kid"] == (None, None, "subagent_parent_unknown")


def test_a_header_names_the_session_it_was_forked_from(made: Context, home: Home) -> None:
    home.session("first", 0, 10)
    home.session("by-file", 11, 12, parentSession="/elsewhere/sessions/first.jsonl")
    home.session("by-id", 13, 14, parentSession="first")
    found = lineage(made, home)
    assert found["by-file"] == found["by-id"] == ("first", "header", None)


def test_keys_of_two_state_folders_are_not_mixed(made: Context, tmp_path: Path) -> None:
    one, two = Home(tmp_path / "one"), Home(tmp_path / "two")
    for home, name in ((one, "a"), (two, "b")):
        home.session(f"{name}-main", 0, 30)
        home.session(f"{name}-kid", 5, 6)
        home.index(main={"sessionId": f"{name}-main"}, child={"sessionId": f"{name}-kid", "spawnedBy": MAIN})
    lineage(made, one)
    found = lineage(made, two)
    assert (found["a-kid"][0], found["b-kid"][0]) == ("a-main", "b-main")


def test_what_an_older_index_said_is_not_forgotten(made: Context, home: Home) -> None:
    home.session("old", 0, 20)
    home.session("kid", 5, 6)
    home.index(main={"sessionId": "old", "updatedAt": 1}, child={"sessionId": "kid", "spawnedBy": MAIN, "updatedAt": 1})
    lineage(made, home)
    home.session("new", 30, 40)
    home.index(main={"sessionId": "new", "updatedAt": 2})
    assert lineage(made, home)["kid"] == ("old", "key_and_time", None)


def test_rows_of_the_database_are_books_too(made: Context, home: Home) -> None:
    import sqlite3
    from contextlib import closing

    home.session("mum", 0, 20)
    path = home.root / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    lines = (home.sessions / "mum.jsonl").read_bytes().replace(b"mum", b"kid").splitlines()
    write_database(path, lines, [], "kid")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "create table session_nodes (session_key text, current_session_id text, entry_json text, spawned_by text);"
            f"insert into session_nodes values ('{CHILD}', 'kid', '{{\"label\": \"help\"}}', '{MAIN}');"
            f"insert into session_nodes values ('{MAIN}', 'mum', 'not json', null);"
            f"update session_windows set session_key = '{CHILD}';"
        )
    assert lineage(made, home)["kid"] == ("mum", "key_and_time", None)
    (row,) = [row for row in made.lake.rows("sessions") if row["session_id"] == "kid"]
    assert (row["label"], row["stated_by"]) == ("help", "openclaw.table")


def test_a_run_whose_session_nobody_names_goes_by_its_key(made: Context, home: Home) -> None:
    import sqlite3
    from contextlib import closing

    home.session("mum", 0, 20)
    home.index(main={"sessionId": "mum"})
    (home.root / "state").mkdir()
    with closing(sqlite3.connect(home.root / "state" / "openclaw.sqlite")) as connection:
        connection.executescript(
            "create table subagent_runs (run_id text primary key, child_session_key text, requester_session_key text,"
            " created_at integer, payload_json text);"
            f"insert into subagent_runs values ('r', '{CHILD}', '{MAIN}', 1772359500000, '{{}}');"
        )
    assert lineage(made, home)[CHILD] == ("mum", "key", "agent_transcript_unavailable")


def test_a_session_in_its_file_and_in_the_database_is_counted_once(made: Context, home: Home) -> None:
    """OpenClaw moves files into its database: the fuller of the two has the turns, the other is a copy."""
    home.session("kid", 0, 20)
    lines = (home.sessions / "kid.jsonl").read_bytes().splitlines()
    path = home.root / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    more = json.dumps(_message("y", "z", 30, {"role": "user", "content": "go on"})).encode()
    last = json.dumps(_message("x", "y", 31, {"role": "assistant", "content": "went on"})).encode()
    write_database(path, [*lines, more, last], [], "kid")
    lineage(made, home)
    rows = made.lake.sql(
        "select source_kind, class, turns from trajectories join sources using (source_id) order by all"
    ).fetchall()
    assert rows == [("openclaw.jsonl", "copy", 0), ("openclaw.transcript", "normal", 3)]
