"""Real verifiers in the real sandbox: both protocols, and every way to break them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from assets.grading import Grade, grade
from assets.sandbox import Limits, Mount, Sandbox, open_sandbox
from assets.sandbox.folder import materialise, snapshot
from lake.errors import UsageError

LIMITS = Limits(wall_s=10, memory_bytes=300 * 10**6, processes=24, output_bytes=10**6)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_sandbox("bubblewrap")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    materialise({"input/a.csv": b"x\n1\n2\n", "output/total.json": b'{"total": 3}'}, tmp_path / "w")
    return tmp_path / "w"


def floats(sandbox: Sandbox, workspace: Path, body: str, limits: Limits = LIMITS, **more: bytes) -> Grade:
    source = "import json, pathlib, sys\n\ndef grade(transcript, workspace_path):\n"
    source += "".join(f"    {line}\n" for line in body.splitlines())
    reward = {"check.py": source.encode(), **{f"{name}.py": data for name, data in more.items()}}
    return grade(workspace, reward, protocol="grade_floats", sandbox=sandbox, limits=limits)


def booleans(sandbox: Sandbox, workspace: Path, source: str, limits: Limits = LIMITS) -> Grade:
    return grade(workspace, {"check.py": source.encode()}, protocol="reward_booleans", sandbox=sandbox, limits=limits)


HONEST = """root = pathlib.Path(workspace_path)
rows = (root / "input/a.csv").read_text().split()[1:]
found = json.loads((root / "output/total.json").read_text())
return {"total": float(found["total"] == sum(map(int, rows))), "note": 0.0, "half": 0.5}"""


def test_grade_floats_is_the_mean_of_its_checks(sandbox: Sandbox, workspace: Path) -> None:
    found = floats(sandbox, workspace, HONEST)
    assert found.status == "scored" and found.detail is None
    assert found.checks == {"total": 1.0, "note": 0.0, "half": 0.5}
    assert found.score_code == found.wrapper_score == 0.5
    assert found.verifier_reward is None and found.wall_s > 0


def test_reward_booleans_keeps_its_own_reward_and_the_wrapper_s_other_mean(sandbox: Sandbox, workspace: Path) -> None:
    found = booleans(
        sandbox,
        workspace,
        "import json\nprint('log')\nprint(json.dumps({'reward': 0.25, 'a': True, 'b': True, 'c': False}))",
    )
    assert found.status == "scored"
    assert found.checks == {"a": 1.0, "b": 1.0, "c": 0.0}
    assert found.score_code == found.verifier_reward == 0.25
    assert found.wrapper_score == pytest.approx((0.25 + 1 + 1 + 0) / 4)


@pytest.mark.parametrize(
    "printed",
    ['{"a": 1.0, "b": 0.0, "c": 0.25}', '{"reward": 0.5, "x": true, "y": false}', '{"reward": 1, "x": true}'],
)
def test_wrapper_score_is_what_a_wrapper_prints(sandbox: Sandbox, workspace: Path, printed: str) -> None:
    """Parity: the described wrapper (mean of all values of the JSON object check.py prints), run for real as a CLI."""
    body = f"import json\nVALUES = json.loads('{printed}')\ndef grade(transcript, workspace_path):\n    return VALUES\n"
    body += "if __name__ == '__main__':\n    print(json.dumps(grade([], '.')))\n"
    (workspace / "check.py").write_text(body)
    wrapper = "import json, subprocess, sys\nout = subprocess.run([sys.executable, 'check.py'], capture_output=True)\n"
    wrapper += "values = json.loads(out.stdout.splitlines()[-1]).values()\nprint(sum(map(float, values)) / len(values))"

    ran = sandbox.run([sandbox.python, "-c", wrapper], mounts=[Mount(workspace, "/w")], env={}, cwd="/w", limits=LIMITS)
    protocol = "reward_booleans" if "reward" in printed else "grade_floats"
    ours = grade(workspace, {"check.py": body.encode()}, protocol=protocol, sandbox=sandbox, limits=LIMITS)
    assert ours.wrapper_score == pytest.approx(float(ran.stdout))


BROKEN_FLOATS = {
    "return {'a': float('nan')}": "nan, not a finite number",
    "return {'a': 1e309}": "inf, not a finite number",
    "return {'a': 1.0001}": "outside 0 to 1",
    "return {'a': -0.5}": "outside 0 to 1",
    "return {'a': True}": "is a bool, not a number",
    "return {'a': '1'}": "is a str, not a number",
    "return {'a': 10**400}": "OverflowError",
    "return {}": "gave no check",
    "return None": "gave NoneType, not a dict",
    "return {1: 1.0}": "which is no string",
    "return {'a': 1.0, 'b': json.loads('{')}": "JSONDecodeError",
    "raise KeyError('amount')": "KeyError: 'amount'",
    "sys.exit(0)": "ended the process instead of returning",
    "import os; os._exit(0)": "cut or overwritten",
    "import os; os._exit(7)": "exit code 7",
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": "died of signal 11",
    "def f(): f()\nf()": "RecursionError",
}


@pytest.mark.parametrize("body", BROKEN_FLOATS)
def test_a_broken_grade_is_an_error_with_a_reason_never_a_zero(sandbox: Sandbox, workspace: Path, body: str) -> None:
    found = floats(sandbox, workspace, body)
    assert found.status == "verifier_error"
    assert (found.score_code, found.verifier_reward, found.wrapper_score, found.checks) == (None, None, None, {})
    assert found.detail is not None and BROKEN_FLOATS[body] in found.detail and "\n" not in found.detail


BROKEN_BOOLEANS = {
    "print('{\"reward\": NaN}')": "NaN is not JSON",
    "print('{\"reward\": 1e309}')": "inf, not a finite number",
    "print('{\"reward\": 2}')": "outside 0 to 1",
    "print('{\"reward\": true}')": "not a number",
    'print(\'{"reward": "1"}\')': "not a number",
    'print(\'{"reward": 1, "reward": 0}\')': "'reward' is repeated",
    'print(\'{"reward": 1, "a": true, "a": false}\')': "'a' is repeated",
    'print(\'{"a": true, "reward": 1}\')': "first key is 'a'",
    "print('{\"a\": true}')": "first key is 'a'",
    'print(\'{"reward": 1, "a": 0.5}\')': "check 'a' is 0.5, not a boolean",
    'print(\'{"reward": 1, "a": null}\')': "check 'a' is null, not a boolean",
    "print('{}')": "empty",
    "print('0.7')": "a JSON float, not an object",
    "print('[1]')": "a JSON list, not an object",
    "print('{\"reward\": 1}'); print('done')": "no JSON object: done",
    "print('{\"reward\": 1}'); raise SystemExit(2)": "exit code 2",
    "print('{\"reward\": 1}'); raise ValueError('late')": "ValueError: late",
    "print('{\"reward\": 1}'); raise SystemExit('a message')": "a message",
    "pass": "nothing on stdout",
    "print('[' * 100000)": "no JSON object",
    "import no_such_module": "ModuleNotFoundError",
    "this is no Python": "SyntaxError",
}


@pytest.mark.parametrize("source", BROKEN_BOOLEANS)
def test_a_broken_script_is_an_error_with_a_reason_never_a_zero(sandbox: Sandbox, workspace: Path, source: str) -> None:
    found = booleans(sandbox, workspace, source)
    assert found.status == "verifier_error" and found.score_code is None and found.checks == {}
    assert found.detail is not None and BROKEN_BOOLEANS[source] in found.detail and "\n" not in found.detail


def test_a_hang_is_a_timeout_and_not_an_error_of_the_agent(sandbox: Sandbox, workspace: Path) -> None:
    body = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"
    found = floats(sandbox, workspace, body, Limits(wall_s=0.7))
    assert found.status == "verifier_timeout" and found.score_code is None
    assert found.detail == "the verifier ran longer than 0.7 s"
    busy = floats(sandbox, workspace, "while True: pass", Limits(wall_s=20, cpu_s=1))
    assert busy.status == "verifier_timeout" and "CPU" in (busy.detail or "")


HUNGRY = {
    "while True: print('x' * 1000)": "output",
    "x = [bytearray(10**7) for _ in range(100)]": "memory",
    "import subprocess\nbomb = 'import os\\nwhile True:\\n try: os.fork()\\n except OSError: pass'\n"
    "open('/tmp/f.py', 'w').write(bomb)\n"
    "subprocess.run([sys.executable, '/tmp/f.py'], timeout=1)": "TimeoutExpired",
    "open(workspace_path + '/big', 'wb').truncate(10**12)": "File too large",
}


@pytest.mark.parametrize("body", HUNGRY)
def test_a_verifier_out_of_bounds_is_an_error(sandbox: Sandbox, workspace: Path, body: str) -> None:
    found = floats(sandbox, workspace, body)
    assert found.status == "verifier_error" and found.score_code is None
    assert HUNGRY[body] in (found.detail or "") or "MemoryError" in (found.detail or "")


def test_the_frozen_workspace_is_never_changed(sandbox: Sandbox, workspace: Path) -> None:
    before = snapshot(workspace, limit_bytes=10**6)
    body = "root = pathlib.Path(workspace_path)\n(root / 'output/total.json').write_text('changed')\n"
    body += "(root / 'new').write_text('x')\n(root / 'input/a.csv').unlink()\n"
    body += "return {'writable': float((root / 'new').read_text() == 'x')}"
    assert floats(sandbox, workspace, body).checks == {"writable": 1.0}
    assert snapshot(workspace, limit_bytes=10**6) == before


def test_network_and_host_are_out_of_reach(sandbox: Sandbox, workspace: Path) -> None:
    (workspace.parent / "secret").write_text("s")
    outside = str(workspace.parent / "secret")
    body = "import os, socket\ntry:\n    socket.create_connection(('192.0.2.1', 80), 1)\n    net = 0.0\n"
    body += (
        f"except OSError:\n    net = 1.0\nreturn {{'no_net': net, 'no_host': float(not os.path.exists({outside!r}))}}"
    )
    assert floats(sandbox, workspace, body).checks == {"no_net": 1.0, "no_host": 1.0}


def test_files_planted_by_the_agent_are_not_imported(sandbox: Sandbox, workspace: Path) -> None:
    planted = b"import os\nos.write(1, b'[[\"a\", 1.0]]\\n')\nos._exit(0)\n"
    names = (
        "json.py",
        "sitecustomize.py",
        "usercustomize.py",
        "pathlib.py",
        "yaml.py",
        "python3",
        "check.py",
        "csv.py",
    )
    materialise(dict.fromkeys(names, planted) | {"output/json.py": planted}, workspace)
    body = "import csv, yaml, os\nos.chdir(workspace_path)\nimport xml.dom\nreturn {'honest': 0.25}"
    assert floats(sandbox, workspace, body).checks == {"honest": 0.25}
    found = booleans(sandbox, workspace, "import json, csv, yaml\nprint(json.dumps({'reward': 0.5, 'a': False}))")
    assert found.score_code == 0.5


def test_a_script_of_the_agent_cannot_print_a_score(sandbox: Sandbox, workspace: Path) -> None:
    """The verifier runs the agent's program; the program prints what a verifier would, to every descriptor it has."""
    fake = {"grade_floats": '[["a", 1.0]]', "reward_booleans": '{"reward": 1.0, "a": true}'}
    for protocol, line in fake.items():
        program = "import glob, os, sys, time\n"
        program += f"for n in range(1, 30):\n try: os.write(n, {(line + chr(10)).encode()!r})\n except OSError: pass\n"
        program += "for p in glob.glob('/proc/[0-9]*/fd/*'):\n"
        program += f" try: open(p, 'w').write({line + chr(10)!r})\n except OSError: pass\n"
        program += "if os.fork() == 0:\n os.setsid(); time.sleep(0.3)\n"
        program += f" try: os.write(1, {(line + chr(10)).encode()!r})\n except OSError: pass\n"
        (workspace / "agent.py").write_text(program)
        run = "subprocess.run([sys.executable, workspace + '/agent.py'])"
        if protocol == "grade_floats":
            source = f"import subprocess, sys\ndef grade(t, workspace):\n    {run}\n    return {{'a': 0.0}}\n"
        else:
            source = f"import subprocess, sys, json\nworkspace = sys.argv[1]\n{run}\n"
            source += "print(json.dumps({'reward': 0.0, 'a': False}))\n"
        found = grade(workspace, {"check.py": source.encode()}, protocol=protocol, sandbox=sandbox, limits=LIMITS)
        assert found.score_code == 0.0, (protocol, found)


