"""The inner sandbox of a command, without OpenClaw around it: exit codes, failures noted, system files kept."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assets.rollouts.cage import open_cage
from assets.rollouts.cage.bubblewrap import BubblewrapCage, _kit_mounts, _write_kit
from assets.sandbox import Mount
from assets.sandbox.bubblewrap import hand_over, mode, sandbox_argv
from lake.errors import UsageError


@pytest.fixture
def line(tmp_path: Path) -> list[str]:
    """A command line that runs the agent's SHELL in the outer sandbox; what follows is its arguments."""
    for name in ("kit", "workspace", "scratch/home", "scratch/tmp"):
        (tmp_path / name).mkdir(parents=True)
    _write_kit(tmp_path / "kit")
    for name in ("workspace", "scratch"):
        hand_over(tmp_path / name, mode())
    mounts = [
        *_kit_mounts(tmp_path / "kit"),
        Mount(tmp_path / "workspace", "/workspace", writable=True),
        Mount(tmp_path / "scratch", "/scratch", writable=True),
    ]
    return sandbox_argv([], mode=mode(), mounts=mounts, cwd="/workspace", nested=True)


def shell(line: list[str], *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*line, *argv], capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize(("command", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("nonsense", 127)])
def test_exit_codes_come_through(line: list[str], tmp_path: Path, command: str, code: int) -> None:
    assert shell(line, "/opt/agent/bash", "-c", command).returncode == code
    assert sorted(path.name for path in (tmp_path / "scratch").iterdir()) == ["home", "tmp"]


def test_a_sandbox_that_cannot_be_made_is_noted(line: list[str], tmp_path: Path) -> None:
    done = shell(line, "/bin/sh", "-c", "rmdir /scratch/home; exec /opt/agent/bash -c 'echo ran'")
    assert done.returncode == 1 and "bwrap" in done.stderr and "ran" not in done.stdout
    assert (tmp_path / "scratch" / "failed").read_text() == "1\n"


def test_no_descriptor_is_passed_on(line: list[str]) -> None:
    inner = "exec 3</dev/null 20</dev/urandom 9</dev/null; exec /opt/agent/bash -c 'ls /proc/self/fd'"
    assert shell(line, "/bin/bash", "-c", inner).stdout.split() == ["0", "1", "2", "3"], "3 is the folder it lists"


def test_account_files_are_our_own(line: list[str], tmp_path: Path) -> None:
    done = shell(
        line, "/opt/agent/bash", "-c", "id -un; cat /etc/passwd; python3 -c 'import yaml; print(yaml.__name__)'"
    )
    assert done.stdout == f"agent\n{(tmp_path / 'kit' / 'passwd').read_text()}yaml\n"


def test_kinds() -> None:
    assert isinstance(open_cage("bubblewrap"), BubblewrapCage)
    with pytest.raises(UsageError, match="docker"):
        open_cage("docker")


def test_the_fingerprint_is_stable() -> None:
    assert BubblewrapCage().fingerprint == BubblewrapCage().fingerprint
