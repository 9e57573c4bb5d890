"""Records as columns: the quick way gives what reading record by record gives, whatever the records hold."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.logs.columns import columns_of, of_bytes, of_lines
from assets.logs.readers.streams import split
from assets.logs.timestamps import parse_time
from lake.ids import Json
from lake.schema.model import TIMESTAMP

GOOD = [
    b'{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"x":[1]}}',
    b'{"type":"session","id":7,"timestamp":1767323045678}',
    b'{"record_id":"r","started_at":"2026-01-02T03:04:05Z","ts":null}',
    '{"type":"custom","text":"zażółć \u2028"}'.encode(),
]
BAD = [
    b"", b"   ", b"{", b"[1]", b'{"a":NaN}', b'{"a":"\\ud800"}', b'{"type":"x","a":"\xff"}', b"\xef\xbb\xbf{}",
    b'{"timestamp":"2026-13-02T03:04:05.678Z"}', b'{"timestamp":"2026-W01-1T03:04:05.678Z"}', b'{"timestamp":true}',
]  # fmt: skip


def plain(columns: dict[str, Json]) -> dict[str, list[Json]]:
    return {
        name: values.to_pylist() if isinstance(values, pa.Array) else list(values) for name, values in columns.items()
    }


@settings(deadline=None)
@given(st.lists(st.sampled_from(GOOD + BAD), max_size=6), st.booleans(), st.booleans())
def test_a_stream_at_once_and_line_by_line_give_the_same_columns(
    lines: Sequence[bytes], ended: bool, from_start: bool
) -> None:
    data = b"\n".join(lines) + b"\n" * (ended and bool(lines))
    one_by_one = of_lines(list(split(iter([data] if data else []), 0)))
    at_once = of_bytes(data, 0)
    assert (list(at_once.positions), list(at_once.raws)) == (list(one_by_one.positions), list(one_by_one.raws))
    slow = plain(columns_of(one_by_one, from_start=from_start))
    assert set(slow.pop("encoding")) <= {"identity"} and set(slow.pop("stored")) <= {None}
    assert plain(columns_of(at_once, from_start=from_start)) == slow


@settings(deadline=None)
@given(st.binary(max_size=60).map(lambda data: data.replace(b"a", b"\n")), st.data())
def test_records_behind_an_offset_are_those_of_the_rest(data: bytes, drawn: st.DataObject) -> None:
    offset = drawn.draw(st.integers(0, len(data)))
    rest = list(split(iter([data[offset:]]), offset))
    found = of_bytes(data, offset)
    assert list(zip(found.positions, found.raws, strict=True)) == [(line.position, line.raw) for line in rest]


@settings(deadline=None)
@given(st.from_regex(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3}Z|[+-][0-9]{4}|.{5})\Z"))
def test_times_read_all_at_once_are_those_read_one_by_one(text: str) -> None:
    try:
        (at_once,) = pa.array([text], pa.string()).cast(TIMESTAMP).to_pylist()
    except pa.ArrowInvalid:
        return  # is read one by one
    assert at_once == parse_time(text)


@pytest.mark.parametrize("texts", [[f"2026-01-0{day}T00:00:00.000Z" for day in (1, 2)], ["2026-01-01T00:00:00.000Z"]])
def test_times_of_the_common_form_are_read_all_at_once(texts: list[str]) -> None:
    records = of_bytes(b"\n".join(b'{"timestamp":"%s"}' % text.encode() for text in texts), 0)
    found = columns_of(records, from_start=True)["ts"]
    assert isinstance(found, pa.Array)
    assert found.to_pylist() == [parse_time(text) for text in texts]
