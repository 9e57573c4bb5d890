"""Runs a verifier on a frozen workspace.

Belongs here: the throw-away copy, the placing of the verifier, the run, and the status that comes of it. Does not
belong here: what the protocols mean (`said.py`), where workspaces and verifiers come from, a table.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from assets.grading.place import (
    ENTRIES,
    HARBOR,
    HARBOR_LOGS,
    JUDGE_ONLY,
    PLACE_FILE,
    VERIFIER,
    WORKSPACE,
    Place,
    entry_of,
    place_of,
)
from assets.grading.said import READERS, SaidError, read_harbor
from assets.sandbox.contract import Limits, Mount, Sandbox, SandboxResult
from assets.sandbox.folder import copy_folder, materialise, remove_folder
from lake.errors import SetupError, UsageError

Status = Literal["scored", "verifier_error", "verifier_timeout", "not_gradable"]

_SEVERAL = "/workspaces"
_RUNNER = Path(__file__).with_name("runner.py")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Warning)\b")


@dataclass(frozen=True)
class Grade:
    """Outcome of one verifier run. Scores are null unless `scored`."""

    status: Status
    score_code: float | None
    """Mean of the named checks, or the verifier's own reward where its protocol has one."""
    verifier_reward: float | None
    wrapper_score: float | None
    """What the original reward.sh would have printed, computed without running it; null where there is none."""
    checks: dict[str, float] = field(default_factory=dict)
    detail: str | None = None
    """Why there is no score, in one line."""
    wall_s: float = 0.0


def grade(workspace: Path, reward: Mapping[str, bytes], *, protocol: str, sandbox: Sandbox, limits: Limits) -> Grade:
    """Run the verifier on a writable copy of the workspace, in a sandbox of its own, without network.

    Args:
        workspace: the frozen workspace; it is never changed.
        reward: the verifier package: path (with or without a leading `reward/`) to content.
        protocol: grade_floats | reward_booleans | harbor | judge_only (never gradable by code).

    Raises:
        SetupError: the sandbox or the copy failed. Nothing was learnt about the workspace: not a verdict.
        UsageError: unknown protocol.
    """
    if protocol not in ENTRIES:
        raise UsageError(f"verifier protocol {protocol!r} is unknown; there are {', '.join(ENTRIES)}")
    if not workspace.is_dir():
        return _none("not_gradable", "there is no workspace")
    if protocol == JUDGE_ONLY:
        return _none("not_gradable", "the task has no verifier code; only a judge can score it")
    package = {path.removeprefix("reward/"): data for path, data in reward.items()}
    entry = entry_of(package, protocol)
    if entry is None:
        return _none("verifier_error", f"the verifier package has neither {' nor '.join(ENTRIES[protocol])}")
    place = place_of(package, protocol)
    folder = Path(tempfile.mkdtemp(prefix="clawgym-grade-"))
    try:
        try:
            _lay_out(workspace, {path: data for path, data in package.items() if path != PLACE_FILE}, folder, place)
        except OSError as error:
            raise SetupError(f"cannot lay out a workspace for grading in {folder}: {error}") from error
        except UsageError as error:
            return _none("verifier_error", str(error))
        result = _run(folder, place, protocol, entry, sandbox, limits)
        return read_result(result, protocol, limits, folder / "logs")
    finally:
        remove_folder(folder)


def grade_many(
    workspaces: Sequence[Path], reward: Mapping[str, bytes], *, protocol: str, sandbox: Sandbox, limits: Limits
) -> list[Grade]:
    """Grades of several workspaces by one verifier, all in one sandbox: for workspaces and verifiers of our own.

    Each is graded by a fork of one process, which spares the start of sandbox and Python. They can see each other, so
    nothing that an agent wrote may be among them. Whatever does not score there is graded again by `grade`, whose
    answer holds: errors and timeouts mean the same as ever. Packages that expect a place of their own are graded
    singly.

    Raises:
        SetupError, UsageError: as `grade`.
    """
    package = {path.removeprefix("reward/"): data for path, data in reward.items()}
    entry = entry_of(package, protocol)
    place = place_of(package, protocol)
    found: list[Grade | None] = [None] * len(workspaces)
    if len(workspaces) > 1 and entry is not None and protocol in READERS and place.workspace == WORKSPACE:
        found = _forked(workspaces, package, place, protocol, entry, sandbox, limits)
    return [
        grade(workspace, reward, protocol=protocol, sandbox=sandbox, limits=limits) if given is None else given
        for workspace, given in zip(workspaces, found, strict=True)
    ]


