"""The HTTP application: routes, the token, the bound on concurrent work, streams that end when the client goes.

Belongs here: Starlette. Does not belong here: sockets and threads of the server (`serve.py`), generation.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lake.ids import Json
from training.server.completion import Completion, Part, call_body
from training.server.engine import Engine, Step
from training.server.protocol import (
    ChatRequest,
    Envelope,
    RequestError,
    error_body,
    models_body,
    read_request,
    usage_body,
)
from training.server.recall import Recall
from training.server.words import TokenBytes

_LARGEST_BODY = 64 * 1024 * 1024
_LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class Limits:
    """Bounds of the service."""

    concurrency: int = 2
    """Requests that generate at once; others wait."""
    waiting: int = 32
    """Requests that may wait; further ones are refused with 429."""
    most_tokens: int = 4096
    """Longest answer, whatever the request asks for."""
    temperature: float = 0.0
    """What holds when a request names none: greedy, so that the same request gives the same answer."""


class Service:
    """Everything requests share."""

    def __init__(self, engine: Engine, names: Sequence[str], token: str, limits: Limits) -> None:
        self.engine, self.names, self.limits = engine, tuple(names), limits
        self.words, self.recall = TokenBytes(engine.encoder.tokenizer), Recall()
        self.pool = ThreadPoolExecutor(limits.concurrency, thread_name_prefix="policy")
        self.created = int(time.time())
        self.active = 0
        """Requests that generate or wait. Touched by the event loop only."""
        self.stopping = threading.Event()
        """Set when running requests are to be given up."""
        self._token = token.encode()

    def allows(self, request: Request) -> bool:
        """Whether the request carries the token."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode(), self._token)

    async def models(self, request: Request) -> Response:
        """GET /v1/models."""
        if not self.allows(request):
            return _error(RequestError("the bearer token is missing or wrong", status=401))
        return JSONResponse(models_body(self.names, self.created, self.engine.max_positions))

    async def chat(self, request: Request) -> Response:
        """POST /v1/chat/completions."""
        try:
            if not self.allows(request):
                raise RequestError("the bearer token is missing or wrong", status=401)
            asked = read_request(await _body(request), temperature=self.limits.temperature)
            if asked.model not in self.names:
                raise RequestError(
                    f"The model `{asked.model}` does not exist; this server has {', '.join(self.names)}",
                    param="model", code="model_not_found", status=404,
                )  # fmt: skip
            if self.active >= self.limits.concurrency + self.limits.waiting:
                raise RequestError(f"{self.active} requests are running or waiting; try again later", status=429)
            work = Work(self, asked)
            await work.start()
        except RequestError as error:
            return _error(error)
        if asked.stream:
            return StreamingResponse(work.events(), media_type="text/event-stream")
        return await work.whole(request)


