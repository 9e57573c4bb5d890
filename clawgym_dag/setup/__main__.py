"""`python3.11 -m clawgym_dag.setup [python|rollouts|test]`: brings this clone to where a make target can run.

Each level includes the ones before it: `python` is .venv with the project; `rollouts` adds OpenClaw and bubblewrap;
`test` adds Chromium. What is in place is not touched. Exit code 3 and one line when something is missing.
"""

from __future__ import annotations

import sys

from clawgym_dag.setup.openclaw import ensure_openclaw
from clawgym_dag.setup.python_env import ensure_python
from clawgym_dag.setup.report import fail
from clawgym_dag.setup.system import ensure_bubblewrap, ensure_chromium

LEVELS = {
    "python": (ensure_python,),
    "rollouts": (ensure_python, ensure_openclaw, ensure_bubblewrap),
    "test": (ensure_python, ensure_openclaw, ensure_bubblewrap, ensure_chromium),
}


def main(arguments: list[str]) -> None:
    """Run the steps of a level."""
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return
    level = arguments[0] if arguments else "rollouts"
    if level not in LEVELS or len(arguments) > 1:
        fail(f"unknown level {' '.join(arguments)!r}; there are {', '.join(LEVELS)}")
    for step in LEVELS[level]:
        step()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        print("setup: interrupted; what was installed stays, run the same command to go on", file=sys.stderr)
        raise SystemExit(130) from None
