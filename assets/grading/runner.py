"""Runs inside the sandbox, under `python3 -I -S`: calls a verifier and prints what it says, and nothing else.

Standard library only; nothing of the project. Usage: runner.py PROTOCOL CHECK_PY WORKSPACE [SECONDS WORKSPACE …]
With further workspaces each is graded by a fork of one started process, for at most SECONDS, and each answer is a line.

What goes to the real stdout is written through a descriptor that no child process inherits, and the process is made
undumpable so that none can reach it by /proc: a script of the agent that a verifier starts cannot add a line.
It imports little and late, as it starts once a verdict. Does not belong here: judging what was said (`said.py`).
"""

# pathlib and contextlib cost more to import than all the rest.
# ruff: noqa: PTH112, PTH118, PTH120, PTH123, SIM105

import builtins
import ctypes
import io
import json
import os
import sys
from types import CodeType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PR_SET_DUMPABLE = 4
_MOST = 256 * 1024
"""Bytes of an answer that a fork may give; more is graded by a run of its own."""
_code: "dict[str, CodeType]" = {}


def main() -> None:
    """Run the verifier; the exit code is 0 only when it came to its end."""
    protocol, check, workspace, *more = sys.argv[1:]
    private = _take_stdout()
    _as_site_would()
    # The verifier's own folder, read-only, for modules it brings along; `-I` keeps every other folder away.
    sys.path.insert(0, os.path.dirname(check))
    if more:
        _prepare(check)
        for place in (workspace, *more[1:]):
            _write(private, json.dumps(_forked(protocol, check, place, float(more[0]))))
        os._exit(0)
    _verify(protocol, check, workspace, private)


def _prepare(check: str) -> None:
    """Compile, and import what the verifier imports from the standard library, before the forks."""
    import ast

    try:
        _compiled(check)
        with open(check, "rb") as source:
            tree = ast.parse(source.read())
    except (SyntaxError, ValueError, RecursionError):
        return  # each fork will say so
    for node in tree.body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
        for name in names:
            if name.split(".")[0] in sys.stdlib_module_names:
                __import__(name)


def _verify(protocol: str, check: str, workspace: str, private: int) -> None:
    """Write what the verifier says to a descriptor, and end the process."""
    code = 1
    try:
        if protocol == "grade_floats":
            sys.stdout = sys.stderr
            _write(private, json.dumps(_call(check, workspace)))
            code = 0
        else:
            sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(private), "wb"), "utf-8", "backslashreplace", newline="\n")
            sys.argv = [check, workspace]
            _load(check, "__main__")
            code = 0
    except SystemExit as left:
        code = _exit_code(left, protocol)
    except BaseException:  # whatever a verifier throws is its error, told by the last line of stderr
        import traceback

        traceback.print_exc(limit=-3)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # No exit handler and no left-over thread may print after the score.
    os._exit(code)


def _forked(protocol: str, check: str, workspace: str, seconds: float) -> "list[Any]":
    """Exit code (null: not ended by itself in time), what was said, seconds; of a fork."""
    import select
    import signal
    import time

    started = time.monotonic()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setsid()
        _verify(protocol, check, workspace, write)
    os.close(write)
    said = b""
    ended = False
    while not ended and len(said) <= _MOST:
        left = started + seconds - time.monotonic()
        if left <= 0 or not select.select([read], [], [], left)[0]:
            break
        data = os.read(read, 65536)
        said, ended = said + data, not data
    os.close(read)
    if not ended:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        os.killpg(child, signal.SIGKILL)  # what it left behind must not meet the next workspace
    except ProcessLookupError:
        pass
    return [code if ended else None, said.decode("utf-8", "backslashreplace"), round(time.monotonic() - started, 4)]


def _take_stdout() -> int:
    """Keep the real stdout for us and let descriptor 1 be stderr."""
    private = os.dup(1)
    os.set_inheritable(private, False)
    os.dup2(2, 1)
    try:
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (OSError, AttributeError):
        pass  # no such call here: what children can reach is then up to the sandbox
    return private


def _as_site_would() -> None:
    """What a verifier misses without the module `site` (a third of the start of Python): packages, `exit`, `quit`."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "lib", version, "site-packages")
    if not os.path.isdir(packages):  # an interpreter that is laid out otherwise
        import site

        site.main()
        return
    from _sitebuiltins import Quitter

    sys.path.append(packages)
    builtins.exit = Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = Quitter("quit", "Ctrl-D (i.e. EOF)")


def _load(path: str, name: str) -> ModuleType:
    """Run a file as the module `name`."""
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(_compiled(path), module.__dict__)
    return module


def _compiled(path: str) -> "CodeType":
    """The file's code, compiled once for all forks."""
    if path not in _code:
        with open(path, "rb") as source:
            _code[path] = compile(source.read(), path, "exec", dont_inherit=True)
    return _code[path]


def _call(check: str, workspace: str) -> "list[list[Any]]":
    """Pairs of what `grade` returned; a value that is no plain number becomes {"not": type name}."""
    result = _load(check, "check").grade([], workspace)
    if not isinstance(result, dict):
        raise TypeError(f"grade() gave {type(result).__name__}, not a dict")
    return [[_plain_key(key), _plain(value)] for key, value in result.items()]


def _plain_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"grade() gave a check called {key!r}, which is no string")
    return str(key)


def _plain(value: object) -> "Any":
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