class Work:
    """One admitted request: a thread generates, the event loop sends."""

    def __init__(self, service: Service, asked: ChatRequest) -> None:
        self._service, self._asked = service, asked
        self._gone = threading.Event()
        self._parts: asyncio.Queue[Part | BaseException | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._envelope = Envelope.new(asked.model)
        self._completion: Completion | None = None

    async def start(self) -> None:
        """Encode the prompt, then let a thread generate as soon as one is free.

        Raises:
            RequestError: the prompt is too long.
        """
        service = self._service
        service.active += 1
        try:
            self._completion = await asyncio.to_thread(self._encode)
            service.pool.submit(self._generate)
        except RequestError:
            service.active -= 1
            raise
        except RuntimeError as error:
            service.active -= 1
            raise RequestError("the server is stopping", status=503) from error

    def _encode(self) -> Completion:
        service = self._service
        return Completion(
            service.engine,
            service.words,
            service.recall,
            self._asked,
            most_tokens=service.limits.most_tokens,
            cancelled=lambda: self._gone.is_set() or service.stopping.is_set(),
        )

    @property
    def completion(self) -> Completion:
        """The completion, once started."""
        assert self._completion is not None
        return self._completion

    def _generate(self) -> None:
        last: BaseException | None = None
        try:
            for part in self.completion:
                self._loop.call_soon_threadsafe(self._parts.put_nowait, part)
        except Exception as error:
            last = error  # the client is told
        with suppress(RuntimeError):  # the loop is closed: the server stops, and nobody waits for the end
            self._loop.call_soon_threadsafe(self._end, last)

    def _end(self, error: BaseException | None) -> None:
        self._service.active -= 1
        self._parts.put_nowait(error)

    async def _arriving(self) -> AsyncIterator[Part]:
        while (part := await self._parts.get()) is not None:
            if isinstance(part, BaseException):
                raise part
            yield part

    async def events(self) -> AsyncIterator[bytes]:
        """The answer as server-sent events. When the client goes, this is closed and generation stops."""
        completion, envelope = self.completion, self._envelope
        try:
            first: dict[str, Json] = {"prompt_token_ids": completion.prompt} if self._asked.token_ids else {}
            yield _event(envelope.chunk([_choice({"role": "assistant", "content": ""})], **first))
            async for part in self._arriving():
                choice = self._choice(part)
                if choice is not None:
                    yield _event(envelope.chunk([choice]))
            self._settle()
            yield _event(envelope.chunk([_choice({}, finish=completion.finish)]))
            if self._asked.include_usage:
                yield _event(envelope.chunk([], usage=self._usage()))
            yield b"data: [DONE]\n\n"
        except RequestError as error:
            yield _event(error_body(str(error), status=error.status))
        except Exception as error:
            yield _event(error_body(f"{type(error).__name__}: {error}", status=500))
        finally:
            self._gone.set()

    async def whole(self, request: Request) -> Response:
        """The answer in one piece. When the client goes, generation stops."""
        completion = self.completion
        watch = asyncio.create_task(self._watch(request))
        steps: list[Step] = []
        try:
            async for part in self._arriving():
                steps += [part.step] if part.step else []
                for delta in part.deltas:
                    completion.answer.add(delta)
            self._settle()
        except RequestError as error:
            return _error(error)
        except Exception as error:
            return _error(RequestError(f"{type(error).__name__}: {error}", status=500))
        finally:
            self._gone.set()
            watch.cancel()
        choice: dict[str, Json] = {
            "index": 0, "message": completion.answer.message(), "finish_reason": completion.finish, "logprobs": None,
        }  # fmt: skip
        if self._asked.logprobs:
            choice["logprobs"] = {"content": [self._logprob(step) for step in steps]}
        more: dict[str, Json] = {}
        if self._asked.token_ids:
            choice["token_ids"] = [step.token for step in steps]
            more["prompt_token_ids"] = completion.prompt
        return JSONResponse(self._envelope.whole(choice, self._usage(), **more))

    def _settle(self) -> None:
        """Close the completion; what was cut off is an error, never an answer that looks finished."""
        if self.completion.finish == "cancelled":
            raise RequestError("the server stopped while it was answering", status=503)
        self.completion.close()

    async def _watch(self, request: Request) -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(_LOOK_EVERY_S)
        self._gone.set()

    def _choice(self, part: Part) -> Json:
        """A part as a choice of a chunk, None where it has nothing to say."""
        delta: dict[str, Json] = {}
        for piece in part.deltas:
            call_id = self.completion.answer.add(piece)
            if piece.call is not None and call_id is not None:
                index = len(self.completion.answer.calls) - 1
                delta.setdefault("tool_calls", []).append({"index": index, **call_body(call_id, piece.call)})
            else:
                name = "reasoning_content" if piece.kind == "reasoning" else "content"
                delta[name] = delta.get(name, "") + piece.text
        wanted = part.step is not None and (self._asked.logprobs or self._asked.token_ids)
        if not delta and not wanted:
            return None
        choice = _choice(delta)
        if part.step is not None and self._asked.logprobs:
            choice["logprobs"] = {"content": [self._logprob(part.step)]}
        if part.step is not None and self._asked.token_ids:
            choice["token_ids"] = [part.step.token]
        return choice

    def _logprob(self, step: Step) -> dict[str, Json]:
        top = [self._scored(token, logprob) for token, logprob in step.top]
        return {**self._scored(step.token, step.logprob), "top_logprobs": top}

    def _scored(self, token: int, logprob: float) -> dict[str, Json]:
        data = self._service.words.of(token)
        return {"token": data.decode("utf-8", "replace"), "logprob": logprob, "bytes": list(data)}

    def _usage(self) -> dict[str, Json]:
        generation = self.completion.generation
        return usage_body(len(self.completion.prompt), len(generation.tokens), generation.cached_tokens)


def build_app(service: Service) -> Starlette:
    """The application."""

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "active": service.active})

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/v1/models", service.models),
            Route("/v1/chat/completions", service.chat, methods=["POST"]),
        ]
    )


def _choice(delta: dict[str, Json], finish: str | None = None) -> dict[str, Json]:
    return {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}


def _event(body: Json) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n\n"


def _error(error: RequestError) -> Response:
    headers = {"retry-after": "1"} if error.status == 429 else None
    body = error_body(str(error), status=error.status, param=error.param, code=error.code)
    return JSONResponse(body, status_code=error.status, headers=headers)


async def _body(request: Request) -> Json:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > _LARGEST_BODY:
            raise RequestError(f"the body is larger than {_LARGEST_BODY} bytes", status=413)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the body is not JSON: {error}") from error
