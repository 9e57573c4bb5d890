"""Every fixture file: the records read from it are what `facts.json` says is in it, and its bytes come back."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assets.logs.decode import decode, head
from assets.logs.reader import Line
from assets.logs.readers.database import DatabaseReader
from assets.logs.readers.streams import FileSource, file_chunks
from assets.logs.timestamps import parse_time

FIXTURES = Path(__file__).parent.parent / "fixtures" / "openclaw"
FACTS: dict[str, dict[str, Any]] = json.loads((FIXTURES / "facts.json").read_text())
FILES = sorted(
    name
    for name, entry in FACTS.items()
    if entry["content"] in ("transcript", "trajectory") and not name.endswith("gz_named_jsonl.jsonl")
)


def lines_of(name: str) -> list[Line]:
    return list(FileSource("", str(FIXTURES / name), None, "").lines())


@pytest.mark.parametrize("name", FILES)
def test_records_are_those_of_the_facts(name: str) -> None:
    facts = FACTS[name]["facts"]
    lines = lines_of(name)
    heads = [head(line.raw, first=line.position == 0) for line in lines]
    statuses = Counter(status for _, status in heads)
    assert len(lines) == facts["n_lines"]
    assert statuses["ok"] == facts["n_valid_records"]
    assert statuses["blank"] == facts["n_blank"]
    assert len(lines) - statuses["ok"] - statuses["blank"] == facts["n_malformed"]
    if "n_recoverable" in facts:
        bad = [line for line, (_, status) in zip(lines, heads, strict=True) if status not in ("ok", "blank")]
        assert sum(decode(line.raw).value is not None for line in bad) == facts["n_recoverable"]
    if "record_types" in facts:
        types = Counter(str(found.type) for found, status in heads if status == "ok")
        stated = {key if key != "null" else "None": count for key, count in facts["record_types"].items()}
        assert {key: types[key] for key in stated} == stated
    times = [time for found, status in heads if status == "ok" and (time := parse_time(found.time))]
    if facts.get("first_ts") and times:
        assert (min(times), max(times)) == (parse_time(facts["first_ts"]), parse_time(facts["last_ts"]))


@pytest.mark.parametrize("name", FILES)
def test_bytes_come_back(name: str) -> None:
    data = b"".join(file_chunks(FIXTURES / name))
    lines = lines_of(name)
    assert b"".join(line.raw + b"\n" * line.terminated for line in lines) == data
    assert all(data[line.position : line.position + len(line.raw)] == line.raw for line in lines)


@pytest.mark.parametrize("cut", [1, 7, 300, 1_000])
def test_reading_from_an_offset_gives_the_rest(cut: int) -> None:
    path = FIXTURES / "handmade" / "baseline.jsonl"
    data = path.read_bytes()
    rest = list(FileSource("", str(path), None, "").lines(cut))
    assert rest[0].position == cut
    assert b"".join(line.raw + b"\n" * line.terminated for line in rest) == data[cut:]
    part = list(FileSource("", str(path), None, "").lines(cut, cut + 50))
    assert b"".join(line.raw + b"\n" * line.terminated for line in part) == data[cut : cut + 50]


def test_database_rows_decode_to_the_lines_they_were_imported_from(tmp_path: Path) -> None:
    database = tmp_path / "openclaw-agent.sqlite"
    database.write_bytes(gzip.decompress((FIXTURES / "agent.sqlite.gz").read_bytes()))
    facts = FACTS["agent.sqlite.gz"]["facts"]["sessions"]
    sources = DatabaseReader().sources(database, database.read_bytes()[:64]) or []
    transcripts = {
        source.session_id: list(source.lines()) for source in sources if source.kind == "openclaw.transcript"
    }
    assert transcripts.keys() == facts.keys()
    for session, lines in transcripts.items():
        stated = facts[str(session)]
        packed = [line for line in lines if line.encoding == "zstd"]
        assert (len(lines), len(packed)) == (stated["n_rows"], stated["n_zstd_rows"])
        assert all(line.stored is not None and line.stored != line.raw for line in packed)
        types = Counter(str(head(line.raw, first=False)[0].type) for line in lines)
        assert dict(types) == stated["record_types"]
    original = FIXTURES / "shape/home-d/agents/main/sessions/248b49a3-ebf8-432d-8995-a856a2036fc3.jsonl"
    rows = transcripts["248b49a3-ebf8-432d-8995-a856a2036fc3"]
    assert [line.raw for line in rows] == original.read_bytes().rstrip(b"\n").split(b"\n")
