"""One request over the wire: the `openai` package, streamed or whole, and what its errors mean.

Belongs here: sending once, classifying. Does not belong here: trying again, the log (`client.py`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol
from urllib.parse import urlsplit

import openai

from assets.llm.usage import Usage, estimated, stated_usage
from lake.errors import SetupError
from lake.ids import Json

MASK: Final = "[OPENAI_API_KEY]"
_SHORTEST_SECRET: Final = 12
"""Shorter keys are placeholders (`EMPTY`), which may well be words of an answer. Characters."""

Trouble = Literal["busy", "server", "connection", "timeout", "broken", "request", "schema", "fatal"]
"""busy, server, connection, timeout, broken: another try may do; request: never; schema: the way of binding is unknown
to the endpoint; fatal: every request would get it."""
PASSING: Final = ("busy", "server", "connection", "timeout", "broken")


class WireError(Exception):
    """A try that gave no answer."""

    def __init__(
        self, trouble: Trouble, detail: str, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(detail)
        self.trouble: Trouble = trouble
        self.detail = detail
        self.status = status
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class Completion:
    """What a model said."""

    text: str
    reasoning: str = ""
    """Of endpoints that give it in a field of its own."""
    refusal: str | None = None
    finish_reason: str | None = None
    response_id: str | None = None
    served_model: str | None = None
    usage: Usage = field(default_factory=Usage)
    latency_s: float = 0.0


class Wire(Protocol):
    """Where requests go."""

    @property
    def name(self) -> str:
        """Where it is, as the log says it; no key, no password."""

    async def send(self, request: Mapping[str, Json], key: str) -> Completion:
        """Send one request once; `key` names it to endpoints that know repeated requests by such a name."""

    async def close(self) -> None:
        """Give up connections."""


class OpenAiWire:
    """Any OpenAI-compatible endpoint."""

    def __init__(self, base_url: str, api_key: str, timeout_s: float) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SetupError("OPENAI_BASE_URL is no http address; give one such as http://host:8000/v1")
        port = f":{parts.port}" if parts.port else ""
        self.name = f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"
        self._secret = api_key if len(api_key) >= _SHORTEST_SECRET else ""
        self._base_url, self._api_key, self._timeout_s = base_url, api_key, timeout_s
        self._opened: openai.AsyncOpenAI | None = None

    async def send(self, request: Mapping[str, Json], key: str) -> Completion:
        """Send it; the pool is opened on first use, inside the running loop.

        Raises:
            WireError: there was no answer.
        """
        if self._opened is None:
            self._opened = openai.AsyncOpenAI(
                api_key=self._api_key or "none", base_url=self._base_url, max_retries=0, timeout=self._timeout_s
            )
        started = time.monotonic()
        try:
            said = await self._ask(self._opened, dict(request), {"Idempotency-Key": key})
        except openai.OpenAIError as error:
            raise self._error(error) from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise WireError("broken", f"the answer is no JSON: {error}") from error
        usage = stated_usage(said.pop("usage")) or estimated(
            len(json.dumps(dict(request), ensure_ascii=False).encode("utf-8", "surrogatepass")),
            said["text"] + said["reasoning"],
        )
        return Completion(**said, usage=usage, latency_s=round(time.monotonic() - started, 4))

    async def close(self) -> None:
        """Close the pool."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def _ask(
        self, client: openai.AsyncOpenAI, request: dict[str, Any], headers: dict[str, str]
    ) -> dict[str, Any]:
        create: Any = client.chat.completions.create  # request fields are the profile's: no overload fits them
        known = {name: request.pop(name) for name in ("model", "messages", "stream") if name in request}
        answer = await create(**known, extra_body=request, extra_headers=headers)
        if known.get("stream"):
            return await self._gathered(answer)
        value = answer.model_dump() if hasattr(answer, "model_dump") else None
        if not value or not value.get("choices"):
            raise WireError("broken", "the answer has no choices")
        choice = value["choices"][0]
        message = choice.get("message") or {}
        return self._said(value, message, choice.get("finish_reason"), value.get("usage"))

    async def _gathered(self, stream: Any) -> dict[str, Any]:
        """The pieces of a streamed answer, put together; one that breaks off is no answer."""
        parts: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning_content": [], "reasoning": []}
        head: dict[str, Any] = {}
        finish: str | None = None
        usage: Any = None
        async for piece in stream:
            value = piece.model_dump()
            head = head or value
            usage = value.get("usage") or usage
            for choice in value.get("choices") or ():
                for name, found in parts.items():
                    text = (choice.get("delta") or {}).get(name)
                    if isinstance(text, str):
                        found.append(text)
                finish = choice.get("finish_reason") or finish
        if finish is None:
            raise WireError("broken", "the stream broke off before the answer's end")
        message = {name: "".join(found) for name, found in parts.items()}
        return self._said(head, message, finish, usage)

    def _said(
        self, head: Mapping[str, Any], message: Mapping[str, Any], finish: str | None, usage: Any
    ) -> dict[str, Any]:
        return {
            "text": self._masked(message.get("content") or ""),
            "reasoning": self._masked(message.get("reasoning_content") or message.get("reasoning") or ""),
            "refusal": self._masked(message.get("refusal") or "") or None,
            "finish_reason": finish,
            "response_id": head.get("id"),
            "served_model": head.get("model"),
            "usage": usage if isinstance(usage, dict) else None,
        }

    def _masked(self, text: Any) -> str:
        said = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        return said.replace(self._secret, MASK) if self._secret else said

    def _error(self, error: openai.OpenAIError) -> WireError:
        detail = " ".join(self._masked(str(error)).split())[:400]
        if isinstance(error, openai.APITimeoutError):
            return WireError("timeout", f"no answer within {self._timeout_s:g} s")
        if isinstance(error, openai.APIStatusError):
            return _of_status(error, detail)
        if isinstance(error, openai.APIConnectionError):
            cause = error.__cause__
            return WireError("connection", f"{detail} {type(cause).__name__ if cause else ''}".strip())
        return WireError("broken", detail)


def _of_status(error: openai.APIStatusError, detail: str) -> WireError:
    status = error.status_code
    if status in (401, 402, 403, 404) or (status == 429 and "insufficient_quota" in detail):
        return WireError("fatal", detail, 402 if status == 429 else status)
    if status == 429:
        return WireError("busy", detail, status, _seconds(error.response.headers.get("retry-after")))
    if status >= 500 or status in (408, 409, 425):
        return WireError("server", detail, status, _seconds(error.response.headers.get("retry-after")))
    lowered = detail.lower()
    binding = any(word in lowered for word in ("response_format", "json_schema", "guided", "structured output"))
    return WireError("schema" if binding else "request", detail, status)


def _seconds(value: str | None) -> float | None:
    try:
        return None if value is None else max(0.0, float(value))
    except ValueError:
        return None  # an HTTP date; our own waits do
