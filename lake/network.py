"""Who may reach a server: nothing listens to other machines without a token, and no web page of elsewhere gets through.

Belongs here: those rules, for every server of the project. Does not belong here: any server.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

SHORTEST_TOKEN: Final = 16
"""Characters a token of a server that others can reach must have."""


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]
"""An ASGI application."""


class SameSite:
    """An ASGI application that lets a browser through only when the page that asks came from this server.

    A page of elsewhere can have its own name resolve to this machine (rebinding): on loopback the `Host` must be a
    name of loopback. It can also post forms and open WebSockets: an `Origin`, where there is one, must be the `Host`.
    And it can make a browser get any address without saying who asks: GraphQL is answered by POST only.
    """

    def __init__(self, app: App, host: str) -> None:
        """Args:
        app: what is guarded.
        host: the address listened on; other than loopback any `Host` is let through, for a token is asked for.
        """
        self._app = app
        self._hosts = {host, "127.0.0.1", "localhost", "::1"} if is_loopback(host) else None

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        """Answer, or refuse with 403."""
        reason = self.refusal(scope) if scope["type"] in ("http", "websocket") else None
        if reason is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": reason.encode()})

    def refusal(self, scope: Message) -> str | None:
        """Why a request is not let through; null where it is."""
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value.lower() for name, value in headers if name == "host"]
        if len(hosts) != 1:
            return "the request must name one Host"
        if self._hosts is not None and _hostname(f"//{hosts[0]}") not in self._hosts:
            return f"Host {hosts[0]!r} is not this server; open it as http://127.0.0.1 with its port"
        for name, value in headers:
            if name == "origin" and value.lower().partition("://")[2] != hosts[0]:
                return f"a page of {value!r} may not use this server"
        asked = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if scope.get("method") == "GET" and scope["path"].rstrip("/").endswith("/graphql") and "query" in asked:
            return "GraphQL is answered by POST only"
        return None


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
