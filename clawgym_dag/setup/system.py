"""What only the system's package manager can install: bubblewrap for sandboxes, Chromium for browser tests."""

from __future__ import annotations

import os
import shutil

from clawgym_dag.setup.report import fail, run, say

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def ensure_bubblewrap() -> None:
    """Have `bwrap`, and a kernel that lets it make namespaces."""
    if shutil.which("bwrap") is None:
        error = _apt("bubblewrap")
        if error is not None:
            fail(
                f"bubblewrap (the sandbox) is missing and {error}; install it (apt install bubblewrap), then run again"
            )
    if error := run(["bwrap", "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true"]):
        fail(
            f"bubblewrap cannot make namespaces here ({error}); allow user namespaces (sysctl "
            "kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0; in a container: "
            "--security-opt seccomp=unconfined --security-opt apparmor=unconfined), then run again"
        )


def ensure_chromium() -> None:
    """Have a Chromium for browser tests where that can be had; without it they skip and say so."""
    if any(shutil.which(name) for name in CHROMIUM):
        return
    error = _apt("chromium")
    if error is not None:
        say(f"no Chromium and {error}: browser tests will be skipped (apt install chromium)")


def _apt(package: str) -> str | None:
    """Install a Debian package.

    Returns:
        None when it is there now, else why not, to stand after "and".
    """
    if shutil.which("apt-get") is None:
        return "this system has no apt-get"
    if os.geteuid() != 0:
        return "only root can install it"
    say(f"installing {package} with apt")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", package]
    if run(install, env=env) is None:
        return None
    run(["apt-get", "update", "-q"], env=env)
    error = run(install, env=env)
    return None if error is None else f"apt could not install it ({error})"
