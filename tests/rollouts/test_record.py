"""The proxy's records give back every byte, and say so when they cannot."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.rollouts.proxy.record import Call, Decoder, Encoder, shared_ends
from lake.errors import SourceError
from lake.ids import canonical


def call(number: int, request: bytes, response: bytes = b"", attempt: str = "a") -> Call:
    return Call(
        record_id=f"{attempt}/{number}.0", attempt_id=attempt, call=number, retry=0, policy="p", upstream="u",
        request=request, response=response,
    )  # fmt: skip


PIECES = st.lists(st.sampled_from([b"a", b"\xc3\xa9", b"\xe2\x82\xac", b"\xff", b"{", b"messages", b"\n"]), max_size=30)


@given(st.lists(st.tuples(PIECES, st.binary(max_size=40)), min_size=1, max_size=6))
def test_every_request_and_response_comes_back_byte_for_byte(parts: list[tuple[list[bytes], bytes]]) -> None:
    calls = [call(n, b"".join(pieces), response) for n, (pieces, response) in enumerate(parts)]
    encoder, decoder = Encoder(), Decoder()
    lines = [canonical(encoder.encode(one)) for one in calls]
    assert [decoder.decode(json.loads(line)) for line in lines] == calls


@given(PIECES, PIECES)
def test_shared_ends_never_overlap(a: list[bytes], b: list[bytes]) -> None:
    base, data = b"".join(a), b"".join(b)
    head, tail = shared_ends(base, data)
    assert head + tail <= min(len(base), len(data))
    assert base[:head] == data[:head]
    assert tail == 0 or base[-tail:] == data[-tail:]


def test_a_growing_conversation_costs_what_it_grew_by() -> None:
    encoder, sizes = Encoder(), []
    messages: list[dict[str, str]] = [{"role": "system", "content": "x" * 8000}]
    tools = [{"name": "read", "description": "y" * 6000}]
    for number in range(10):
        messages.append({"role": "user", "content": f"turn {number}"})
        body = json.dumps({"model": "m", "messages": messages, "tools": tools}).encode()
        sizes.append(len(canonical(encoder.encode(call(number, body)))))
    assert sizes[0] > 14000
    assert max(sizes[1:]) < 1000


def test_attempts_in_one_log_do_not_disturb_each_other() -> None:
    one, two, decoder = Encoder(), Encoder(), Decoder()
    calls = [call(0, b"aaaa"), call(0, b"bbbb", attempt="b"), call(1, b"aaaac"), call(1, b"bbbbd", attempt="b")]
    records = [(two if c.attempt_id == "b" else one).encode(c) for c in calls]
    assert [decoder.decode(record) for record in records] == calls


def test_a_record_whose_base_is_missing_is_refused() -> None:
    encoder = Encoder()
    encoder.encode(call(0, b"hello"))
    second = encoder.encode(call(1, b"hello world"))
    with pytest.raises(SourceError, match="does not come right before it"):
        Decoder().decode(second)


def test_changed_bytes_are_found() -> None:
    record = Encoder().encode(call(0, b"hello"))
    record["request"]["suffix"]["text"] = "hallo"
    with pytest.raises(SourceError, match="does not have its sha256"):
        Decoder().decode(record)
