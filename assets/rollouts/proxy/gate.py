"""One attempt's gate to its model: caps, retries, records. It passes everything on and invents nothing.

Every upstream try is written to the attempt's `proxy.jsonl`, durably, before the next one starts. When a cap is reached
or the endpoint fails for good, the gate says so through `stop`; ending the attempt is the scheduler's work.
Does not belong here: sockets and HTTP (`server.py`).
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol

from assets.llm.account import Account
from assets.rollouts.proxy.answer import Answer, read_answer
from assets.rollouts.proxy.record import Call, Encoder
from assets.rollouts.proxy.upstream import Reply, Upstream, UpstreamError
from assets.rollouts.proxy.usage import NOT_SENT, usage_of
from lake.ids import Json, canonical

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that are tried again."""
WAITS_S = (0.5, 1.0, 2.0, 4.0)
"""Waits between the tries of one request; there is one try more than waits."""
LONGEST_WAIT_S = 30.0
"""Most that a `Retry-After` is obeyed."""
_PASSED_ON = frozenset({400, 413, 422})
"""Refusals that depend on the request, which the agent may react to (such as an overlong context)."""

Reason = Literal["turn_limit", "token_limit", "spend_cap", "model_endpoint"]


@dataclass(frozen=True)
class Stop:
    """Why the attempt has to be ended."""

    reason: Reason
    detail: str


@dataclass(frozen=True)
class Caps:
    """How much an attempt may ask of its model."""

    turns: int
    tokens: int | None = None


class Client(Protocol):
    """The agent's side of one request."""

    async def head(self, status: int, content_type: str) -> None:
        """Send status and content type."""

    async def body(self, data: bytes) -> None:
        """Send a piece of the body."""


@dataclass
class _Try:
    """One upstream try while it runs."""

    call: int
    retry: int
    request: bytes
    started_at: str
    begun: float
    status: int | None = None
    content_type: str | None = None
    response: bytearray | None = None
    first_byte_s: float | None = None
    error: str | None = None
    delivered: bool = False
    retry_after_s: float | None = None


