"""A small world of session files that copy each other's history, and what may happen to them.

Belongs here: the files and the events that change them, each safe to run in any order. Does not belong here: checks.
"""

from __future__ import annotations

import os
from pathlib import Path

import lake
from assets.logs import STAGE as LOGS
from assets.logs import ingest_attempts, ingest_paths
from assets.profile import Profile
from assets.rollouts import STAGE as ROLLOUTS
from assets.stage import Context
from assets.trajectories import STAGE
from lake import Built, Lake, incremental
from lake.forget import forget
from lake.replay import TableResult, replay
from tests.trajectories.attempts import make_attempt
from tests.trajectories.sessions import Session, exec_call

ATTEMPT = "7" * 20
PROJECTIONS = tuple(stage.projection for stage in (ROLLOUTS, LOGS, STAGE))

Event = tuple[str, str, int]
"""(what happens, to which file, how much)."""


def _talk(session: Session, turns: int, mark: str, *, ids: bool = True) -> None:
    for turn in range(turns):
        session.user(f"{mark} asks {turn}")
        more = {"responseId": f"r-{mark}-{turn}"} if ids else {}
        session.assistant(f"{mark} says {turn}", exec_call(f"c-{mark}-{turn}"), **more)
        session.result(f"c-{mark}-{turn}", f"{mark} result {turn}")


def _copy(of: Session, name: str, records: int, minute: int) -> Session:
    """A session that begins with the history of another one."""
    made = Session(name, minute=minute)
    made.records += [dict(record) for record in of.records[1 : 1 + records]]
    made.last = made.records[-1].get("id")
    return made


def _world() -> dict[str, list[bytes]]:
    first = Session("first", minute=30)
    _talk(first, 3, "first")
    fork = _copy(first, "fork", 6, 60)  # younger than what it copied
    _talk(fork, 1, "fork")
    whole = _copy(first, "whole", 9, 0)  # says that it is older than the original
    again = _copy(fork, "again", 9, 90)
    _talk(again, 1, "again")
    alone = Session("alone", minute=10)
    _talk(alone, 2, "alone", ids=False)
    timed = _copy(alone, "timed", 6, 70)
    sessions = {"first": first, "fork": fork, "whole": whole, "again": again, "alone": alone, "timed": timed}
    return {name: session.lines() for name, session in sessions.items()}


FILES = _world()


def happen(made: Context, folder: Path, event: Event) -> None:
    """Let something happen, and take it into the lake."""
    what, name, amount = event
    path = folder / f"{name}.jsonl"
    lines = FILES[name][: 3 + amount % (len(FILES[name]) - 2)]
    if what == "write":
        path.write_bytes(b"\n".join(lines) + b"\n")
        ingest_paths(made, [path])
    elif what == "rewrite":
        path.write_bytes(b"\n".join(lines).replace(b"asks", b"asked", 1) + b"\n")
        ingest_paths(made, [path])
    elif what == "attempt":
        if not (made.lake.root / "attempts" / ATTEMPT).exists():
            make_attempt(made.lake, "toolerr", ATTEMPT)
        ingest_attempts(made)
    elif what == "forget":
        sources = made.lake.sql("select distinct source_id from raw_records order by 1").fetchall()
        if sources:
            source = sources[amount % len(sources)][0]
            forget(made.lake, source, reason="test", actor="tests", projections=PROJECTIONS)


def build(opened: Lake) -> Built:
    """Bring the stage up to date, and what it reads; gives the stage's build."""
    return [opened.build(projection) for projection in PROJECTIONS][-1]


def unequal(opened: Lake) -> list[TableResult]:
    """Tables of the stage whose rows are not those of a full rebuild, or that the build calls out of date."""
    return [result for result in replay(opened, [STAGE.projection]).tables if result.status != "equal" or result.detail]


def run_and_die(root: Path, folder: Path, event: Event, point: str) -> None:
    """Let something happen in a process of its own and build by group with a crash point set."""
    incremental.WHOLE_FROM = 0
    made = Context(lake.open(root), Profile())
    happen(made, folder, event)
    for projection in PROJECTIONS[:-1]:
        made.lake.build(projection)
    os.environ["CLAWGYM_CRASH_AT"] = point
    made.lake.build(STAGE.projection)


def counted(opened: Lake) -> list[tuple[object, ...]]:
    """Answers that are counted, by trajectory."""
    rows = opened.sql("select session_id, class, turns from trajectories order by all").fetchall()
    return [tuple(row) for row in rows]
