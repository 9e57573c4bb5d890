"""The clean interpreter: our Python with the standard library and PyYAML and nothing else.

Belongs here: making the small virtual environment that sandboxes show at `TARGET`. It is made once below our own
`sys.prefix`, out of reach of anything that runs in a sandbox. Does not belong here: running it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import yaml

from lake.ids import digest

TARGET = "/opt/clawgym/python"
"""Where sandboxes show it."""

_LIB = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


@cache
def clean_python() -> Path:
    """Folder of the clean interpreter on the host, made on first use."""
    home = Path(sys.base_prefix) / "bin"
    key = digest(sys.version, str(home), yaml.__version__, 1, length=12)
    parent = Path(sys.prefix) / "share" / "clawgym"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        writable = os.access(parent, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        parent = Path(tempfile.mkdtemp(prefix="clawgym-python-"))
    folder = parent / f"python-{key}"
    if not folder.exists():
        building = Path(tempfile.mkdtemp(dir=parent, prefix="building-"))
        _build(building, home)
        try:
            building.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(building, ignore_errors=True)
    return folder


def base_prefix() -> Path | None:
    """The folder of the standard library, where it must be mounted at its own path; null when it is below /usr."""
    prefix = Path(sys.base_prefix)
    return None if prefix.is_relative_to("/usr") else prefix


def _build(folder: Path, home: Path) -> None:
    folder.chmod(0o755)
    (folder / "bin").mkdir()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    executable = home / f"python{version}"
    for name in ("python3", "python", f"python{version}"):
        (folder / "bin" / name).symlink_to(executable)
    (folder / "pyvenv.cfg").write_text(
        f"home = {home}\ninclude-system-site-packages = false\nversion = {version}.{sys.version_info.micro}\n"
    )
    package = Path(yaml.__file__).parent
    shutil.copytree(package, folder / _LIB / "yaml", ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.rglob("*"):  # readable for the sandbox's user, whatever the umask was
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.suffix == ".so" else 0o644)
