"""A chat-completions server for tests: real sockets, the real protocol, answers by script.

Belongs here: streaming or not, errors, broken answers, and a bill by `Idempotency-Key`. Does not belong here: what is
said (`recorded.py`, the tests).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """One answer."""

    text: str = ""
    reasoning: str = ""
    refusal: str | None = None
    finish: str = "stop"
    status: int = 200
    error: str = "no"
    headers: dict[str, str] = field(default_factory=dict)
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 20})
    raw: bytes | None = None
    """Sent as the body as it is."""
    cut: bool = False
    """Break the connection off half-way."""
    wait_s: float = 0.0


@dataclass
class Server:
    """A running server and what it was asked."""

    url: str
    requests: list[Request] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    bill: dict[str, int] = field(default_factory=dict)
    """Idempotency key to the times it was answered with 200."""
    authorizations: set[str | None] = field(default_factory=set)


def as_said(value: Any) -> Say:
    """A JSON value as an answer."""
    return Say(json.dumps(value))


@contextmanager
def serving(script: Callable[[Request, int], Say]) -> Iterator[Server]:
    """Serve `script(request, number of it)` on a free loopback port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
            """Silent."""

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            key = self.headers.get("idempotency-key", "")
            with lock:
                number = len(server.requests)
                server.requests.append(request)
                server.keys.append(key)
                server.authorizations.add(self.headers.get("authorization"))
                say = script(request, number)
                if say.status == 200 and not say.cut:
                    server.bill[key] = server.bill.get(key, 0) + 1
            time.sleep(say.wait_s)
            body, kind = _body(request, say, number)
            try:
                self.send_response(say.status)
                self.send_header("content-type", kind)
                for name, value in say.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body) + (50 if say.cut else 0)))
                self.end_headers()
                self.wfile.write(body)
            except ConnectionError:
                pass
            self.close_connection = say.cut

    lock = threading.Lock()
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = Server(f"http://127.0.0.1:{http.server_port}/v1")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def _body(request: Request, say: Say, number: int) -> tuple[bytes, str]:
    if say.raw is not None:
        return say.raw, "application/json"
    if say.status != 200:
        return json.dumps({"error": {"message": say.error, "type": "test"}}).encode(), "application/json"
    head = {"id": f"chatcmpl-{number}", "created": 0, "model": request["model"]}
    if not request.get("stream"):
        message = {"role": "assistant", "content": say.text, "refusal": say.refusal}
        if say.reasoning:
            message["reasoning_content"] = say.reasoning
        choice = {"index": 0, "message": message, "finish_reason": say.finish}
        value = {**head, "object": "chat.completion", "choices": [choice], "usage": say.usage}
        return json.dumps(value).encode(), "application/json"
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": say.reasoning}] if say.reasoning else []
    deltas += [{"content": say.text[at : at + 7]} for at in range(0, len(say.text), 7)]
    deltas += [{"refusal": say.refusal}] if say.refusal else []
    chunk = {**head, "object": "chat.completion.chunk"}
    events = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if not say.cut:
        events.append({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": say.finish}]})
        events.append({**chunk, "choices": [], "usage": say.usage})
    lines = [b"data: " + json.dumps(event).encode() for event in events] + ([] if say.cut else [b"data: [DONE]"])
    return b"\n\n".join(lines) + b"\n\n", "text/event-stream"
