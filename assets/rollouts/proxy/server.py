"""The proxy's sockets: HTTP/1.1 on a unix socket per attempt, and on loopback with a token where there is no sandbox.

One event loop in one thread serves all attempts of a batch. Does not belong here: what is done with a request
(`gate.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import h11

from assets.rollouts.proxy.gate import Gate
from lake.errors import SetupError

_T = TypeVar("_T")
_LARGEST_BODY = 256 * 1024 * 1024


@dataclass
class Door:
    """A gate that is being served."""

    gate: Gate
    socket: Path
    port: int | None
    """Loopback port, where one was asked for."""
    token: str
    """Bearer token of the loopback port."""
    _servers: list[asyncio.AbstractServer] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)


class ProxyServer:
    """Serves gates until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-proxy", daemon=True)
        self._thread.start()

    def open(self, gate: Gate, socket: Path, *, loopback: bool) -> Door:
        """Start serving a gate.

        Args:
            socket: path of the unix socket to make; at most 107 bytes.
            loopback: also listen on 127.0.0.1, on a free port, with a token.

        Raises:
            SetupError: the socket cannot be made.
        """
        try:
            return self._run(self._open(Door(gate, socket, None, secrets.token_urlsafe(24)), loopback))
        except OSError as error:
            raise SetupError(
                f"the model proxy cannot listen on {socket}: {error}; set TMPDIR to a short path"
            ) from error

    def close_door(self, door: Door) -> None:
        """Stop serving a gate: running requests are cancelled and recorded as they stand."""
        self._run(self._close(door))

    def close(self) -> None:
        """Stop the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _open(self, door: Door, loopback: bool) -> Door:
        async def serve_socket(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _track(door, _Connection(door.gate, reader, writer, token=None).serve())

        async def serve_port(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _track(door, _Connection(door.gate, reader, writer, token=door.token).serve())

        door._servers.append(await asyncio.start_unix_server(serve_socket, str(door.socket)))  # noqa: SLF001
        door.socket.chmod(0o666)  # the agent's user differs from ours; the folder around it is private
        if loopback:
            server = await asyncio.start_server(serve_port, "127.0.0.1", 0)
            door._servers.append(server)  # noqa: SLF001
            door.port = int(server.sockets[0].getsockname()[1])
        return door

    async def _close(self, door: Door) -> None:
        for server in door._servers:  # noqa: SLF001
            server.close()
        for task in list(door._tasks):  # noqa: SLF001
            task.cancel()
        await asyncio.gather(*door._tasks, return_exceptions=True)  # noqa: SLF001
        await door.gate.close_upstream()
        door.gate.close()


async def _track(door: Door, work: Coroutine[Any, Any, None]) -> None:
    """Run a connection as a task the door can cancel."""
    task = asyncio.ensure_future(work)
    door._tasks.add(task)  # noqa: SLF001
    try:
        with contextlib.suppress(asyncio.CancelledError, ConnectionError, h11.ProtocolError):
            await task
    finally:
        door._tasks.discard(task)  # noqa: SLF001


class _Connection:
    """One HTTP connection of the agent; also the `Client` of the gate."""

    def __init__(
        self, gate: Gate, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, token: str | None
    ) -> None:
        self._gate, self._reader, self._writer, self._token = gate, reader, writer, token
        self._http = h11.Connection(h11.SERVER)

    async def serve(self) -> None:
        try:
            while True:
                request, body = await self._request()
                if request is None:
                    return
                await self._answer(request, body)
                if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                    return
                self._http.start_next_cycle()
        finally:
            self._writer.close()

    async def head(self, status: int, content_type: str) -> None:
        """`Client.head`: the length is not known, so the body goes in chunks."""
        headers = [("content-type", content_type or "application/octet-stream"), ("cache-control", "no-cache")]
        await self._send(h11.Response(status_code=status, headers=[*headers, ("transfer-encoding", "chunked")]))

    async def body(self, data: bytes) -> None:
        """`Client.body`; an empty piece is the end."""
        await self._send(h11.Data(data=data) if data else h11.EndOfMessage())

    async def _request(self) -> tuple[h11.Request | None, bytes]:
        request: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(1 << 16))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > _LARGEST_BODY:
                    raise h11.RemoteProtocolError("request body too large", error_status_hint=413)
            elif isinstance(event, h11.EndOfMessage):
                return request, bytes(body)
            else:  # closed
                return None, b""

    async def _answer(self, request: h11.Request, body: bytes) -> None:
        path = request.target.decode("ascii", "replace").partition("?")[0]
        if not self._allowed(request):
            await self._plain(401, {"error": {"message": "wrong or missing token", "type": "invalid_request_error"}})
        elif request.method == b"GET" and path == "/v1/models":
            await self._plain(200, {"object": "list", "data": [{"id": self._gate.model, "object": "model"}]})
        elif request.method == b"POST" and path == "/v1/chat/completions" and _is_object(body):
            await self._until_gone(self._gate.chat(body, self))
        else:
            message = (
                f"{request.method.decode()} {path} is not served: only POST /v1/chat/completions with a JSON object"
            )
            await self._plain(404, {"error": {"message": message, "type": "invalid_request_error"}})

    async def _until_gone(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work`, and cancel it when the agent closes the connection."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self._reader.read(1))
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                early = gone.result()  # empty: the connection is closed; else the start of a next request
                if not early:
                    raise ConnectionResetError
                self._http.receive_data(early)
                await asyncio.wait({task})
            elif gone.done():
                self._http.receive_data(gone.result())
            task.result()
        finally:
            for one in (task, gone):
                one.cancel()
            await asyncio.gather(task, gone, return_exceptions=True)

    def _allowed(self, request: h11.Request) -> bool:
        if self._token is None:
            return True
        given = dict(request.headers).get(b"authorization", b"")
        return hmac.compare_digest(given, f"Bearer {self._token}".encode())

    async def _plain(self, status: int, value: dict[str, Any]) -> None:
        await self.head(status, "application/json")
        await self.body(json.dumps(value).encode())
        await self.body(b"")

    async def _send(self, event: h11.Response | h11.Data | h11.EndOfMessage) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except ValueError:
        return False
