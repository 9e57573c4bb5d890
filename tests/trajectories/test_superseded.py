"""A transcript that was rewritten: what only an earlier version holds is a trajectory, all else is counted once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assets.logs import STAGE as LOGS
from assets.logs import ingest_paths
from assets.rollouts import STAGE as ROLLOUTS
from assets.stage import Context
from assets.trajectories import STAGE
from tests.trajectories.attempts import context

Said = tuple[str, str, str | None]
"""(role, text, time)"""


def write(path: Path, *said: Said) -> None:
    records: list[dict[str, Any]] = [{"type": "session", "version": 3, "id": "s"}]
    for number, (role, text, time) in enumerate(said):
        record = {"type": "message", "id": f"m{number}", "parentId": f"m{number - 1}" if number else None}
        records.append({**record, "timestamp": time, "message": {"role": role, "content": text}})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def at(minute: int) -> str:
    return f"2026-03-01T10:{minute:02d}:00Z"


@pytest.fixture
def made(tmp_path: Path) -> Context:
    return context(tmp_path)


def trajectories(made: Context, path: Path, *versions: tuple[Said, ...]) -> list[list[str]]:
    """New answers of each trajectory, after these versions of one file were taken in one after the other."""
    for said in versions:
        write(path, *said)
        ingest_paths(made, [path])
    for stage in (ROLLOUTS, LOGS, STAGE):
        made.lake.build(stage.projection)
    for check in STAGE.checks:
        assert check.run(made.lake).passed, check.name
    rows = made.lake.sql(
        "select list(s.text order by s.step) from steps s join trajectories t using (trajectory_id)"
        " where s.role = 'assistant' and not s.copied_context group by trajectory_id order by 1"
    ).fetchall()
    return [row[0] for row in rows]


def test_an_answer_that_a_rewriting_dropped_is_kept_once(made: Context, tmp_path: Path) -> None:
    ask, first, retry, last = (
        ("user", "Count.", at(0)), ("assistant", "Three.", at(1)), ("assistant", "Four, I think.", at(2)),
        ("user", "Sure?", at(3)),
    )  # fmt: skip
    end = ("assistant", "Yes.", at(4))
    path = tmp_path / "s.jsonl"
    found = trajectories(made, path, (ask, first), (ask, ("assistant", "Wrong.", at(2))), (ask, retry, last, end))
    assert found == [["Four, I think.", "Yes."], ["Three."]]  # `Wrong.` became `Four, I think.` at the same time
    rules = {(row["version"], row["rule"]) for row in made.lake.rows("diagnostics") if "superseded" in row["rule"]}
    assert rules == {(0, "only_in_superseded_version")}
    ledger = {(r["version"], r["disposition"], r["rule"], r["records"]) for r in made.lake.rows("ledger")}
    assert {(1, "dropped", "superseded_version", 3), (0, "kept", "step", 2)} <= ledger


@pytest.mark.parametrize(
    "earlier",
    [
        (("user", "Count.", at(0)), ("assistant", "Three lines.", at(1))),
        (("user", "Count.", at(10)), ("assistant", "Three lines.", at(11))),
        (("user", "Count.", None), ("assistant", "Three lines.", None)),
        (("user", "Count.", None), ("assistant", "Three", None)),
        (("user", "Count.", at(0)), ("assistant", "[redacted]", at(1))),
    ],
    ids=["same", "other times", "no times", "cut", "other words at that time"],
)
def test_a_rewriting_of_the_same_answers_counts_none_of_them_twice(
    made: Context, tmp_path: Path, earlier: tuple[Said, ...]
) -> None:
    later = (("user", "Count the lines.", at(0)), ("assistant", "Three lines.", at(1)))
    found = trajectories(made, tmp_path / "s.jsonl", earlier, later)
    assert found == [["Three lines."]]
