"""Verifiers that misbehave: contained, named, and none of them yields a score."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.grading import Grade, grade
from assets.sandbox import Limits, Sandbox, open_sandbox
from assets.sandbox.folder import materialise

LIMITS = Limits(wall_s=8, cpu_s=6, memory_bytes=300 * 10**6, processes=24, output_bytes=10**6, file_bytes=4 * 10**6)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_sandbox("bubblewrap")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    materialise({"output/a.txt": b"x"}, tmp_path / "w")
    return tmp_path / "w"


def run(sandbox: Sandbox, workspace: Path, files: dict[str, str], protocol: str) -> Grade:
    package = {path: text.encode() for path, text in files.items()}
    return grade(workspace, package, protocol=protocol, sandbox=sandbox, limits=LIMITS)


SCORE = "import json\nprint(json.dumps({'reward': 1.0, 'a': True}), flush=True)\n"
SCRIPTS = {
    "fork bomb": ("import os\nwhile True:\n    os.fork()\n", ("Resource", "processes", "memory", "signal", "CPU")),
    "10 GB file": (
        "f = open('/workspace/big', 'wb')\nwhile True:\n    f.write(bytes(10**6))\n", ("File too large", "signal 25"),
    ),
    "10 GB in /tmp": (
        "for n in range(2600):\n    open(f'/tmp/{n}', 'wb').write(bytes(4 * 10**6 - 1))\n" + SCORE,
        ("No space left", "memory"),
    ),
    "endless output": ("while True:\n    print('x' * 10000)\n", ("limit of output",)),
    "endless errors": ("import sys\nwhile True:\n    sys.stderr.write('x' * 10000)\n", ("limit of output",)),
    "network": ("import socket\nsocket.create_connection(('192.0.2.1', 80), 2)\n" + SCORE, ("Network is unreachable",)),
    "reading outside": ("open('/etc/shadow').read()\n" + SCORE, ("No such file", "Permission denied")),
    "host files": ("import os\nos.listdir('/home')[0]\n" + SCORE, ("No such file", "IndexError", "Permission denied")),
    "score elsewhere": (
        "import json\nfor p in ('/workspace/reward.txt', '/tmp/reward.json'):\n"
        "    open(p, 'w').write(json.dumps({'reward': 1.0}))\n", ("nothing on stdout",),
    ),
    "score on stderr": ("import sys\nprint('{\"reward\": 1.0}', file=sys.stderr)\n", ("nothing on stdout",)),
    "its own package": ("open(__file__, 'a').write('#')\n" + SCORE, ("Read-only file system", "Permission denied")),
    "NaN": ("print('{\"reward\": NaN}')\n", ("NaN is not JSON",)),
    "1e309": ("print('{\"reward\": 1e309}')\n", ("not a finite number",)),
    "text after the score": (SCORE + "print('done')\n", ("no JSON object: done",)),
    "exit code": (SCORE + "raise SystemExit(3)\n", ("exit code 3",)),
    "killed after the score": (SCORE + "import os\nos.kill(os.getpid(), 9)\n", ("signal 9",)),
    "hang after the score": (SCORE + "import time\ntime.sleep(60)\n", ("longer than 8 s",)),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_misbehaving_script_is_contained_and_named(sandbox: Sandbox, workspace: Path, name: str) -> None:
    source, reasons = SCRIPTS[name]
    found = run(sandbox, workspace, {"check.py": source}, "reward_booleans")
    assert found.status in ("verifier_error", "verifier_timeout")
    assert (found.score_code, found.verifier_reward, found.wrapper_score, found.checks) == (None, None, None, {})
    assert any(reason in (found.detail or "") for reason in reasons), found.detail


def test_planted_start_files_are_not_run(sandbox: Sandbox, workspace: Path) -> None:
    """Neither in the workspace nor in its `reward/`, where a published verifier runs."""
    planted = b"import os\nos.write(1, b'{\"reward\": 1.0}\\n')\nos._exit(0)\n"
    names = ("sitecustomize.py", "usercustomize.py", "json.py", "python3", "reward/sitecustomize.py", "reward/json.py")
    materialise(dict.fromkeys(names, planted), workspace)
    source = "# /root/.openclaw/workspace\nimport json\nprint(json.dumps({'reward': 0.0, 'a': False}))\n"
    found = run(sandbox, workspace, {"check.py": source}, "reward_booleans")
    assert (found.status, found.score_code) == ("scored", 0.0)


HARBOR = {
    "nothing": ("true", "left no reward.txt"),
    "text": ("echo well done > /logs/verifier/reward.txt", "is no number"),
    "NaN": ("echo nan > /logs/verifier/reward.txt", "not a finite number"),
    "too much": ("echo 2 > /logs/verifier/reward.txt", "outside 0 to 1"),
    "link": ("ln -s /etc/passwd /logs/verifier/reward.txt", "no plain file"),
    "pipe": ("mkfifo /logs/verifier/reward.txt", "no plain file"),
    "folder": ("mkdir /logs/verifier/reward.json", "no plain file"),
    "long": ("head -c 100000 /dev/zero > /logs/verifier/reward.txt", "more than"),
    "elsewhere": ("echo 1 > /tmp/reward.txt; echo 1", "left no reward.txt"),
    "boolean": ("echo '{\"reward\": true}' > /logs/verifier/reward.json", "not a number"),
    "list": ("echo '[1]' > /logs/verifier/reward.json", "no object of numbers"),
    "broken": ("echo '{' > /logs/verifier/reward.json", "is no JSON"),
}


@pytest.mark.parametrize("name", HARBOR)
def test_a_harbor_verifier_that_leaves_no_score_has_none(sandbox: Sandbox, workspace: Path, name: str) -> None:
    script, reason = HARBOR[name]
    found = run(sandbox, workspace, {"test.sh": f"{script}\n"}, "harbor")
    assert found.status == "verifier_error" and found.score_code is None
    assert reason in (found.detail or ""), found.detail


def test_a_harbor_reward_of_several_numbers_keeps_them(sandbox: Sandbox, workspace: Path) -> None:
    line = 'echo \'{"reward": 0.25, "tests": 0.5, "style": 0}\' > /logs/verifier/reward.json; exit 1'
    found = run(sandbox, workspace, {"test.sh": line}, "harbor")
    assert (found.status, found.score_code, found.checks) == ("scored", 0.25, {"tests": 0.5, "style": 0.0})
