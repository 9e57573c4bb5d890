"""The agent's commands see the workspace and system files, and nothing of what runs them."""

from __future__ import annotations

import pytest

from assets.rollouts import attempt_folder
from assets.rollouts.cage.bubblewrap import BubblewrapCage
from assets.tasks.plan import Step
from tests.rollouts.conftest import MakeContext
from tests.rollouts.handmade import bundle
from tests.rollouts.runs import plan_of, run, tool_results

pytestmark = pytest.mark.openclaw

CONNECT = """python3 - <<'PY'
import socket
for family, address in ((socket.AF_UNIX, "/run/model.sock"), (socket.AF_INET, ("127.0.0.1", 18080))):
    try:
        socket.socket(family, socket.SOCK_STREAM).connect(address)
        print("REACHED", address)
    except OSError as error:
        print("refused", type(error).__name__)
PY"""


def command(line: str, **more: object) -> Step:
    return Step("exec", {"command": f"{line}; true", **more}, "run")


STEPS = {
    "places": command("for p in /state /cfg /scratch /opt/openclaw /opt/agent /opt/node /run/model.sock /root/.ssh; do"
                      " ls -d $p 2>/dev/null; done; echo end"),
    "connect": command(CONNECT + "\n"),
    "descriptors": command("ls -l /proc/self/fd"),
    "environment": command("env | sort"),
    "processes": command("cat /proc/[0-9]*/comm | sort | uniq -c"),
    "network": command("cat /proc/net/dev | tail -n +3 | cut -d: -f1"),
    "outside": command("for p in / /etc /usr /usr/local/bin /opt /var /proc/sys/kernel; do"
                       " touch $p/mark 2>/dev/null && echo WROTE $p; done; echo end"),
    "verifier": command("find / -name check.py -not -path '*/lib/python3*' -not -path '/proc/*' -not -path '/usr/*'"
                        " 2>/dev/null; echo end"),
    "privileges": command("grep -E '^(CapEff|NoNewPrivs)' /proc/self/status;"
                          " unshare -U true 2>/dev/null && echo NESTED"),
    "preload": command("echo ran", env={"LD_PRELOAD": "/workspace/evil.so"}),
    "function": command("echo ran", env={"BASH_FUNC_exec%%": "() { echo HIJACKED; }", "BASH_ENV": "/workspace/e"}),
    "node_options": command("echo $NODE_OPTIONS ran", env={"NODE_OPTIONS": "--require=/workspace/evil.js"}),
    "code_cache": command("echo ran", env={"NODE_COMPILE_CACHE": "/workspace/code-cache"}),
    "locale": command("echo ran", env={"GCONV_PATH": "/workspace", "LOCPATH": "/workspace"}),
    "given": command("echo value=$MINE", env={"MINE": "a b"}),
    "workdir": command("pwd", workdir="/state"),
    "folder": command("mkdir -p sub && pwd", workdir="/workspace/data"),
    "massacre": command("kill -9 -1 2>/dev/null; echo survived"),
    "daemon": command("(setsid sh -c 'sleep 1; touch /workspace/late' >/dev/null 2>&1 &) ; echo left"),
    "scratch": command("echo kept > /tmp/note; echo kept > ~/note"),
    "scratch_again": command("cat /tmp/note ~/note"),
    "link": command("ln -s /state escape; ln -s /state/task.md task; ln -s /cfg/openclaw.json cfg"),
    "read_link": Step("read", {"path": "escape/task.md", "optional": True}, "read"),
    "read_file_link": Step("read", {"path": "cfg", "optional": True}, "read"),
    "terminal": command("ls -d /state /scratch 2>&1", pty=True),
    "workspace": Step("exec", {"command": "sleep 1; echo mine > made.txt && cat made.txt"}, "run"),
}  # fmt: skip


def test_commands_reach_nothing_but_the_workspace(make_context: MakeContext) -> None:
    context = make_context()
    # A refused step would send the teacher looking around: weak@1 goes on, and takes no other liberty with this plan.
    ran = run(context, [bundle(plan_of(*STEPS.values()), task_id="attacks")], ["scripted:weak"])
    attempt_id = ran.planned[0].attempt_id
    said = dict(zip(STEPS, tool_results(context, attempt_id), strict=True))
    assert said["places"].strip() == "end"
    assert "REACHED" not in said["connect"] and said["connect"].count("refused") == 2
    assert [line.split()[8] for line in said["descriptors"].splitlines() if "->" in line] == ["0", "1", "2", "3"], (
        "the standard ones, and the folder it lists"
    )
    names = {line.split("=")[0] for line in said["environment"].splitlines() if "=" in line}
    assert names <= {"HOME", "LANG", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "TZ", "USER", "_"}, said["environment"]
    assert not {"node", "openclaw", "MainThread"} & set(said["processes"].split())
    assert said["network"].split() == ["lo"]
    assert said["outside"].strip() == "end"
    assert said["verifier"].strip() == "end"
    assert "CapEff:\t0000000000000000" in said["privileges"] and "NESTED" not in said["privileges"]
    assert "NoNewPrivs:\t1" in said["privileges"]
    for name in ("preload", "function", "node_options", "locale"):
        assert "Security Violation" in said[name], "OpenClaw itself refuses what would act before our shell"
    assert "value=a b" in said["given"]
    assert said["workdir"].strip() == "/workspace"
    assert said["folder"].strip() == "/workspace/data"
    assert said["scratch_again"].split() == ["kept", "kept"]
    assert "escapes sandbox root" in said["read_link"] and "escapes sandbox root" in said["read_file_link"]
    assert said["terminal"].count("No such file") == 2
    assert said["workspace"].strip() == "mine"

    files = {row["path"]: row for row in context.lake.rows("final_files")}
    assert files["made.txt"]["change"] == "added"
    assert "late" not in files, "a command's leftovers die with it"
    assert not any(path.startswith("code-cache") for path in files), "no node outside took the variable"
    assert files["escape"]["kind"] == "symlink"
    assert not (attempt_folder(context.lake, attempt_id) / "scratch").exists()


def test_the_probe_runs_both_layers() -> None:
    BubblewrapCage().probe()
