"""Runs a verifier on a frozen workspace.

Belongs here: the throw-away copy, the placing of the verifier, the run, and the status that comes of it. Does not
belong here: what the protocols mean (`said.py`), where workspaces and verifiers come from, a table.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assets.grading.said import READERS, SaidError
from assets.sandbox.contract import Limits, Mount, Sandbox, SandboxResult
from assets.sandbox.folder import copy_folder, materialise, remove_folder
from lake.errors import SetupError, UsageError

Status = Literal["scored", "verifier_error", "verifier_timeout", "not_gradable"]

WORKSPACE = "/workspace"
"""Where a verifier finds the workspace: where the agent had it."""
VERIFIER = "/opt/clawgym/verifier"
"""Where the verifier package is; outside the workspace, read-only, in no sandbox but this one."""
ENTRIES = ("check.py", "test.py")
"""Names of the verifier itself; the first that is there."""

_RUNNER = Path(__file__).with_name("runner.py")


@dataclass(frozen=True)
class Grade:
    """Outcome of one verifier run. Scores are null unless `scored`."""

    status: Status
    score_code: float | None
    """Mean of the named checks, or the verifier's own reward where its protocol has one."""
    verifier_reward: float | None
    wrapper_score: float | None
    """What the original reward.sh would have printed, computed without running it."""
    checks: dict[str, float] = field(default_factory=dict)
    detail: str | None = None
    """Why there is no score, in one line."""
    wall_s: float = 0.0


def grade(workspace: Path, reward: Mapping[str, bytes], *, protocol: str, sandbox: Sandbox, limits: Limits) -> Grade:
    """Run the verifier on a writable copy of the workspace, in a sandbox of its own, without network.

    Args:
        workspace: the frozen workspace; it is never changed.
        reward: the verifier package: path (with or without a leading `reward/`) to content.
        protocol: grade_floats | reward_booleans.

    Raises:
        SetupError: the sandbox or the copy failed. Nothing was learnt about the workspace: not a verdict.
        UsageError: unknown protocol.
    """
    if protocol not in READERS:
        raise UsageError(f"verifier protocol {protocol!r} is unknown; there are {', '.join(READERS)}")
    if not workspace.is_dir():
        return _none("not_gradable", "there is no workspace")
    package = {path.removeprefix("reward/"): data for path, data in reward.items()}
    entry = next((name for name in ENTRIES if name in package), None)
    if entry is None:
        return _none("verifier_error", f"the verifier package has neither {' nor '.join(ENTRIES)}")
    folder = Path(tempfile.mkdtemp(prefix="clawgym-grade-"))
    try:
        try:
            copy_folder(workspace, folder / "workspace")
            materialise({f"reward/{path}": data for path, data in package.items()}, folder / "verifier")
            materialise({"runner.py": _RUNNER.read_bytes()}, folder / "verifier")
        except OSError as error:
            raise SetupError(f"cannot lay out a workspace for grading in {folder}: {error}") from error
        except UsageError as error:
            return _none("verifier_error", str(error))
        argv = [sandbox.python, "-I", f"{VERIFIER}/runner.py", protocol, f"{VERIFIER}/reward/{entry}", WORKSPACE]
        mounts = [Mount(folder / "workspace", WORKSPACE, writable=True), Mount(folder / "verifier", VERIFIER)]
        result = sandbox.run(argv, mounts=mounts, env={}, cwd="/tmp", limits=limits)
    finally:
        remove_folder(folder)
    return read_result(result, protocol, limits)


def read_result(result: SandboxResult, protocol: str, limits: Limits) -> Grade:
    """The grade that follows from how the run ended and what it printed."""
    if result.timed_out:
        return _none("verifier_timeout", f"the verifier ran longer than {limits.wall_s:g} s", result)
    if result.exit_code == _CPU_EXCEEDED:
        return _none("verifier_timeout", f"the verifier used more than {limits.cpu_s} s of CPU", result)
    if result.limit is not None:
        return _none("verifier_error", f"the verifier passed its limit of {_LIMIT_NAMES[result.limit]}", result)
    if result.exit_code != 0:
        code = result.exit_code or 0
        ended = f"died of signal {code - 128}" if code > 128 else f"ended with exit code {code}"
        return _none("verifier_error", f"the verifier {ended}: {_last_line(result.stderr)}", result)
    try:
        said = READERS[protocol](result.stdout)
    except SaidError as error:
        return _none("verifier_error", str(error), result)
    except (ValueError, TypeError) as error:
        return _none("verifier_error", f"the verifier's result was cut or overwritten: {error}", result)
    return Grade("scored", said.score_code, said.reward, said.wrapper_score, said.checks, wall_s=result.wall_s)


_CPU_EXCEEDED = 128 + 24
_LIMIT_NAMES = {
    "wall": "time",
    "memory": "memory",
    "processes": "processes",
    "output": "output",
    "disk": "disk space",
}


def _none(status: Status, detail: str, result: SandboxResult | None = None) -> Grade:
    line = " ".join(detail.split())
    return Grade(status, None, None, None, detail=line[:400], wall_s=result.wall_s if result else 0.0)


def _last_line(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1] if lines else "nothing on stderr"