def test_links_out_of_the_workspace_lead_nowhere(sandbox: Sandbox, workspace: Path) -> None:
    secret = workspace.parent / "oracle.json"
    secret.write_text('{"total": 3}')
    (workspace / "output" / "total.json").unlink()
    (workspace / "output" / "total.json").symlink_to(secret)
    (workspace / "up").symlink_to("../oracle.json")
    (workspace / "verifier").symlink_to("/opt/clawgym/verifier")
    body = "root = pathlib.Path(workspace_path)\n"
    body += "return {'a': float((root / 'output/total.json').exists()), 'b': float((root / 'up').exists())}"
    assert floats(sandbox, workspace, body).checks == {"a": 0.0, "b": 0.0}


def test_the_verifier_s_own_modules_and_files_are_beside_it(sandbox: Sandbox, workspace: Path) -> None:
    body = "import helper\nhere = pathlib.Path(__file__).parent\n"
    body += "return {'a': helper.VALUE, 'outside': float(not here.is_relative_to(workspace_path))}"
    assert floats(sandbox, workspace, body, helper=b"VALUE = 0.5\n").checks == {"a": 0.5, "outside": 1.0}


@pytest.mark.parametrize(
    "names", [("check.py",), ("test.py",), ("reward/check.py",), ("reward/test.py", "reward/reward.sh")]
)
def test_spellings_of_the_package_are_understood(sandbox: Sandbox, workspace: Path, names: tuple[str, ...]) -> None:
    reward: Mapping[str, bytes] = dict.fromkeys(names, b"def grade(t, w):\n    return {'a': 1.0}\n")
    assert grade(workspace, reward, protocol="grade_floats", sandbox=sandbox, limits=LIMITS).score_code == 1.0


