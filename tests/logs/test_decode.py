"""Decoding of single records: strict statuses and lenient repairs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from assets.logs.decode import KEPT_DEPTH, MAX_DECODED, decode, head
from assets.logs.timestamps import parse_time


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b'{"a":1}', "ok"),
        (b'{"a":1}\r', "ok"),
        (b'{"a":"\\ud83e"}', "ok"),
        (b'{"a":1e400}', "ok"),
        (b'{"a":27670116110564327544}', "ok"),
        (b'{"a":1,"a":2}', "ok"),
        ('{"a":"\u2028\u0085"}'.encode(), "ok"),
        (b"", "blank"),
        (b" \t\r", "blank"),
        (b'{"a":', "bad_json"),
        (b'{"a":1} x', "bad_json"),
        (b'{"a":NaN}', "bad_json"),
        (b"\x00\x00", "bad_json"),
        (b"[1]", "not_object"),
        (b"7", "not_object"),
        (b'{"a":"\xff"}', "bad_utf8"),
        (b"\xff\xfe", "bad_utf8"),
        (b"[" * 20_000 + b"]" * 20_000, "not_object"),
        (b'{"a":' * 2_000 + b"1" + b"}" * 2_000, "ok"),
        (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "bad_json"),
        (b"x" * (MAX_DECODED + 1), "oversized"),
    ],
    ids=range(21),
)
def test_status_is_strict(raw: bytes, status: str) -> None:
    assert head(raw, first=False)[1] == status


def test_a_bom_is_allowed_before_the_first_record_only() -> None:
    raw = b'\xef\xbb\xbf{"type":"session"}'
    assert head(raw, first=True)[1] == "ok" and head(raw, first=True)[0].type == "session"
    assert head(raw, first=False)[1] == "bad_json"


def test_head_gives_the_selecting_fields_on_both_ways() -> None:
    quick = b'{"type":"message","id":"a","parentId":"b","timestamp":"2026-03-01T10:00:00Z","x":"y"}'
    slow = quick.replace(b'"y"', b'"\\ud800"')
    for raw in (quick, slow):
        found, status = head(raw, first=False)
        assert (found.type, found.name, found.parentId, found.time, status) == (
            "message", "a", "b", "2026-03-01T10:00:00Z", "ok",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "value", "notes"),
    [
        (b'{"a":"x\\ud83ey"}', {"a": "x\ufffdy"}, ("lone_surrogate",)),
        (b'{"\\udc00":1}', {"\ufffd": 1}, ("lone_surrogate",)),
        (b'{"a":"\\ud83e\\udd14"}', {"a": "\U0001f914"}, ()),
        (b'{"a":NaN,"b":-Infinity}', {"a": None, "b": None}, ("nonfinite_number",)),
        (b'{"a":1e400}', {"a": None}, ("nonfinite_number",)),
        (b'{"a":"\xff"}', {"a": "\ufffd"}, ("bad_utf8",)),
    ],
)
def test_lenient_reading_says_what_it_repaired(raw: bytes, value: object, notes: tuple[str, ...]) -> None:
    decoded = decode(raw)
    assert decoded.value == value and decoded.notes == notes
    json.dumps(decoded.value, allow_nan=False).encode()  # never raises on what was read


def test_deep_values_become_a_text_and_can_be_written() -> None:
    decoded = decode(b'{"a":' * 1_500 + b"1" + b"}" * 1_500)
    assert decoded.value is not None and "deep_nesting" in decoded.notes
    depth = 0
    at: Any = decoded.value
    while isinstance(at, dict):
        depth, at = depth + 1, at["a"]
    assert depth == KEPT_DEPTH and isinstance(at, str)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("2026-03-01T10:00:00.000Z", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T10:00:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01 12:00:00+02:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        (1772359200, datetime(2026, 3, 1, 10, tzinfo=UTC)),
        (1772359200000, datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("1772359200000", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        (1772359200.5, datetime(2026, 3, 1, 10, 0, 0, 500_000, tzinfo=UTC)),
        ("yesterday", None),
        ("2026-02-30T25:61:00Z", None),
        (1e300, None),
        (True, None),
        (None, None),
        ({}, None),
    ],
)
def test_times_of_every_form(stated: object, expected: datetime | None) -> None:
    assert parse_time(stated) == expected
