"""The proxy on real sockets: everything passes unchanged, every try is recorded, caps and failures stop the attempt."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from assets.rollouts.proxy import gate as gate_module
from assets.rollouts.proxy.gate import Caps, Gate
from assets.rollouts.proxy.record import Call, Decoder
from assets.rollouts.proxy.server import Door, ProxyServer
from assets.rollouts.proxy.upstream import HttpUpstream
from tests.rollouts.endpoint import Reply, completion, endpoint

SECRET = "sk-very-secret"
BODY = b'{"model": "m",  "stream": true, "messages": [{"role": "user", "content": "h\xc3\xa9llo"}] }'


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "WAITS_S", (0.01, 0.01))


@contextmanager
def proxied(
    folder: Path, base_url: str, *, turns: int = 10, tokens: int | None = None, **added: object
) -> Iterator[tuple[Door, httpx.Client]]:
    with ProxyServer() as server:
        upstream = HttpUpstream(base_url, SECRET, added)
        gate = Gate(
            "a", policy="p", model="m", upstream=upstream, caps=Caps(turns, tokens), records=folder / "proxy.jsonl"
        )
        door = server.open(gate, folder / "s", loopback=True)
        try:
            with httpx.Client(
                transport=httpx.HTTPTransport(uds=str(folder / "s")), base_url="http://proxy", timeout=10
            ) as client:
                yield door, client
        finally:
            server.close_door(door)


def records(folder: Path) -> list[Call]:
    decoder = Decoder()
    return [decoder.decode(json.loads(line)) for line in (folder / "proxy.jsonl").read_bytes().splitlines()]


def post(client: httpx.Client, body: bytes = BODY) -> httpx.Response:
    return client.post("/v1/chat/completions", content=body)


def test_bytes_pass_unchanged_both_ways_and_are_recorded(tmp_path: Path) -> None:
    with endpoint(lambda n, body: Reply(body=completion())) as up, proxied(tmp_path, up.base_url) as (door, client):
        response = post(client)
        assert (response.status_code, response.content) == (200, completion())
        assert response.headers["content-type"] == "text/event-stream"
        assert up.bodies == [BODY]
        assert up.authorizations == [f"Bearer {SECRET}"]
        assert (door.gate.calls, door.gate.tokens, door.gate.stop) == (1, 10, None)
    (call,) = records(tmp_path)
    assert (call.request, call.response, call.status, call.error) == (BODY, completion(), 200, None)
    assert (call.response_id, call.finish_reason, call.delivered) == ("c1", "stop", True)
    assert call.usage is not None and call.usage["total_tokens"] == 10
    assert call.first_byte_s is not None and 0 < call.first_byte_s <= call.duration_s
    assert SECRET not in (tmp_path / "proxy.jsonl").read_text()


def test_added_fields_come_behind_the_bytes_as_they_were(tmp_path: Path) -> None:
    with (
        endpoint(lambda n, body: Reply(body=completion())) as up,
        proxied(tmp_path, up.base_url, seed=7, model="never") as (_, client),
    ):
        post(client)
        assert up.bodies == [BODY[:-1] + b',"seed":7}']
        assert json.loads(up.bodies[0])["model"] == "m"
    (call,) = records(tmp_path)
    assert (call.request, call.added) == (BODY, {"seed": 7, "model": "never"})


def test_passing_trouble_is_absorbed_and_each_try_recorded(tmp_path: Path) -> None:
    replies = [Reply(429, b"{}", headers={"retry-after": "0.02"}), Reply(503, b"busy"), Reply(body=completion())]
    with endpoint(lambda n, body: replies[n]) as up, proxied(tmp_path, up.base_url) as (door, client):
        assert post(client).content == completion()
        assert (door.gate.calls, door.gate.upstream_errors, door.gate.stop) == (1, 2, None)
    assert [(c.record_id, c.status, c.delivered) for c in records(tmp_path)] == [
        ("a/0000.0", 429, False),
        ("a/0000.1", 503, False),
        ("a/0000.2", 200, True),
    ]


def test_lasting_trouble_stops_the_attempt(tmp_path: Path) -> None:
    with endpoint(lambda n, body: Reply(500, b"boom")) as up, proxied(tmp_path, up.base_url) as (door, client):
        assert post(client).status_code == 500
        assert door.gate.stop is not None and door.gate.stopped.is_set()
        assert door.gate.stop.reason == "model_endpoint"
        assert "HTTP 500" in door.gate.stop.detail and "(3 tries)" in door.gate.stop.detail


def test_a_dead_endpoint_stops_the_attempt(tmp_path: Path) -> None:
    with proxied(tmp_path, "http://127.0.0.1:9/v1") as (door, client):
        with pytest.raises(httpx.RemoteProtocolError):
            post(client)
        assert door.gate.stop is not None and "ConnectError" in door.gate.stop.detail
    assert [call.status for call in records(tmp_path)] == [None, None, None]


@pytest.mark.parametrize(
    "reply", [Reply(body=b"<html>hi</html>", content_type="text/html"), Reply(body=b"data: {oops\n\n"), Reply()]
)
def test_nonsense_is_passed_on_and_stops_the_attempt(tmp_path: Path, reply: Reply) -> None:
    with endpoint(lambda n, body: reply) as up, proxied(tmp_path, up.base_url) as (door, client):
        assert post(client).content == reply.body
        assert door.gate.stop is not None and "nonsense" in door.gate.stop.detail
        assert len(up.bodies) == 1


@pytest.mark.parametrize(("status", "stops"), [(401, True), (404, True), (400, False)])
def test_a_refusal_is_not_tried_again(tmp_path: Path, status: int, stops: bool) -> None:
    with (
        endpoint(lambda n, body: Reply(status, b'{"error": {"message": "no"}}')) as up,
        proxied(tmp_path, up.base_url) as (door, client),
    ):
        assert post(client).status_code == status
        assert (door.gate.stop is not None) is stops
        assert len(up.bodies) == 1


def test_an_answer_that_breaks_off_breaks_off_for_the_agent_too(tmp_path: Path) -> None:
    begun = completion()[:120]
    with (
        endpoint(lambda n, body: Reply(body=begun, cut=True)) as up,
        proxied(tmp_path, up.base_url) as (_, client),
        pytest.raises(httpx.RemoteProtocolError),
    ):
        post(client)
    (call,) = records(tmp_path)
    assert call.response == begun and not call.delivered and "RemoteProtocolError" in str(call.error)


def test_the_cap_on_turns_holds_the_request_and_stops_the_attempt(tmp_path: Path) -> None:
    with (
        endpoint(lambda n, body: Reply(body=completion())) as up,
        proxied(tmp_path, up.base_url, turns=1) as (
            door,
            client,
        ),
    ):
        post(client)
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/chat/completions", content=BODY, timeout=0.3)
        assert door.gate.stop is not None and door.gate.stop.reason == "turn_limit"
        assert (len(up.bodies), door.gate.calls) == (1, 1)
    assert "not sent" in str(records(tmp_path)[-1].error)


def test_the_cap_on_tokens_counts_what_the_endpoint_counts(tmp_path: Path) -> None:
    with (
        endpoint(lambda n, body: Reply(body=completion(tokens=60))) as up,
        proxied(tmp_path, up.base_url, tokens=100) as (door, client),
    ):
        post(client)
        post(client)
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/chat/completions", content=BODY, timeout=0.3)
        assert door.gate.stop is not None and door.gate.stop.reason == "token_limit"


def test_closing_the_door_records_what_was_running(tmp_path: Path) -> None:
    with (
        endpoint(lambda n, body: Reply(body=completion(), delay_s=3.0)) as up,
        proxied(tmp_path, up.base_url) as (
            door,
            client,
        ),
    ):

        def ask() -> None:
            with pytest.raises(httpx.HTTPError):
                post(client)

        thread = threading.Thread(target=ask)
        thread.start()
        deadline = time.monotonic() + 5
        while door.gate.waiting_since is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert door.gate.waiting_since is not None
    thread.join()
    (call,) = records(tmp_path)
    assert call.status is None and str(call.error).startswith("abandoned")


def test_an_agent_that_hangs_up_ends_the_upstream_request(tmp_path: Path) -> None:
    with (
        endpoint(lambda n, body: Reply(body=completion(), delay_s=2.0)) as up,
        proxied(tmp_path, up.base_url) as (
            door,
            client,
        ),
    ):
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/chat/completions", content=BODY, timeout=0.3)
        deadline = time.monotonic() + 1.5
        while door.gate.last is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert door.gate.last is not None and str(door.gate.last.error).startswith("abandoned")
        assert door.gate.stop is None


def test_loopback_wants_the_token(tmp_path: Path) -> None:
    with endpoint(lambda n, body: Reply(body=completion())) as up, proxied(tmp_path, up.base_url) as (door, _):
        url = f"http://127.0.0.1:{door.port}/v1/chat/completions"
        assert httpx.post(url, content=BODY).status_code == 401
        assert httpx.post(url, content=BODY, headers={"authorization": "Bearer wrong"}).status_code == 401
        assert httpx.post(url, content=BODY, headers={"authorization": f"Bearer {door.token}"}).status_code == 200
        assert len(up.bodies) == 1


def test_other_requests_are_refused_and_models_are_listed(tmp_path: Path) -> None:
    with proxied(tmp_path, "http://127.0.0.1:9/v1") as (door, client):
        assert client.get("/v1/models").json()["data"][0]["id"] == "m"
        assert client.post("/v1/embeddings", content=b"{}").status_code == 404
        assert post(client, b"not json").status_code == 404
        assert post(client, b"[1]").status_code == 404
        assert door.gate.calls == 0


def test_one_connection_serves_many_requests(tmp_path: Path) -> None:
    with (
        endpoint(lambda n, body: Reply(body=completion(response_id=f"c{n}"))) as up,
        proxied(tmp_path, up.base_url) as (_, client),
    ):
        for number in range(5):
            assert post(client).content == completion(response_id=f"c{number}")
    assert [call.response_id for call in records(tmp_path)] == [f"c{n}" for n in range(5)]


def test_requests_that_do_not_extend_the_one_before_are_counted(tmp_path: Path) -> None:
    def body(*texts: str) -> bytes:
        messages: list[dict[str, Any]] = [{"role": "user", "content": text} for text in texts]
        return json.dumps({"messages": messages, "stream": True}).encode()

    with endpoint(lambda n, request: Reply(body=completion())) as up, proxied(tmp_path, up.base_url) as (door, client):
        for one in (body("a"), body("a", "b"), body("a", "b"), body("a", "c"), body("a", "c", "d")):
            post(client, one)
        assert door.gate.prefix_breaks == 1
