"""Whole state folders: as the last versions with files leave them, and as the pinned OpenClaw leaves one now."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import lake
from assets.logs import ingest_paths
from assets.profile import Profile
from assets.rollouts.openclaw.install import locate
from assets.stage import Context
from lake.errors import SourceError
from tests.logs.test_ingest import FIXTURES
from tests.logs.test_kinds import COLD, CRON, built

SAMPLES = FIXTURES / "samples"


def a_tree(root: Path) -> Path:
    """A state folder of the JSONL versions with every kind of file that lies in one."""
    home = root / ".openclaw"
    sessions = home / "agents" / "main" / "sessions"
    shutil.copytree(FIXTURES / "shape" / "home-b" / "agents" / "main" / "sessions", sessions)
    first = next(path for path in sorted(sessions.iterdir()) if path.name.endswith(".jsonl"))
    whole = first.read_bytes()
    name = first.name.removesuffix(".jsonl")
    (sessions / f"{name}.jsonl.deleted.2026-05-06T13-31-23.230Z").write_bytes(whole)
    (sessions / f"{name}.checkpoint.aa.jsonl").write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])
    shutil.copy(SAMPLES / "toolerr" / "main.trajectory.jsonl", sessions / "toolerr.trajectory.jsonl")
    shutil.copy(SAMPLES / "toolerr" / "main.transcript.jsonl", sessions / "toolerr.jsonl")
    pointer = {"traceSchema": "openclaw-trajectory-pointer", "runtimeFile": "toolerr.trajectory.jsonl"}
    (sessions / "toolerr.trajectory-path.json").write_text(json.dumps(pointer))
    (sessions / "sessions.json").write_text(json.dumps({"agent:main:main": {"sessionId": name}}, indent=2))
    (sessions / "sessions.json.telegram-sent-messages.json").write_text('{"1": {"2": 3}}')
    (sessions / f"{name}.jsonl.lock").write_text('{"pid": 1}')
    (sessions / "cold").mkdir()
    (sessions / "cold" / f"{'0' * 64}.jsonl").write_bytes(COLD)
    (home / "cron" / "runs").mkdir(parents=True)
    (home / "cron" / "runs" / "j.jsonl").write_bytes(CRON)
    (home / "cron" / "jobs.json").write_text('{"version": 1, "jobs": []}')
    (home / "openclaw.json").write_text("{}")
    (home / "workspace").mkdir()
    (home / "workspace" / "SOUL.md").write_text("# Soul\n")
    return home


@pytest.mark.slow
def test_the_command_says_what_it_took_by_kind_and_what_it_left_by_reason(tmp_path: Path) -> None:
    from clawgym_dag.cli.main import root

    home = a_tree(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    arguments = ["lake", "ingest", str(home), "--lake", str(tmp_path / "lake"), "--json"]
    done = CliRunner().invoke(root, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    said = found["said"]
    taken = lake.open(tmp_path / "lake").raw_records("source_kind = 'openclaw.jsonl'").num_rows
    assert said[-11:] == [
        "openclaw.cold: 1 sources, 2 new records",
        "openclaw.cron: 1 sources, 1 new records",
        f"openclaw.jsonl: 7 sources, {taken} new records",
        "openclaw.sessions: 1 sources, 1 new records",
        "openclaw.trajectory.jsonl: 1 sources, 19 new records",
        "left 1: OpenClaw's configuration, no log",
        "left 1: a text, not a log",
        "left 1: lock file, holds no log",
        "left 1: pointer to a trajectory file",
        "left 1: schedule of jobs, no log; their runs are in cron/runs",
        "left 1: state of a channel beside the index of sessions, no log",
    ]
    counts = found["counts"]
    assert (counts["left"], counts["copies"], counts["grown"]) == (6, 1, 1)  # the checkpoint is a beginning
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
    built(Context(lake.open(tmp_path / "lake"), Profile()))


@pytest.mark.long
@pytest.mark.openclaw
def test_a_tree_of_the_pinned_version_is_read_whole(context: Context, tmp_path: Path) -> None:
    """A session with a sub-agent, run by the real gateway: transcripts, events, books; parent and version known."""
    from tests.fixtures.record.run import Installation, record
    from tests.fixtures.record.scenarios import SCENARIOS
    from tests.fixtures.record.server import serving

    here = locate()
    package = here.node_modules / "openclaw"
    version = str(json.loads((package / "package.json").read_text())["version"])
    install = Installation(here.node, package / "openclaw.mjs", version)
    scenario = SCENARIOS["subagent"]
    with serving(scenario.script, "tree") as endpoint:
        assert record(install, scenario, endpoint, tmp_path / "work", tmp_path / "kept") == 0
    state = tmp_path / "work" / "state"
    said: list[str] = []
    counts = ingest_paths(Context(context.lake, Profile(), progress=lambda m, *_: said.append(m)), [state])
    assert counts["new"] >= 8 and not [line for line in said if "known kind" in line and "agents/" in line]
    built(context)
    rows = context.lake.sql(
        "select l.kind, l.parent_session_id, l.known_by, l.gap, t.class, t.harness, t.turns > 0"
        " from session_lineage l join trajectories t using (session_id) order by l.kind"
    ).fetchall()
    (top,) = [row[0] for row in context.lake.sql("from sessions select session_id where kind <> 'subagent'").fetchall()]
    assert rows == [
        ("explicit", None, None, None, "normal", f"openclaw {version}", True),
        ("subagent", top, "spawn_result", None, "normal", f"openclaw {version}", True),
    ]
    assert ingest_paths(context, [state]) == {"unchanged": counts["new"], "left": counts["left"]}


@pytest.mark.slow
def test_what_can_be_read_is_cleaned_before_the_command_fails(tmp_path: Path) -> None:
    from clawgym_dag.cli.main import root

    shutil.copy(FIXTURES / "handmade" / "baseline.jsonl", tmp_path / "a.jsonl")
    (tmp_path / "openclaw-agent.sqlite").write_bytes(b"no database")
    arguments = ["lake", "ingest", str(tmp_path), "--lake", str(tmp_path / "lake")]
    with pytest.raises(SourceError, match="is no SQLite file"):
        CliRunner().invoke(root, arguments, catch_exceptions=False)
    (row,) = lake.open(tmp_path / "lake").rows("trajectories")
    assert row["turns"] == 2
