"""Trials of a verifier while it is written, and the run of a solution: both in the sandbox, never on this machine.

Belongs here: the workspaces it is tried on and what each must earn, as findings a model can act on. Does not belong
here: the audits of a finished task (`assets/audits`), which try more.
"""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assets.grading import Grade, grade
from assets.sandbox import Limits, Mount, Sandbox
from assets.sandbox.folder import materialise, remove_folder, snapshot
from assets.tasks import worthless
from assets.tasks.bundle import TaskBundle
from lake.errors import SetupError

EXACT: Final = 1e-9
_OUTPUT_LIMIT: Final = 4_000_000
_RUNS_CODE: Final = {"exec", "eval", "compile", "__import__"}
_RUNNERS: Final = {
    "importlib.import_module", "importlib.util.spec_from_file_location", "runpy.run_path", "runpy.run_module",
    "sys.path.insert", "sys.path.append", "subprocess.run", "subprocess.Popen", "subprocess.check_output", "os.system",
}  # fmt: skip


@dataclass(frozen=True)
class Bench:
    """Where trials run."""

    sandbox: Sandbox
    limits: Limits
    worthless_below: float


@dataclass(frozen=True)
class Solved:
    """What a solution left."""

    outputs: Mapping[str, bytes]
    """New and changed files."""
    problems: tuple[str, ...]


def source_problems(code: str) -> list[str]:
    """What can be seen in a verifier without running it."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError) as error:
        return [f"the code does not compile: {error}"]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in _RUNNERS or (isinstance(node.func, ast.Name) and called in _RUNS_CODE):
                found.append(f"line {node.lineno} calls {called}: a verifier runs no code of the workspace")
    return sorted(set(found))


def trial_problems(bundle: TaskBundle, bench: Bench) -> list[str]:
    """What a verifier pays for and must not, and what it does not pay for and must; empty when it is sound."""
    below = bench.worthless_below
    base = dict(bundle.inputs)
    found = []
    for name, files, bound in (
        ("an empty folder", {}, 0.0),
        ("the untouched folder", base, 0.0),
        ("empty output files", {**base, **worthless.zero_byte(bundle)}, below),
        ("output files that parse and say nothing", {**base, **worthless.placeholders(bundle)}, below),
        ("output files that hold the instruction's text", {**base, **worthless.pasted_instruction(bundle)}, below),
    ):
        result = _grade(bundle, files, bench)
        if result.status != "scored" or result.score_code is None:
            return [f"on {name}: {result.status}, {result.detail}"]  # the others would say the same
        if result.score_code > EXACT and result.score_code >= bound:
            paid = ", ".join(check for check, value in result.checks.items() if value > 0)
            wanted = f"less than {bound:g}" if bound else "0"
            found.append(f"{name}: {result.score_code:.3f} instead of {wanted}, paid by the checks {paid}")
    if bundle.oracle is not None:
        found += _solved_problems(_grade(bundle, {**base, **bundle.oracle}, bench))
    return found


def _solved_problems(result: Grade) -> list[str]:
    if result.status != "scored" or result.score_code is None:
        return [f"on the solved folder: {result.status}, {result.detail}"]
    if result.score_code >= 1 - EXACT:
        return []
    lost = ", ".join(f"{name} ({value:g})" for name, value in result.checks.items() if value < 1)
    return [
        f"the outputs of a reference solution earn {result.score_code:.3f} instead of 1; checks that do not pay:"
        f" {lost}. Work their expected values out again from the inputs, and demand nothing that the instruction leaves"
        " open"
    ]


def solve(code: str, bundle: TaskBundle, bench: Bench) -> Solved:
    """Run a solution on a copy of the inputs and take what it leaves.

    Raises:
        SetupError: the sandbox broke.
    """
    folder = Path(tempfile.mkdtemp(prefix="clawgym-solve-"))
    try:
        materialise(bundle.inputs, folder / "workspace")
        (folder / "workspace").mkdir(exist_ok=True)
        materialise({"solve.py": code.encode("utf-8", "replace")}, folder / "program")
        mounts = [
            Mount(folder / "workspace", "/workspace", writable=True), Mount(folder / "program", "/opt/clawgym/program")
        ]  # fmt: skip
        argv = [bench.sandbox.python, "-I", "/opt/clawgym/program/solve.py"]
        result = bench.sandbox.run(argv, mounts=mounts, env={}, cwd="/workspace", limits=bench.limits)
        if result.exit_code != 0:
            lines = result.stderr.decode("utf-8", "replace").strip().splitlines() or ["nothing on stderr"]
            why = "ran out of time" if result.timed_out else f"ended with {result.exit_code}: {lines[-1][:300]}"
            return Solved({}, (f"the program {why}",))
        return _left(bundle, folder / "workspace")
    except OSError as error:
        raise SetupError(f"cannot lay out a workspace in {folder}: {error}") from error
    finally:
        remove_folder(folder)


def _left(bundle: TaskBundle, workspace: Path) -> Solved:
    shot = snapshot(workspace, limit_bytes=_OUTPUT_LIMIT)
    outputs: dict[str, bytes] = {}
    problems = ["the outputs are larger than 4 MB"] if shot.truncated else []
    kinds = {entry.path: entry.kind for entry in shot.files}
    for path in bundle.expected_outputs:
        target = workspace / path
        if kinds.get(path) != "file":
            problems.append(f"the program does not write {path}")
        elif not (content := target.read_bytes()).strip():
            problems.append(f"the program leaves {path} empty")
        else:
            outputs[path] = content
    for path, content in bundle.inputs.items():
        if kinds.get(path) != "file" or (workspace / path).read_bytes() != content:
            problems.append(f"the program changes the input {path}")
    return Solved(outputs, tuple(problems))


def _grade(bundle: TaskBundle, files: Mapping[str, bytes], bench: Bench) -> Grade:
    folder = Path(tempfile.mkdtemp(prefix="clawgym-trial-"))
    try:
        (folder / "workspace").mkdir()
        materialise(files, folder / "workspace")
        return grade(
            folder / "workspace", bundle.reward, protocol=bundle.verifier_protocol, sandbox=bench.sandbox,
            limits=bench.limits,
        )  # fmt: skip
    except OSError as error:
        raise SetupError(f"cannot lay out a workspace in {folder}: {error}") from error
    finally:
        remove_folder(folder)
