"""Databases with any bytes anywhere: rows or an error with the path in it, no other exception, no wrong type."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from assets.logs.loading import load
from assets.logs.readers.database import DATABASE_NAME, DatabaseReader
from lake.errors import SourceError
from tests.logs.test_ingest import FIXTURES

WHOLE = gzip.decompress((FIXTURES / "agent.sqlite.gz").read_bytes())
PAGE = 4096


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=40)), min_size=1, max_size=6),
    st.integers(0, len(WHOLE)) | st.none(),
    st.integers(0, len(WHOLE) // PAGE) | st.none(),
)
def test_rows_or_an_error(edits: list[tuple[int, bytes]], end: int | None, blank: int | None) -> None:
    data = bytearray(WHOLE)
    for at, put in edits:
        data[at : at + len(put)] = put
    if blank is not None:
        data[blank * PAGE : (blank + 1) * PAGE] = bytes(PAGE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / DATABASE_NAME
        path.write_bytes(data[:end])
        try:
            sources = DatabaseReader().sources(path, path.read_bytes()[:64]) or []
        except SourceError as error:
            assert str(path) in str(error)
            return
        for source in sources:
            assert source.session_id is None or isinstance(source.session_id, str)
            try:
                for line in source.lines():
                    assert isinstance(line.raw, bytes) and isinstance(line.position, int)
                load(source, lambda _: [])
            except SourceError as error:
                assert str(path) in str(error)
