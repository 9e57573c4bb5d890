"""`python -m clawgym_dag.setup.check`: every static check, each named, its output shown only when it fails."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from clawgym_dag.setup.report import ROOT

BIN = Path(sys.executable).parent
CODE = ("assets", "benchmarks", "clawgym_dag", "dashboards", "lake", "sql", "tests", "training")
CHECKS: dict[str, list[str]] = {
    "ruff": [sys.executable, "-m", "ruff", "check", *CODE],
    "format": [sys.executable, "-m", "ruff", "format", "--check", *CODE],
    "mypy": [sys.executable, "-m", "mypy"],
    "layers": [str(BIN / "lint-imports")],
    "docs": [sys.executable, "-m", "clawgym_dag.docs", "--check"],
}


def main() -> int:
    """Run them all; 1 when any failed."""
    failed: list[str] = []
    for name, command in CHECKS.items():
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        print(f"check: {name} {'ok' if done.returncode == 0 else 'FAILED'} ({time.monotonic() - started:.1f} s)")
        if done.returncode != 0:
            print(done.stdout + done.stderr)
            failed.append(name)
    print(f"check: {'all passed' if not failed else 'failed: ' + ', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
