"""Runs inside the sandbox, under `python3 -I`: calls a verifier and prints what it says, and nothing else.

Standard library only; imports nothing of the project. Usage: runner.py PROTOCOL CHECK_PY WORKSPACE

What goes to the real stdout is written through a descriptor that no child process inherits, and the process is made
undumpable so that none can reach it by /proc: a script of the agent that a verifier starts cannot add a line.
Does not belong here: judging what a verifier said (`judge.py`, outside).
"""

import contextlib
import ctypes
import importlib.util
import io
import json
import os
import runpy
import sys
import traceback
from typing import Any

_PR_SET_DUMPABLE = 4


def main() -> None:
    """Run the verifier; the exit code is 0 only when it came to its end."""
    protocol, check, workspace = sys.argv[1:]
    private = _take_stdout()
    # The verifier's own folder, read-only, for modules it brings along; `-I` keeps every other folder away.
    sys.path.insert(0, os.path.dirname(check))  # noqa: PTH120
    code = 1
    try:
        if protocol == "grade_floats":
            sys.stdout = sys.stderr
            _write(private, json.dumps(_call(check, workspace)))
            code = 0
        else:
            sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(private), "wb"), "utf-8", "backslashreplace", newline="\n")
            sys.argv = [check, workspace]
            runpy.run_path(check, run_name="__main__")
            code = 0
    except SystemExit as left:
        code = _exit_code(left, protocol)
    except BaseException:  # whatever a verifier throws is its error, told by the last line of stderr
        traceback.print_exc(limit=-3)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # No exit handler and no left-over thread may print after the score.
    os._exit(code)


def _take_stdout() -> int:
    """Keep the real stdout for us and let descriptor 1 be stderr."""
    private = os.dup(1)
    os.set_inheritable(private, False)
    os.dup2(2, 1)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    return private


def _call(check: str, workspace: str) -> list[list[Any]]:
    """Pairs of what `grade` returned; a value that is no plain number becomes {"not": type name}."""
    spec = importlib.util.spec_from_file_location("check", check)
    if spec is None or spec.loader is None:
        raise ImportError(f"{check} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules["check"] = module
    spec.loader.exec_module(module)
    result = module.grade([], workspace)
    if not isinstance(result, dict):
        raise TypeError(f"grade() gave {type(result).__name__}, not a dict")
    return [[_plain_key(key), _plain(value)] for key, value in result.items()]


def _plain_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"grade() gave a check called {key!r}, which is no string")
    return str(key)


def _plain(value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return {"not": type(value).__name__}
    return float(value)


def _exit_code(left: SystemExit, protocol: str) -> int:
    if protocol == "grade_floats":
        print("SystemExit: grade() ended the process instead of returning", file=sys.stderr)
        return 1
    if left.code is None or isinstance(left.code, int):
        return left.code or 0
    print(left.code, file=sys.stderr)
    return 1


def _write(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace") + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main()
