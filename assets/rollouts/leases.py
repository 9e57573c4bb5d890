"""Who is running which attempt, in `control.sqlite` below the lake: not truth, only what keeps two runners apart.

A lease belongs to a process; when that is gone (or silent, on another machine) the attempt is lost and the lease free.
The log says what happened; this file may be deleted when nothing runs. Does not belong here: events.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from assets.rollouts.process import ProcessId

HEARTBEAT_S = 5.0
"""How often an owner says that it lives."""
SILENT_AFTER_S = 120.0
"""An owner on another machine is taken for dead after this silence."""

_SCHEMA = """
create table if not exists leases (
  attempt_id text primary key,
  host text not null,
  pid integer not null,
  started integer not null,
  heartbeat real not null,
  agent_pid integer,
  agent_started integer
)
"""


@dataclass(frozen=True)
class Lease:
    """A row."""

    attempt_id: str
    host: str
    owner: ProcessId
    heartbeat: float
    agent: ProcessId | None
    """What to kill when the owner is gone."""

    def dead(self) -> bool:
        """Whether the owner is gone."""
        if self.host == socket.gethostname():
            return not self.owner.alive()
        return time.time() - self.heartbeat > SILENT_AFTER_S


class Leases:
    """The leases of a lake."""

    def __init__(self, root: Path) -> None:
        self._path = root / "control.sqlite"
        self._host = socket.gethostname()
        me = ProcessId.of(os.getpid())
        assert me is not None  # this process runs
        self._me = me
        with self._open() as connection:
            connection.execute(_SCHEMA)

    def take(self, attempt_id: str) -> bool:
        """Take an attempt; false when somebody has it."""
        with self._open() as connection:
            done = connection.execute(
                "insert into leases values (?, ?, ?, ?, ?, null, null) on conflict do nothing",
                (attempt_id, self._host, self._me.pid, self._me.started, time.time()),
            )
            return done.rowcount == 1

    def set_agent(self, attempt_id: str, agent: ProcessId | None) -> None:
        """Say which process runs the agent."""
        with self._open() as connection:
            connection.execute(
                "update leases set agent_pid = ?, agent_started = ? where attempt_id = ?",
                (agent.pid if agent else None, agent.started if agent else None, attempt_id),
            )

    def beat(self) -> None:
        """Say that this process lives."""
        with self._open() as connection:
            connection.execute(
                "update leases set heartbeat = ? where host = ? and pid = ? and started = ?",
                (time.time(), self._host, self._me.pid, self._me.started),
            )

    def release(self, attempt_id: str) -> None:
        """Give an attempt back."""
        with self._open() as connection:
            connection.execute("delete from leases where attempt_id = ?", (attempt_id,))

    def all(self) -> list[Lease]:
        """Every lease there is, by attempt."""
        with self._open() as connection:
            rows = connection.execute(
                "select attempt_id, host, pid, started, heartbeat, agent_pid, agent_started from leases order by 1"
            ).fetchall()
        return [
            Lease(a, host, ProcessId(pid, started), beat, None if ap is None else ProcessId(ap, at))
            for a, host, pid, started, beat, ap, at in rows
        ]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection of this thread's own, inside one transaction."""
        with closing(sqlite3.connect(self._path, timeout=30.0)) as connection, connection:
            yield connection
