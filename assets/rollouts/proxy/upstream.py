"""Where a request goes: a policy inside this process, or an OpenAI-compatible endpoint over HTTP.

Belongs here: sending one try and giving back its bytes as they come. Does not belong here: retries, records, caps.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import httpx

from lake.errors import SetupError
from lake.ids import Json

MASK = "[OPENAI_API_KEY]"
"""What stands in an answer in place of the key."""
_SHORTEST_SECRET = 12
"""Keys below this are placeholders (`EMPTY`, `local`), which may well be words of an answer. Characters."""


@dataclass(frozen=True)
class Reply:
    """The head of an answer and the bytes of its body as they arrive."""

    status: int
    content_type: str
    body: AsyncIterator[bytes]
    retry_after_s: float | None = None


class UpstreamError(Exception):
    """There was no answer, or it broke off; the message is one line."""


class Upstream(Protocol):
    """Something that answers chat completions."""

    @property
    def name(self) -> str:
        """Where it is, as records say it."""

    @property
    def added(self) -> Mapping[str, Json]:
        """Fields added to each request body; everything else goes up unchanged."""

    def send(self, body: bytes, response_id: str) -> AbstractAsyncContextManager[Reply]:
        """Send one request.

        Args:
            body: the request, with the added fields in it.
            response_id: unique id of this try, for policies that make their own completions.

        Raises:
            UpstreamError: no connection, or it broke off.
        """

    async def close(self) -> None:
        """Give up connections."""


Respond = Callable[[Mapping[str, Json], str], Iterable[bytes]]
"""A policy in this process: request and response id to the events of a streamed completion, in order."""


@dataclass(frozen=True)
class ScriptedUpstream:
    """A policy that is a function."""

    name: str
    respond: Respond
    added: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))

    @asynccontextmanager
    async def send(self, body: bytes, response_id: str) -> AsyncIterator[Reply]:
        """Ask the function."""
        request = json.loads(body)

        async def events() -> AsyncIterator[bytes]:
            for event in self.respond(request, response_id):
                yield event

        yield Reply(200, "text/event-stream" if request.get("stream") else "application/json", events())

    async def close(self) -> None:
        """Nothing is open."""


class HttpUpstream:
    """An OpenAI-compatible endpoint. The key is sent and never recorded; an answer that repeats it is masked."""

    def __init__(self, base_url: str, api_key: str | None, added: Mapping[str, Json] = MappingProxyType({})) -> None:
        """Prepare it.

        Raises:
            SetupError: the address is none, or the key cannot stand in a header.
        """
        url, api_key = _address(base_url), (api_key or "").strip()
        if not (api_key.isascii() and api_key.isprintable()):
            raise SetupError("OPENAI_API_KEY holds a character that no header can carry; copy the key again")
        self._secret = api_key if len(api_key) >= _SHORTEST_SECRET else ""
        self._url = base_url.rstrip("/") + "/chat/completions"
        self.name = f"{url.scheme}://{url.host}{f':{url.port}' if url.port else ''}{url.path.rstrip('/')}"
        self.added = added
        headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        self._headers = headers
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def send(self, body: bytes, response_id: str) -> AsyncIterator[Reply]:
        """Post it; the connection pool is made on first use, inside the running loop."""
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=httpx.Timeout(connect=10, read=None, write=60, pool=None))
        try:
            async with self._client.stream("POST", self._url, content=body, headers=self._headers) as response:
                yield Reply(
                    response.status_code,
                    response.headers.get("content-type", ""),
                    masked(response.aiter_bytes(), self._secret.encode()),
                    _seconds(response.headers.get("retry-after")),
                )
        except httpx.HTTPError as error:
            said = f"{type(error).__name__} from {self.name}: {error}".rstrip(": ")
            raise UpstreamError(said.replace(self._secret, MASK) if self._secret else said) from error

    async def close(self) -> None:
        """Close the pool."""
        if self._client is not None:
            await self._client.aclose()


async def masked(pieces: AsyncIterator[bytes], secret: bytes) -> AsyncIterator[bytes]:
    """The same bytes with a secret masked, also where it is spread over pieces; none of them is empty."""
    held = b""
    async for piece in pieces:
        data = held + piece
        held = b""
        if secret:
            data = data.replace(secret, MASK.encode())
            begun = next((n for n in range(min(len(secret) - 1, len(data)), 0, -1) if data.endswith(secret[:n])), 0)
            data, held = data[: len(data) - begun], data[len(data) - begun :]
        if data:
            yield data
    if held:
        yield held


def _address(base_url: str) -> httpx.URL:
    """Raises SetupError without the address, which may hold a password."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise SetupError(f"OPENAI_BASE_URL is no address ({error}); give one such as http://host:8000/v1") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise SetupError("OPENAI_BASE_URL is no http address; give one such as http://host:8000/v1")
    return url


def _seconds(value: str | None) -> float | None:
    try:
        return None if value is None else max(0.0, float(value))
    except ValueError:
        return None  # an HTTP date; our own waits do
