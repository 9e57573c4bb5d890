"""The virtual environment `.venv` with the project and its extras."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from clawgym_dag.setup.report import ROOT, fail, run, say
from clawgym_dag.setup.stamp import digest_of, is_current, write

VENV = ROOT / ".venv"
EXTRAS = ("train", "ui", "dev")


def venv_python(venv: Path = VENV) -> Path:
    """The interpreter of a virtual environment."""
    return venv / "bin" / "python"


def ensure_python(venv: Path = VENV) -> None:
    """Create `.venv` and install the project, unless that very thing is there."""
    if not (3, 11) <= sys.version_info[:2] < (3, 13):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        fail(f"Python 3.11 or 3.12 is needed, this is {version} ({sys.executable}); run `make PYTHON=python3.11 …`")
    digest = digest_of(ROOT / "pyproject.toml", f"{sys.version_info[:2]}", str(ROOT), ",".join(EXTRAS))
    stamp = venv / "clawgym.stamp"
    if is_current(stamp, digest) and _works(venv):
        return
    if not _works(venv):
        say(f"creating {venv.name} with Python {sys.version_info.major}.{sys.version_info.minor}")
        if error := run([sys.executable, "-m", "venv", "--clear", venv]):
            fail(
                f"cannot create {venv} ({error}); on Debian or Ubuntu: apt install python3.11-venv, then run this again"
            )
    say("installing Python packages into .venv (about 2 GB, some minutes the first time)")
    command = [venv_python(venv), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e"]
    if error := run([*command, f".[{','.join(EXTRAS)}]"]):
        fail(f"pip could not install the project: {error}; check the network or PIP_INDEX_URL, then run this again")
    write(stamp, digest)


def _works(venv: Path) -> bool:
    """Whether the environment is there and its interpreter still runs (it does not when Python was removed)."""
    python = venv_python(venv)
    if not python.exists():
        return False
    return subprocess.run([python, "-c", "import pip"], capture_output=True).returncode == 0
