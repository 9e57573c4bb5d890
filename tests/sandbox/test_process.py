"""The sandbox that isolates nothing: it says so, and still ends what runs away."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from assets.sandbox import Limits, Mount, open_sandbox

LIMITS = Limits(wall_s=10)


def test_it_warns_loudly(capsys: pytest.CaptureFixture[str]) -> None:
    sandbox = open_sandbox("process")
    assert "isolates NOTHING" in capsys.readouterr().err
    assert "NO isolation" in sandbox.isolation


def test_paths_of_mounts_are_those_of_the_host(tmp_path: Path) -> None:
    sandbox = open_sandbox("process")
    mounts = [Mount(tmp_path, "/workspace", writable=True)]
    argv = [sandbox.python, "-I", "-c", "import sys, yaml; open(sys.argv[1], 'w').write('x')", "/workspace/f"]
    result = sandbox.run(argv, mounts=mounts, env={}, cwd="/workspace", limits=LIMITS)
    assert result.exit_code == 0 and (tmp_path / "f").read_text() == "x"


def test_limits_end_it(tmp_path: Path) -> None:
    sandbox = open_sandbox("process")
    started = time.monotonic()
    slow = sandbox.run(["sleep", "60"], mounts=[], env={}, cwd="/", limits=Limits(wall_s=0.3))
    loud = sandbox.run(["yes"], mounts=[], env={}, cwd="/", limits=Limits(wall_s=20, output_bytes=1000))
    assert slow.timed_out and loud.output_cut and len(loud.stdout) == 1000
    assert time.monotonic() - started < 8
