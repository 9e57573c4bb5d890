"""The docker sandbox on a real engine, where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.sandbox import Limits, Mount, Sandbox, open_sandbox
from lake.errors import SetupError

LIMITS = Limits(wall_s=20)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    try:
        return open_sandbox("docker")
    except SetupError as error:
        pytest.skip(str(error))


def test_without_engine_or_image_it_is_one_plain_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with pytest.raises(SetupError, match=r"no Docker engine answers.*choose sandbox bubblewrap"):
        open_sandbox("docker")


@pytest.mark.docker
def test_a_command_runs_without_network_or_host_files(sandbox: Sandbox, tmp_path: Path) -> None:
    code = "import yaml, socket; open('f', 'w').write('x'); socket.create_connection(('192.0.2.1', 80), 2)"
    mounts = [Mount(tmp_path, "/workspace", writable=True)]
    result = sandbox.run([sandbox.python, "-I", "-c", code], mounts=mounts, env={}, cwd="/workspace", limits=LIMITS)
    assert result.exit_code == 1 and b"Network is unreachable" in result.stderr
    assert (tmp_path / "f").read_text() == "x"


@pytest.mark.docker
def test_limits_end_a_run(sandbox: Sandbox) -> None:
    slow = sandbox.run(["sleep", "60"], mounts=[], env={}, cwd="/", limits=Limits(wall_s=1))
    assert slow.timed_out and slow.exit_code is None
    hungry = [sandbox.python, "-c", "x = bytearray(10**9)\nx[::4096] = b'1' * len(x[::4096])\nprint('got it')"]
    result = sandbox.run(hungry, mounts=[], env={}, cwd="/", limits=Limits(wall_s=20, memory_bytes=10**8))
    assert b"got it" not in result.stdout


@pytest.mark.docker
def test_output_is_bounded(sandbox: Sandbox) -> None:
    result = sandbox.run(["yes"], mounts=[], env={}, cwd="/", limits=Limits(wall_s=1, output_bytes=1000))
    assert len(result.stdout) <= 1000