class Gate:
    """What stands between one attempt and its model. Lives in the proxy's event loop; reading from outside is safe."""

    def __init__(
        self,
        attempt_id: str,
        *,
        policy: str,
        model: str,
        upstream: Upstream,
        caps: Caps,
        records: Path,
        account: Account | None = None,
    ) -> None:
        """Open it.

        Args:
            account: what pays for the policy; null for one that costs nothing.
        """
        self.attempt_id, self.policy, self.model = attempt_id, policy, model
        self.calls = 0
        """Requests of the agent that were passed on."""
        self.tokens = 0
        """Tokens of the answers so far, as the endpoint counted them."""
        self.stop: Stop | None = None
        self.stopped = threading.Event()
        self.last: Call | None = None
        self.last_answer: Answer | None = None
        self.waiting_since: float | None = None
        """`time.monotonic()` since when the endpoint owes a first byte; null when it owes none."""
        self.upstream_errors = 0
        """Tries that brought no whole answer."""
        self.prefix_breaks = 0
        """Requests whose messages do not extend those of the request before."""
        self._messages: list[Json] = []
        self._upstream, self._caps, self._account = upstream, caps, account
        self._encoder = Encoder()
        self._records = records.open("ab")

    async def chat(self, request: bytes, client: Client) -> None:
        """Serve one request of the agent.

        Args:
            request: the body, a JSON object.
        """
        number = self.calls
        await self._hold(_started(number, 0, request), self._cap(number))
        for retry in range(len(WAITS_S) + 1):
            last = retry == len(WAITS_S)
            attempt = _started(number, retry, request)
            await self._hold(attempt, self._afford(attempt))
            if retry == 0:
                self.calls += 1
                self._compare(request)
            if not await self._try(attempt, client, may_retry=not last):
                if attempt.delivered:
                    await client.body(b"")  # the end comes behind the record: nothing follows what is not recorded
                return
            await asyncio.sleep(min(attempt.retry_after_s or WAITS_S[retry], LONGEST_WAIT_S))

    def close(self) -> None:
        """Close the record file; no request may run any more."""
        self._records.close()

    async def close_upstream(self) -> None:
        """Give up the upstream's connections."""
        await self._upstream.close()

    def _compare(self, request: bytes) -> None:
        messages = json.loads(request).get("messages")
        messages = messages if isinstance(messages, list) else []
        if messages[: len(self._messages)] != self._messages:
            self.prefix_breaks += 1
        self._messages = messages

    async def _hold(self, attempt: _Try, refusal: Stop | None) -> None:
        """Where there is a refusal, do not send the request and never come back."""
        if refusal is None:
            return
        self._note(attempt, f"{refusal.detail}; {NOT_SENT}")
        self._end(refusal)
        await asyncio.Event().wait()  # the scheduler ends the attempt; answering would be inventing

    def _afford(self, attempt: _Try) -> Stop | None:
        if self._account is None:
            return None
        why = self._account.admit(self._record_id(attempt), self.model, attempt.request)
        return None if why is None else Stop("spend_cap", why)

    def _cap(self, number: int) -> Stop | None:
        if number >= self._caps.turns:
            return Stop("turn_limit", f"the cap of {self._caps.turns} model calls is reached")
        if self._caps.tokens is not None and self.tokens >= self._caps.tokens:
            return Stop("token_limit", f"{self.tokens} tokens reach the cap of {self._caps.tokens}")
        return None

    async def _try(self, attempt: _Try, client: Client, *, may_retry: bool) -> bool:
        """One try; whether to try again."""
        again = False
        self.waiting_since = attempt.begun
        try:
            body = _with_fields(attempt.request, self._upstream.added)
            record_id = self._record_id(attempt)
            async with self._upstream.send(body, f"chatcmpl-{record_id.replace('/', '-')}") as reply:
                again = may_retry and reply.status in RETRIED
                await self._pass_on(attempt, reply, None if again else client)
            if attempt.status != 200:
                excerpt = bytes(attempt.response or b"")[:160].decode("utf-8", "replace")
                attempt.error = f"HTTP {attempt.status} from {self._upstream.name}: {excerpt}"
        except UpstreamError as error:
            attempt.error = str(error)
            again = may_retry and not attempt.response
        except (ConnectionError, asyncio.CancelledError):
            attempt.error = "abandoned: the agent closed the connection or the attempt was ended"
            raise
        finally:
            self.waiting_since = None
            self._note(attempt, attempt.error)
            self._judge(attempt, again)
        return again

    async def _pass_on(self, attempt: _Try, reply: Reply, client: Client | None) -> None:
        attempt.status, attempt.content_type, attempt.response = reply.status, reply.content_type, bytearray()
        attempt.retry_after_s = reply.retry_after_s
        begun = False
        async for piece in reply.body:
            if attempt.first_byte_s is None:
                attempt.first_byte_s = round(time.monotonic() - attempt.begun, 6)
                self.waiting_since = None
            attempt.response += piece
            if client is not None:
                if not begun:
                    await client.head(reply.status, reply.content_type)
                    begun = True
                await client.body(piece)
        if client is not None:
            if not begun:
                await client.head(reply.status, reply.content_type)
            attempt.delivered = True

    def _judge(self, attempt: _Try, again: bool) -> None:
        """Whether the endpoint has failed for good."""
        if again or self.last is None or self.last.error is None or self.last.error.startswith("abandoned"):
            return
        if attempt.status == 200 and self.last_answer is not None and self.last_answer.nonsense is None:
            return  # it broke off in the middle; the agent saw that and may go on
        if attempt.status in _PASSED_ON:
            return
        if self._account is not None:
            self._account.hear(attempt.status, self.last.error)
        tries = "" if attempt.retry == 0 else f" ({attempt.retry + 1} tries)"
        self._end(Stop("model_endpoint", f"{self.last.error}{tries}"))

    def _end(self, stop: Stop) -> None:
        if self.stop is None:
            self.stop = stop
            self.stopped.set()

    def _record_id(self, attempt: _Try) -> str:
        return f"{self.attempt_id}/{attempt.call:04d}.{attempt.retry}"

    def _note(self, attempt: _Try, error: str | None) -> None:
        """Write the record of a try, durably."""
        response = bytes(attempt.response or b"")
        answer: Answer | None = None
        if attempt.status == 200:
            answer = read_answer(response, streamed=bool(json.loads(attempt.request).get("stream")))
            if error is None and answer.nonsense is not None:
                error = f"{self._upstream.name} answered nonsense: {answer.nonsense}"
            elif error is None and not answer.done:
                error = "the answer broke off before its end"
            self.tokens += answer.tokens
        call = Call(
            record_id=self._record_id(attempt),
            attempt_id=self.attempt_id,
            call=attempt.call,
            retry=attempt.retry,
            policy=self.policy,
            upstream=self._upstream.name,
            request=attempt.request,
            added=dict(self._upstream.added),
            status=attempt.status,
            content_type=attempt.content_type,
            response=response,
            error=error,
            started_at=attempt.started_at,
            first_byte_s=attempt.first_byte_s,
            duration_s=round(time.monotonic() - attempt.begun, 6),
            delivered=attempt.delivered,
            response_id=answer.response_id if answer else None,
            usage=answer.usage if answer else None,
            finish_reason=answer.finish_reason if answer else None,
        )
        self._records.write(canonical(self._encoder.encode(call)).encode("utf-8", "surrogatepass") + b"\n")
        self._records.flush()
        os.fsync(self._records.fileno())
        if self._account is not None:
            used = usage_of(
                call.usage, status=call.status, error=error, request_bytes=len(call.request), response=response
            )
            self._account.charge(call.record_id, self.model, used)
        self.upstream_errors += call.error is not None
        self.last, self.last_answer = call, answer


def _started(call: int, retry: int, request: bytes) -> _Try:
    return _Try(call, retry, request, datetime.now(UTC).isoformat(), time.monotonic())


def _with_fields(body: bytes, added: Mapping[str, Json]) -> bytes:
    """The body with fields put behind its own, whose bytes stay as they are; fields it has already are left alone."""
    present = json.loads(body)
    missing = {name: value for name, value in added.items() if name not in present}
    if not missing:
        return body
    inner = canonical(missing)[1:-1].encode()
    return body.rstrip()[:-1] + (b"," if present else b"") + inner + b"}"
