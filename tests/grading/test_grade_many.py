"""Several workspaces in one sandbox: the same grades as one by one, whatever the verifier does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from assets.audits.probes import plan
from assets.grading import Grade, grade, grade_many
from assets.profile import AuditsSection
from assets.sandbox import Limits, Mount, Sandbox, SandboxResult, open_sandbox
from assets.sandbox.folder import materialise, snapshot
from assets.tasks import TaskBundle
from tests.tasks.runner import FAMILIES, bundle

LIMITS = Limits(wall_s=20)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_sandbox("bubblewrap")


@dataclass
class Counting:
    """A sandbox that counts its runs."""

    inner: Sandbox
    runs: int = 0

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def python(self) -> str:
        return self.inner.python

    @property
    def isolation(self) -> str:
        return self.inner.isolation

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
        self.runs += 1
        return self.inner.run(argv, mounts=mounts, env=env, cwd=cwd, limits=limits, stdin=stdin)


def what(given: Grade) -> tuple[object, ...]:
    """All of a grade but its time."""
    return (given.status, given.score_code, given.verifier_reward, given.wrapper_score, given.checks, given.detail)


def places(task: TaskBundle, folder: Path, limit: int) -> list[Path]:
    """Workspaces of the probes of a task, from worthless to solved."""
    found = []
    probes = plan(task, AuditsSection()).probes
    for number, probe in enumerate(probes[:5] + probes[5 :: max(1, len(probes) // limit)]):
        materialise(probe.files, folder / str(number))
        found.append(folder / str(number))
    return found


@pytest.mark.parametrize("name", [FAMILIES[0], "bugfix_package", "rollup_tool"])
def test_together_as_one_by_one(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    task = bundle(name, 1)
    workspaces = places(task, tmp_path, 6)
    before = [snapshot(place, limit_bytes=10**7) for place in workspaces]
    counting = Counting(sandbox)
    together = grade_many(workspaces, task.reward, protocol=task.verifier_protocol, sandbox=counting, limits=LIMITS)
    assert counting.runs == 1 + sum(given.status != "scored" for given in together)
    singly = [
        grade(place, task.reward, protocol=task.verifier_protocol, sandbox=sandbox, limits=LIMITS)
        for place in workspaces
    ]
    assert [what(given) for given in together] == [what(given) for given in singly]
    assert len({given.score_code for given in together}) > 1
    assert [snapshot(place, limit_bytes=10**7) for place in workspaces] == before


ODD = """import json, os, pathlib, signal, subprocess, sys, time

STATE = []

def grade(transcript, workspace_path):
    root = pathlib.Path(workspace_path)
    kind = (root / "kind").read_text()
    STATE.append(kind)
    if kind == "raise":
        raise KeyError("amount")
    if kind == "exit":
        os._exit(0)
    if kind == "hang":
        time.sleep(60)
    if kind == "nan":
        return {"a": float("nan")}
    if kind == "much":
        return {f"{n:0200d}": 1.0 for n in range(2000)}
    if kind == "child":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    if kind == "kill":
        os.kill(os.getppid(), signal.SIGKILL)
    return {"a": 0.5, "alone": float(STATE == [kind])}
"""


def test_what_does_not_score_together_is_told_as_ever(sandbox: Sandbox, tmp_path: Path) -> None:
    kinds = ["fine", "raise", "exit", "hang", "nan", "much", "child", "fine"]
    limits = Limits(wall_s=2)
    workspaces = []
    for number, kind in enumerate(kinds):
        materialise({"kind": kind.encode()}, tmp_path / str(number))
        workspaces.append(tmp_path / str(number))
    reward = {"check.py": ODD.encode()}
    counting = Counting(sandbox)
    found = grade_many(workspaces, reward, protocol="grade_floats", sandbox=counting, limits=limits)
    assert counting.runs == 6  # together, then raise, exit, hang, nan, much
    said = [given.status.removeprefix("verifier_") for given in found]
    assert said == ["scored", "error", "error", "timeout", "error", "scored", "scored", "scored"]
    assert "KeyError: 'amount'" in (found[1].detail or "") and "2 s" in (found[3].detail or "")
    assert found[0].checks == found[7].checks == {"a": 0.5, "alone": 1.0} and len(found[5].checks) == 2000


def test_a_verifier_that_kills_the_others_changes_no_grade(sandbox: Sandbox, tmp_path: Path) -> None:
    for number, kind in enumerate(("fine", "kill", "fine")):
        materialise({"kind": kind.encode()}, tmp_path / str(number))
    workspaces = [tmp_path / str(number) for number in range(3)]
    found = grade_many(
        workspaces, {"check.py": ODD.encode()}, protocol="grade_floats", sandbox=sandbox, limits=Limits(wall_s=5)
    )
    assert found[0].checks == found[2].checks == {"a": 0.5, "alone": 1.0}


def test_a_package_with_a_place_of_its_own_and_none_are_graded_singly(sandbox: Sandbox, tmp_path: Path) -> None:
    check = (
        b"# /root/.openclaw/workspace\ndef grade(t, w):\n    return {'at': float(w == '/root/.openclaw/workspace')}\n"
    )
    for number in range(2):
        materialise({"a": b"x"}, tmp_path / str(number))
    workspaces = [tmp_path / "0", tmp_path / "1"]
    found = grade_many(workspaces, {"check.py": check}, protocol="grade_floats", sandbox=sandbox, limits=LIMITS)
    assert [given.score_code for given in found] == [1.0, 1.0]
    assert grade_many([], {"check.py": check}, protocol="grade_floats", sandbox=sandbox, limits=LIMITS) == []
    broken = grade_many(workspaces, {"check.py": b"def ("}, protocol="grade_floats", sandbox=sandbox, limits=LIMITS)
    assert {given.status for given in broken} == {"verifier_error"} and "SyntaxError" in (broken[0].detail or "")
