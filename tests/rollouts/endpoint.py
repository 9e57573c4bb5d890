"""A small OpenAI-compatible endpoint for tests: real sockets, behaviour by script."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[[dict[str, Any], str], Any]


@dataclass
class Reply:
    """What the endpoint does with a request."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: bool = False
    """Break the connection off after the body."""


@dataclass
class Endpoint:
    """A running endpoint and what it was sent."""

    base_url: str
    bodies: list[bytes] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)


@contextmanager
def endpoint(answer: Callable[[int, dict[str, Any]], Reply]) -> Iterator[Endpoint]:
    """Serve `answer(number of the request, its body)` on loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with lock:
                number = len(running.bodies)
                running.bodies.append(body)
                running.authorizations.append(self.headers.get("authorization"))
            reply = answer(number, json.loads(body))
            time.sleep(reply.delay_s)
            try:
                self.send_response(reply.status)
                self.send_header("content-type", reply.content_type)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                if reply.body:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(reply.body), reply.body))
                if not reply.cut:
                    self.wfile.write(b"0\r\n\r\n")
                self.close_connection = reply.cut
            except ConnectionError:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's own name
            """Silent."""

    lock = threading.Lock()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def completion(text: str = "Done.", *, response_id: str = "c1", tokens: int = 10) -> bytes:
    """A streamed completion that says a text."""
    head = {"id": response_id, "object": "chat.completion.chunk", "created": 0, "model": "m"}
    events: list[dict[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {
            **head,
            "choices": [],
            "usage": {"prompt_tokens": 1, "completion_tokens": tokens - 1, "total_tokens": tokens},
        },
    ]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
