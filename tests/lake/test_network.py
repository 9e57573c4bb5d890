"""What a server on loopback lets through: its own pages and programs, no page of elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lake.network import Message, SameSite

LOOPBACK, OPEN = "127.0.0.1", "0.0.0.0"


def status(at: str, kind: str = "http", method: str = "GET", path: str = "/", query: str = "", **headers: str) -> Any:
    """What is answered: 200 of the application behind, a refusal's status, or a WebSocket's close code."""
    sent: list[Message] = []

    async def app(scope: Message, receive: Any, send: Any) -> None:
        await send({"type": "answer", "status": 200})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Message = {
        "type": kind,
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(SameSite(app, at)(scope, receive, send))
    return sent[0].get("status", sent[0].get("code"))


@pytest.mark.parametrize("name", ["127.0.0.1:3000", "localhost:3000", "LOCALHOST:3000", "[::1]:3000", "localhost"])
def test_names_of_loopback_are_let_through(name: str) -> None:
    assert status(LOOPBACK, host=name) == 200
    assert status(LOOPBACK, method="POST", host=name, origin=f"http://{name}") == 200
    assert status(LOOPBACK, kind="websocket", host=name, origin=f"http://{name}") == 200


@pytest.mark.parametrize(
    "name",
    ["evil.example:3000", "127.0.0.1.evil.example", "localhost.evil.example", "x@127.0.0.2", "", "[::1", "0.0.0.0"],
)
def test_a_name_that_resolves_here_is_not_this_server(name: str) -> None:
    assert status(LOOPBACK, host=name) == 403
    assert status(LOOPBACK, kind="websocket", host=name, origin=f"http://{name}") == 1008


def test_a_request_names_one_host() -> None:
    assert status(LOOPBACK) == 403
    assert "one Host" in str(SameSite(None, LOOPBACK).refusal({"headers": [(b"host", b"a")] * 2}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:8000", "http://localhost:3000", ""]
)
@pytest.mark.parametrize("host", [LOOPBACK, OPEN])
def test_a_page_of_elsewhere_is_refused(host: str, origin: str) -> None:
    assert status(host, method="POST", host="127.0.0.1:3000", origin=origin) == 403
    assert status(host, kind="websocket", host="127.0.0.1:3000", origin=origin) == 1008


def test_an_open_address_has_any_name() -> None:
    assert status(OPEN, host="lake.example:8501", origin="https://lake.example:8501") == 200


def test_another_address_of_loopback_is_let_through_where_it_was_given() -> None:
    assert status("127.0.0.2", host="127.0.0.2:3000") == 200
    assert status(LOOPBACK, host="127.0.0.2:3000") == 403


def test_graphql_is_answered_by_post_only() -> None:
    for path in ("/graphql", "/graphql/", "/a/graphql"):
        assert status(LOOPBACK, path=path, query="query=mutation%7Bx%7D", host="localhost") == 403
    assert status(LOOPBACK, path="/graphql", host="localhost") == 200
    assert status(LOOPBACK, path="/graphql", method="POST", query="query=x", host="localhost") == 200
