"""Isolation by a Docker engine: one container a run, no network, no capabilities, read-only root.

The image is `CLAWGYM_SANDBOX_IMAGE`, else `clawgym-sandbox:1` (built from `Dockerfile` beside this file); its python3
must have PyYAML. The engine must be on this machine: mounts are bind mounts. Wall time and output are kept here,
memory, processes and file size by the engine.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.types import Ulimit

from assets.sandbox.contract import Limits, Mount, SandboxResult
from assets.sandbox.supervise import folder_bytes
from lake.errors import SetupError

IMAGE = "clawgym-sandbox:1"
_TICK_S = 0.05


@dataclass(frozen=True)
class Docker:
    """A `Sandbox` that runs each command in a container of its own."""

    client: Any
    image: str
    name: str = "docker"
    python: str = "python3"

    @property
    def isolation(self) -> str:
        """What is isolated and which limits hold by which means."""
        return f"docker ({self.image}): no network, no host files; memory, processes and file size by the engine"

    def run(
        self,
        argv: Sequence[str],
        *,
        mounts: Sequence[Mount],
        env: Mapping[str, str],
        cwd: str,
        limits: Limits,
        stdin: bytes | None = None,
    ) -> SandboxResult:
        """As `Sandbox.run`; a non-empty stdin is not supported.

        Raises:
            SetupError: also for a stdin.
        """
        if stdin:
            raise SetupError("the docker sandbox gives no stdin to a command; put the bytes into a mounted file")
        started = time.monotonic()
        try:
            container = self.client.containers.create(**self._settings(argv, mounts, env, cwd, limits))
        except (APIError, DockerException) as error:
            raise SetupError(f"docker cannot create a container of {self.image}: {error}; see `docker info`") from error
        try:
            return self._follow(container, mounts, limits, started)
        except (APIError, DockerException) as error:
            if "executable file not found" in str(error) or "no such file or directory" in str(error):
                said = f"{argv[0]}: not found".encode()
                return SandboxResult(127, b"", said, time.monotonic() - started, timed_out=False, output_cut=False)
            raise SetupError(f"docker cannot run a container of {self.image}: {error}; see `docker info`") from error
        finally:
            with contextlib.suppress(NotFound):
                container.remove(force=True)

    def _settings(
        self, argv: Sequence[str], mounts: Sequence[Mount], env: Mapping[str, str], cwd: str, limits: Limits
    ) -> dict[str, Any]:
        size = limits.file_bytes
        return {
            "image": self.image,
            "command": list(argv),
            "entrypoint": [],
            "environment": {"HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", **env},
            "working_dir": cwd,
            "user": f"{os.getuid()}:{os.getgid()}",
            "network_mode": "none",
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges"],
            "read_only": True,
            "init": False,
            "tmpfs": {"/tmp": f"size={limits.memory_bytes},mode=1777"},
            "mem_limit": limits.memory_bytes,
            "memswap_limit": limits.memory_bytes,
            "pids_limit": limits.processes + 1,
            "ulimits": [
                Ulimit(name="fsize", soft=size, hard=size),
                Ulimit(name="cpu", soft=limits.cpu_s, hard=limits.cpu_s),
                Ulimit(name="core", soft=0, hard=0),
            ],
            "volumes": [f"{m.source.absolute()}:{m.target}:{'rw' if m.writable else 'ro'}" for m in mounts],
            "log_config": {"type": "json-file", "config": {"max-size": str(2 * limits.output_bytes)}},
        }

    def _follow(self, container: Any, mounts: Sequence[Mount], limits: Limits, started: float) -> SandboxResult:
        writable = [mount.source for mount in mounts if mount.writable]
        disk = sum(map(folder_bytes, writable))
        container.start()
        limit: str | None = None
        while True:
            container.reload()
            state = container.attrs["State"]
            if not state["Running"]:
                break
            if time.monotonic() - started > limits.wall_s:
                limit = "wall"
            elif sum(map(folder_bytes, writable)) - disk > limits.disk_bytes:
                limit = "disk"
            if limit:
                with contextlib.suppress(APIError):
                    container.kill()
                container.wait()
                break
            time.sleep(_TICK_S)
        out, cut_out = _bounded(container, limits.output_bytes, stdout=True)
        err, cut_err = _bounded(container, limits.output_bytes, stdout=False)
        container.reload()
        if container.attrs["State"].get("OOMKilled"):
            limit = limit or "memory"
        if cut_out or cut_err:
            limit = limit or "output"
        return SandboxResult(
            None if limit else int(container.attrs["State"]["ExitCode"]), out, err, time.monotonic() - started,
            timed_out=limit == "wall", output_cut=cut_out or cut_err, limit=limit,  # type: ignore[arg-type]
        )  # fmt: skip


def _bounded(container: Any, room: int, *, stdout: bool) -> tuple[bytes, bool]:
    kept = bytearray()
    for chunk in container.logs(stdout=stdout, stderr=not stdout, stream=True, follow=False):
        kept += chunk
        if len(kept) > room:
            return bytes(kept[:room]), True
    return bytes(kept), False


def open_docker() -> Docker:
    """The sandbox.

    Raises:
        SetupError: no engine answers, or the image is not there.
    """
    image = os.environ.get("CLAWGYM_SANDBOX_IMAGE", IMAGE)
    try:
        client = docker.from_env(timeout=60)
        client.ping()
    except DockerException as error:
        raise SetupError(
            f"no Docker engine answers ({str(error).splitlines()[0]}); start one or choose sandbox bubblewrap"
        ) from error
    try:
        client.images.get(image)
    except ImageNotFound as error:
        raise SetupError(
            f"image {image} is not on this engine; build it with `docker build -t {image} assets/sandbox`"
        ) from error
    return Docker(client, image)
