"""The real bubblewrap against commands that mean harm: what they see, what they reach, how they end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assets.sandbox import Limits, Mount, Sandbox, SandboxResult, cgroup, open_sandbox
from assets.sandbox import bubblewrap as bubblewrap_module
from assets.sandbox.bubblewrap import Bubblewrap, hand_over, mode, open_bubblewrap, sandbox_argv
from lake.errors import SetupError, UsageError

LIMITS = Limits(wall_s=10)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_sandbox("bubblewrap")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


def shell(sandbox: Sandbox, script: str, workspace: Path, limits: Limits = LIMITS, **env: str) -> SandboxResult:
    mounts = [Mount(workspace, "/workspace", writable=True)]
    return sandbox.run(["sh", "-c", script], mounts=mounts, env=env, cwd="/workspace", limits=limits)


def python(sandbox: Sandbox, code: str, workspace: Path, limits: Limits = LIMITS) -> SandboxResult:
    mounts = [Mount(workspace, "/workspace", writable=True)]
    argv = [sandbox.python, "-I", "-c", code]
    return sandbox.run(argv, mounts=mounts, env={}, cwd="/workspace", limits=limits)


def test_exit_code_output_and_written_files_come_back(sandbox: Sandbox, workspace: Path) -> None:
    result = shell(sandbox, "echo out; echo err >&2; echo $WORD > file; exit 3", workspace, WORD="given")
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert (workspace / "file").read_text() == "given\n"
    assert not result.timed_out and result.limit is None


def test_stdin_is_given(sandbox: Sandbox) -> None:
    result = sandbox.run(["cat"], mounts=[], env={}, cwd="/", limits=LIMITS, stdin=b"hello")
    assert result.stdout == b"hello"


def test_a_command_killed_by_a_signal_says_so(sandbox: Sandbox, workspace: Path) -> None:
    assert shell(sandbox, "kill -9 $$", workspace).exit_code == 137


def test_a_missing_command_is_an_exit_code_not_an_error(sandbox: Sandbox) -> None:
    assert sandbox.run(["no-such-command"], mounts=[], env={}, cwd="/", limits=LIMITS).exit_code == 127


def test_there_is_no_network(sandbox: Sandbox, workspace: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # a service of the host
        host_port = server.getsockname()[1]
        code = "import socket, sys\nfor address in (('192.0.2.1', 80), ('127.0.0.1', int(sys.argv[1]))):\n try:\n"
        code += "  socket.create_connection(address, 2)\n  print('reached', address)\n except OSError as e: print(e)"
        argv = [sandbox.python, "-I", "-c", code, str(host_port)]
        result = sandbox.run(argv, mounts=[], env={}, cwd="/", limits=LIMITS)
    assert result.stdout.splitlines() == [b"[Errno 101] Network is unreachable", b"[Errno 111] Connection refused"]
    assert shell(sandbox, "grep -c : /proc/net/dev", workspace).stdout.strip() == b"1"  # loopback only


def test_host_files_environment_and_processes_are_not_there(
    sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-value")
    secret = workspace.parent / "secret"
    secret.write_text("secret-value")
    result = shell(sandbox, f"env; cat {secret} /etc/shadow; ls /home; ls /proc | grep -c '^[0-9]'; id -u", workspace)
    assert b"secret-value" not in result.stdout
    assert result.stderr.count(b"No such file") >= 2
    assert int(result.stdout.split()[-2]) <= 6
    assert result.stdout.split()[-1] == b"65534"


def test_only_writable_mounts_and_tmp_can_be_written(sandbox: Sandbox, workspace: Path, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    given.chmod(0o777)
    mounts = [Mount(workspace, "/workspace", writable=True), Mount(given, "/given")]
    script = "for f in /x /usr/x /etc/x /opt/x /opt/clawgym/x /opt/clawgym/python/x /dev/x /given/x /proc/sys/kernel/x"
    script += " /workspace/x /tmp/x /dev/shm/x; do touch $f 2>/dev/null && echo $f; done"
    result = sandbox.run(["sh", "-c", script], mounts=mounts, env={}, cwd="/", limits=LIMITS)
    assert result.stdout.split() == [b"/workspace/x", b"/tmp/x", b"/dev/shm/x"]


def test_no_privilege_is_left_and_kernel_settings_are_out_of_reach(sandbox: Sandbox, workspace: Path) -> None:
    script = "grep -E 'Cap(Eff|Bnd|Prm)|NoNewPrivs' /proc/self/status; echo x > /proc/sys/kernel/core_pattern"
    result = shell(sandbox, script, workspace)
    for line in (b"CapPrm:\t0000000000000000", b"CapEff:\t0000000000000000", b"NoNewPrivs:\t1"):
        assert line in result.stdout
    assert b"ermission denied" in result.stderr or b"Read-only" in result.stderr


def test_the_clean_python_has_yaml_and_no_path_of_the_workspace(sandbox: Sandbox, workspace: Path) -> None:
    for name in ("json.py", "sitecustomize.py", "usercustomize.py", "yaml.py"):
        (workspace / name).write_text("print('planted'); raise SystemExit(9)")
    result = python(sandbox, "import json, yaml, sys; print(yaml.safe_load('a: 1'), sys.path)", workspace)
    assert result.exit_code == 0 and b"{'a': 1}" in result.stdout
    assert b"planted" not in result.stdout and b"/workspace" not in result.stdout
    assert python(sandbox, "import dagster", workspace).exit_code == 1


def test_wall_time_ends_the_whole_namespace(sandbox: Sandbox, workspace: Path) -> None:
    started = time.monotonic()
    script = "(setsid sh -c 'while :; do date >> beat; sleep 0.05; done' &) ; trap '' TERM INT HUP; sleep 60"
    result = shell(sandbox, script, workspace, Limits(wall_s=0.6))
    assert result.timed_out and result.exit_code is None and result.limit == "wall"
    assert time.monotonic() - started < 5
    size = (workspace / "beat").stat().st_size
    time.sleep(0.2)
    assert (workspace / "beat").stat().st_size == size > 0


def test_background_processes_die_with_the_command(sandbox: Sandbox, workspace: Path) -> None:
    result = shell(sandbox, "(setsid sh -c 'while :; do date >> beat; sleep 0.02; done' &) ; sleep 0.2", workspace)
    assert result.exit_code == 0
    size = (workspace / "beat").stat().st_size
    time.sleep(0.2)
    assert (workspace / "beat").stat().st_size == size > 0


def test_endless_output_is_cut_and_ends_the_run(sandbox: Sandbox, workspace: Path) -> None:
    for stream in ("", ">&2"):
        result = shell(sandbox, f"yes {stream}", workspace, Limits(wall_s=20, output_bytes=10_000))
        assert result.output_cut and result.limit == "output" and result.exit_code is None
        assert max(len(result.stdout), len(result.stderr)) == 10_000
        assert result.wall_s < 10


def test_memory_is_bounded(sandbox: Sandbox, workspace: Path) -> None:
    code = "x = bytearray(10**9)\nx[::4096] = b'1' * len(x[::4096])\nprint('got it')"
    result = python(sandbox, code, workspace, Limits(wall_s=10, memory_bytes=150 * 10**6))
    assert b"got it" not in result.stdout
    assert result.limit == "memory" or b"MemoryError" in result.stderr


def test_tmp_is_memory_with_a_bound(sandbox: Sandbox, workspace: Path) -> None:
    script = "for i in 1 2 3 4 5; do head -c 40000000 /dev/zero > /tmp/f$i || exit 7; done; echo all"
    result = shell(sandbox, script, workspace, Limits(wall_s=10, memory_bytes=100 * 10**6))
    assert b"all" not in result.stdout


def test_a_fork_bomb_is_contained(sandbox: Sandbox, workspace: Path) -> None:
    code = "import os, time\nn = 0\nwhile n < 2000:\n try:\n  pid = os.fork()\n except OSError:\n  break\n"
    code += " if pid == 0: time.sleep(60)\n n += 1\nprint(n)"
    result = python(sandbox, code, workspace, Limits(wall_s=10, processes=20))
    assert result.limit == "processes" or int(result.stdout) <= 20


def test_file_size_and_disk_are_bounded(sandbox: Sandbox, workspace: Path) -> None:
    shell(sandbox, "head -c 50000000 /dev/zero > big", workspace, Limits(file_bytes=10**6))
    assert (workspace / "big").stat().st_size == 10**6
    script = "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; sleep 0.02; done"
    result = shell(sandbox, script, workspace, Limits(wall_s=20, disk_bytes=5 * 10**6))
    assert result.limit == "disk" and result.wall_s < 10


def test_cpu_time_is_bounded(sandbox: Sandbox, workspace: Path) -> None:
    result = shell(sandbox, "while :; do :; done", workspace, Limits(wall_s=20, cpu_s=1))
    assert result.exit_code == 128 + 24


def test_no_control_group_and_no_process_is_left(sandbox: Sandbox, workspace: Path) -> None:
    shell(sandbox, "sleep 30 & sleep 30 & exit 0", workspace)
    shell(sandbox, "sleep 30", workspace, Limits(wall_s=0.2))
    own = f"clawgym-{os.getpid()}-"
    for hierarchy in cgroup.hierarchies():
        assert not [path for path in hierarchy.parent.iterdir() if path.name.startswith(own)]
    assert not [child for child in _children() if "bwrap" in child]


def _children() -> list[str]:
    found = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "comm="], capture_output=True, text=True, check=False
    )
    return found.stdout.split()


def test_nothing_survives_a_killed_runner(workspace: Path) -> None:
    code = "import sys\nfrom pathlib import Path\nfrom assets.sandbox import Limits, Mount, open_sandbox\n"
    code += "beat = 'while :; do date >> beat; sleep 0.05; done'\n"
    code += "open_sandbox('bubblewrap').run(['sh', '-c', f\"setsid sh -c '{beat}' & {beat}\"],"
    code += " mounts=[Mount(Path(sys.argv[1]), '/w', writable=True)], env={}, cwd='/w', limits=Limits(wall_s=60))"
    runner = subprocess.Popen([sys.executable, "-c", code, str(workspace)])
    beat = workspace / "beat"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (beat.exists() and beat.stat().st_size):
        time.sleep(0.05)
    runner.kill()
    runner.wait()
    time.sleep(0.3)
    size = beat.stat().st_size
    time.sleep(0.4)
    assert beat.stat().st_size == size > 0


def test_limits_hold_without_control_groups(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "hierarchies", lambda: ())
    sandbox = Bubblewrap(mode())
    assert "control group" not in sandbox.isolation
    code = "x = [bytearray(10**7) for _ in range(30)]\nimport time\ntime.sleep(5)\nprint('got it')"
    result = python(sandbox, code, workspace, Limits(wall_s=10, memory_bytes=100 * 10**6))
    assert b"got it" not in result.stdout and result.wall_s < 5
    code = "import os, time\nfor _ in range(300):\n try:\n  os.fork() or time.sleep(3)\n except OSError: time.sleep(3)"
    assert python(sandbox, code, workspace, Limits(wall_s=20, processes=20)).wall_s < 12


def test_a_sandbox_in_a_sandbox(workspace: Path) -> None:
    (workspace / "secret").write_text("s")
    inner_workspace = workspace / "inner"
    inner_workspace.mkdir()
    script = "id -u; touch made; cat /workspace/../secret; python3 -c 'import yaml; print(1)'; unshare -Ur id -u"
    inner = sandbox_argv(
        ["sh", "-c", script], mode="userns", inner=True, cwd="/workspace", limits=LIMITS,
        mounts=[Mount(Path("/outer/inner"), "/workspace", writable=True)],
    )  # fmt: skip
    mounts = [Mount(workspace, "/outer", writable=True)]
    result = open_bubblewrap(nested=True).run(inner, mounts=mounts, env={}, cwd="/", limits=LIMITS)
    assert result.stdout.split() == [b"65534", b"1"]
    assert (inner_workspace / "made").exists()


def test_an_unprivileged_user_gets_the_same(workspace: Path) -> None:
    """`userns` mode as a user who is not root, whoever runs the tests."""
    script = "id -u; touch /workspace/x; touch /usr/x; grep -c : /proc/net/dev; unshare -Ur id -u"
    argv = sandbox_argv(["sh", "-c", script], mode="userns", mounts=[Mount(workspace, "/workspace", writable=True)])
    if os.geteuid() == 0:
        hand_over(workspace, "root")
        for folder in workspace.parents:  # pytest's folders are closed to others
            if folder.is_relative_to("/tmp") and folder != Path("/tmp"):
                folder.chmod(0o711)
        argv = _without_root_only_sources(argv)
        argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", *argv]
    done = subprocess.run(argv, capture_output=True, timeout=20, check=False)
    assert done.stdout.split() == [b"65534", b"1"], done.stderr
    assert (workspace / "x").exists()


def _without_root_only_sources(argv: list[str]) -> list[str]:
    """Leaves out mounts whose source another user cannot reach (an interpreter below /root)."""
    kept: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--ro-bind":
            source, target = next(words), next(words)
            if source.startswith(("/usr", "/etc")):
                kept += [word, source, target]
        else:
            kept.append(word)
    return kept


def test_a_missing_bwrap_is_one_plain_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bubblewrap_module.mode.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"bubblewrap is missing .*apt-get install bubblewrap"):
        open_sandbox("bubblewrap")
    bubblewrap_module.mode.cache_clear()


def test_unusable_namespaces_are_one_plain_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    bubblewrap_module.mode.cache_clear()
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SetupError, match=r"No permissions to create new namespace.*user namespaces") as raised:
        open_sandbox("bubblewrap")
    assert "\n" not in str(raised.value)
    bubblewrap_module.mode.cache_clear()


def test_a_mount_that_is_not_there_is_a_setup_error(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="did not start"):
        sandbox.run(["true"], mounts=[Mount(tmp_path / "no", "/no")], env={}, cwd="/", limits=LIMITS)


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(UsageError):
        open_sandbox("chroot")  # type: ignore[arg-type]