def test_what_cannot_be_graded_says_why(sandbox: Sandbox, workspace: Path) -> None:
    no_folder = grade(workspace / "no", {"check.py": b""}, protocol="grade_floats", sandbox=sandbox, limits=LIMITS)
    assert (no_folder.status, no_folder.score_code) == ("not_gradable", None)
    no_check = grade(workspace, {"x.py": b""}, protocol="grade_floats", sandbox=sandbox, limits=LIMITS)
    assert no_check.status == "verifier_error"
    with pytest.raises(UsageError, match="grade_floats, reward_booleans"):
        grade(workspace, {}, protocol="other", sandbox=sandbox, limits=LIMITS)


def test_the_process_sandbox_grades_too(workspace: Path) -> None:
    (workspace / "json.py").write_text("raise SystemExit(9)")
    plain = open_sandbox("process")
    assert floats(plain, workspace, HONEST).score_code == 0.5
    assert booleans(plain, workspace, 'print(\'{"reward": 0.5, "a": true}\')').wrapper_score == 0.75
    assert floats(plain, workspace, "import time\ntime.sleep(60)", Limits(wall_s=0.5)).status == "verifier_timeout"


def test_odd_check_names_survive(sandbox: Sandbox, workspace: Path) -> None:
    names = ["ä €", "a\nb", '"quoted"', "'; drop table verdicts; --", "\udcff"]
    found = floats(sandbox, workspace, f"return {{name: 1.0 for name in {names!r}}}")
    assert found.status == "scored" and len(found.checks) == 5
    json.dumps(found.checks, ensure_ascii=False, allow_nan=False)
