"""The sensor `new_logs` on real folders, through Dagster's own evaluation, and the run it asks for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import dagster as dg
import pytest

import lake
from clawgym_dag.definitions import build_defs
from clawgym_dag.resources import LakeResource, ProfileResource
from clawgym_dag.sensors import new_logs, stamps


def session(name: str, texts: int) -> str:
    """A session file as older versions of OpenClaw wrote them."""
    header = {"type": "session", "version": 3, "id": name, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/tmp/w"}
    rows = [header] + [
        {
            "type": "message",
            "id": f"m{i}",
            "parentId": f"m{i - 1}" if i else None,
            "timestamp": f"2026-03-01T10:00:{i + 1:02}.000Z",
            "message": {"role": "user", "content": f"line {i}", "timestamp": 1772359201000 + i},
        }
        for i in range(texts)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state" / "sessions"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CLAWGYM_LOGS", str(tmp_path / "state"))
    return folder


def look(cursor: str | None) -> dg.SensorResult | dg.SkipReason:
    context = dg.build_sensor_context(cursor=cursor, resources={"profile": ProfileResource()})
    found = new_logs(context)
    assert isinstance(found, dg.SensorResult | dg.SkipReason)
    return found


def asked(cursor: str | None) -> str:
    """The cursor after a look that asked for exactly one run, keyed by it."""
    found = look(cursor)
    assert isinstance(found, dg.SensorResult), found
    assert found.run_requests is not None
    (request,) = found.run_requests
    assert found.cursor is not None
    assert request.run_key == found.cursor
    return found.cursor


def skipped(cursor: str | None) -> str:
    found = look(cursor)
    assert isinstance(found, dg.SkipReason), found
    return found.skip_message or ""


def test_asks_once_for_each_state_of_the_folder(watched: Path) -> None:
    log = watched / "a.jsonl"
    log.write_text(session("a", 1))
    first = asked(None)
    assert skipped(first) == "nothing new in 1 files"
    with log.open("a") as file:
        file.write("{}\n")
    grown = asked(first)
    assert grown != first
    assert skipped(grown).startswith("nothing new")
    (watched / "b.jsonl").write_text(session("b", 1))
    both = asked(grown)
    log.unlink()
    assert asked(both) not in {first, grown, both}


def test_a_file_rewritten_in_the_same_length_is_a_change(watched: Path) -> None:
    log = watched / "a.jsonl"
    log.write_text("abc\n")
    os.utime(log, ns=(1, 1))
    first = asked(None)
    log.write_text("abd\n")
    os.utime(log, ns=(1, 2))
    assert asked(first) != first


def test_looking_at_a_database_is_no_change_of_it(watched: Path) -> None:
    (watched / "openclaw-agent.sqlite").write_text("x")
    first = asked(None)
    (watched / "openclaw-agent.sqlite-shm").write_text("written by readers")
    assert skipped(first).startswith("nothing new")
    (watched / "openclaw-agent.sqlite-wal").write_text("written by the agent")
    assert asked(first) != first


def test_says_why_it_asks_for_nothing(watched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert skipped(None).startswith("no file under ")
    monkeypatch.setenv("CLAWGYM_LOGS", os.pathsep.join([str(watched), str(watched / "gone")]))
    assert skipped(None).startswith(f"{watched / 'gone'} does not exist; ")
    monkeypatch.delenv("CLAWGYM_LOGS")
    assert skipped(None) == "no place is watched: set CLAWGYM_LOGS, or logs.paths in the profile"


def test_follows_no_link_to_a_folder_and_takes_a_file_by_itself(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.jsonl").write_text("a")
    (tmp_path / "logs/round").symlink_to(tmp_path / "logs")
    os.mkfifo(tmp_path / "logs/pipe")
    assert [path for path, _, _ in stamps([tmp_path / "logs"])] == [str(tmp_path / "logs/a.jsonl")]
    assert [path for path, _, _ in stamps([tmp_path / "logs/a.jsonl"])] == [str(tmp_path / "logs/a.jsonl")]


def test_is_off_until_somebody_turns_it_on() -> None:
    sensor = build_defs().resolve_sensor_def("new_logs")
    assert sensor.default_status == dg.DefaultSensorStatus.STOPPED
    assert sensor.job_name == "ingest_logs"


@pytest.mark.slow
def test_the_run_it_asks_for_takes_in_what_is_new(tmp_path: Path, watched: Path) -> None:
    root = tmp_path / "lake"
    job = build_defs(overrides={"lake": LakeResource(root=str(root))}).resolve_job_def("ingest_logs")

    def records() -> int:
        with dg.DagsterInstance.ephemeral() as instance:
            assert job.execute_in_process(instance=instance).success
        (count,) = lake.open(root).sql("select count(*) from raw_records").fetchone() or (0,)
        return int(count)

    log = watched / "a.jsonl"
    log.write_text(session("a", 2))
    first = asked(None)
    assert records() == 3
    log.write_text(session("a", 4))
    asked(first)
    assert records() == 5
    assert lake.open(root).sql("select count(*), sum(records) from sources where is_latest").fetchall() == [(1, 5)]