def _forked(
    workspaces: Sequence[Path],
    package: Mapping[str, bytes],
    place: Place,
    protocol: str,
    entry: str,
    sandbox: Sandbox,
    limits: Limits,
) -> list[Grade | None]:
    """The scores there are; null for whatever else."""
    folder = Path(tempfile.mkdtemp(prefix="clawgym-grade-"))
    try:
        (folder / "workspaces").mkdir()
        for number, workspace in enumerate(workspaces):
            copy_folder(workspace, folder / "workspaces" / str(number))
        materialise({f"reward/{path}": data for path, data in package.items()}, folder / "verifier")
        materialise({"runner.py": _RUNNER.read_bytes()}, folder / "verifier")
        inside = [f"{_SEVERAL}/{number}" for number in range(len(workspaces))]
        argv = [sandbox.python, "-I", "-S", f"{VERIFIER}/runner.py", protocol, f"{place.package}/{entry}", inside[0]]
        argv += [f"{limits.wall_s:g}", *inside[1:]]
        mounts = [Mount(folder / "workspaces", _SEVERAL, writable=True), Mount(folder / "verifier", VERIFIER)]
        together = replace(limits, wall_s=limits.wall_s * len(workspaces))
        result = sandbox.run(argv, mounts=mounts, env={}, cwd="/tmp", limits=together)
    except OSError as error:
        raise SetupError(f"cannot lay out workspaces for grading in {folder}: {error}") from error
    except UsageError:
        return [None] * len(workspaces)  # a path of the package: each grade says so
    finally:
        remove_folder(folder)
    answers = result.stdout.decode("utf-8", "replace").splitlines() if result.exit_code == 0 else []
    grades = [_of_answer(answer, protocol, limits) for answer in answers]
    return grades if len(grades) == len(workspaces) else [None] * len(workspaces)


def _of_answer(answer: str, protocol: str, limits: Limits) -> Grade | None:
    try:
        code, said, wall_s = json.loads(answer)
        result = SandboxResult(code, said.encode(), b"", wall_s, timed_out=False, output_cut=False)
        given = read_result(result, protocol, limits, Path())
    except (ValueError, TypeError, AttributeError):
        return None
    return given if given.status == "scored" else None


def _lay_out(workspace: Path, package: Mapping[str, bytes], folder: Path, place: Place) -> None:
    copy_folder(workspace, folder / "workspace")
    if place.package.startswith(place.workspace + "/"):
        # The package is mounted there: what the agent left under that name must be no link or file in its way.
        _clear(folder / "workspace" / place.package.removeprefix(place.workspace + "/"))
    materialise({f"reward/{path}": data for path, data in package.items()}, folder / "verifier")
    materialise({"runner.py": _RUNNER.read_bytes()}, folder / "verifier")
    (folder / "logs").mkdir()


def _clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_folder(path)
    else:
        path.unlink(missing_ok=True)
    path.mkdir()


def _run(folder: Path, place: Place, protocol: str, entry: str, sandbox: Sandbox, limits: Limits) -> SandboxResult:
    mounts = [Mount(folder / "workspace", place.workspace, writable=True)]
    if protocol == HARBOR:
        argv = ["bash", f"{place.package}/{entry}"]
        mounts += [Mount(folder / "verifier/reward", place.package), Mount(folder / "logs", HARBOR_LOGS, writable=True)]
        return sandbox.run(argv, mounts=mounts, env={}, cwd=place.workspace, limits=limits)
    mounts.append(Mount(folder / "verifier", VERIFIER))
    if place.package != f"{VERIFIER}/reward":
        mounts.append(Mount(folder / "verifier/reward", place.package))
    argv = [sandbox.python, "-I", "-S", f"{VERIFIER}/runner.py", protocol, f"{place.package}/{entry}", place.workspace]
    return sandbox.run(argv, mounts=mounts, env={}, cwd="/tmp", limits=limits)


def read_result(result: SandboxResult, protocol: str, limits: Limits, logs: Path) -> Grade:
    """The grade that follows from how the run ended and what it printed, or left in `logs` where its protocol does."""
    if result.timed_out:
        return _none("verifier_timeout", f"the verifier ran longer than {limits.wall_s:g} s", result)
    if result.exit_code == _CPU_EXCEEDED:
        return _none("verifier_timeout", f"the verifier used more than {limits.cpu_s} s of CPU", result)
    if result.limit is not None:
        return _none("verifier_error", f"the verifier passed its limit of {_LIMIT_NAMES[result.limit]}", result)
    if result.exit_code != 0 and protocol != HARBOR:
        code = result.exit_code or 0
        ended = f"died of signal {code - 128}" if code > 128 else f"ended with exit code {code}"
        return _none("verifier_error", f"the verifier {ended}: {_last_line(result.stderr)}", result)
    try:
        said = read_harbor(logs) if protocol == HARBOR else READERS[protocol](result.stdout)
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
    """The line that names the error: the last one like an exception, for processes may have written over each other."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    named = [line for line in lines[-200:] if _EXCEPTION.match(line)]
    return (named or lines)[-1] if lines else "nothing on stderr"
