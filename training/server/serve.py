"""Running the server: a socket, a thread for the life of a `with`, or the foreground of a command.

Belongs here: sockets, threads, uvicorn. Does not belong here: routes (`app.py`). Every request needs a token; beyond
loopback it listens only with one that was chosen for it.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from lake.errors import SetupError, UsageError
from lake.network import SHORTEST_TOKEN, is_loopback
from training.model import cpu_threads
from training.server.app import Limits, Service, build_app
from training.server.engine import Engine

_START_S = 30.0


@dataclass(frozen=True)
class ServerConfig:
    """How a checkpoint is served."""

    names: tuple[str, ...]
    """Model ids it answers to."""
    host: str = "127.0.0.1"
    """Address; one that other machines can reach needs a `token`."""
    port: int = 0
    """0 is any free one."""
    token: str = ""
    """Bearer token; a random one where empty."""
    device: str = "cpu"
    cache_tokens: int = 65536
    threads: int | None = 1
    """CPU threads of one forward pass."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Served:
    """A server that answers."""

    base_url: str
    """To hand to an OpenAI client."""
    token: str
    engine: Engine


@contextlib.contextmanager
def serving(folder: Path, config: ServerConfig) -> Iterator[Served]:
    """Serve the checkpoint in `folder` from a thread of this process while the block runs.

    Raises:
        SetupError: the port is taken, or the server did not come up.
        StageError: the folder is no checkpoint.
        UsageError: the address can be reached from elsewhere and there is no (long enough) token.
    """
    if not is_loopback(config.host) and len(config.token) < SHORTEST_TOKEN:
        raise UsageError(
            f"{config.host} can be reached from other machines: that needs a token of at least {SHORTEST_TOKEN} "
            "characters; give one or listen on 127.0.0.1"
        )
    token = config.token or secrets.token_urlsafe(24)
    engine = Engine(folder, device=config.device, cache_tokens=config.cache_tokens)
    service = Service(engine, config.names, token, config.limits)
    with _listening(config.host, config.port) as listener, cpu_threads(config.threads):
        server = uvicorn.Server(_uvicorn(service))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="policy-server", daemon=True)
        thread.start()
        try:
            _await_start(server, thread)
            yield Served(f"http://{_in_url(config.host)}:{listener.getsockname()[1]}/v1", token, engine)
        finally:
            service.stopping.set()
            server.should_exit = True
            server.force_exit = True
            thread.join()
            service.pool.shutdown(wait=True, cancel_futures=True)


def serve_forever(folder: Path, config: ServerConfig, announce: Callable[[Served], None]) -> None:
    """Serve in the foreground until Ctrl-C.

    Args:
        folder: the checkpoint.
        config: how to serve it.
        announce: is told once, when the server answers.

    Raises:
        SetupError: the port is taken.
        StageError: the folder is no checkpoint.
        UsageError: as `serving`.
    """
    with serving(folder, config) as served:
        announce(served)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except (OSError, OverflowError) as error:
            raise SetupError(f"port {port} of {host} cannot be used: {error}; choose another or 0") from error
        yield listener


def _uvicorn(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        build_app(service),
        log_level="warning",
        access_log=False,
        lifespan="off",
        loop="asyncio",
        http="h11",
        ws="none",
        timeout_graceful_shutdown=1,
    )


def _await_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    waited = 0.0
    while not server.started:
        thread.join(0.02)
        waited += 0.02
        if not thread.is_alive() or waited > _START_S:
            raise SetupError("the policy server did not start; see the lines above")
