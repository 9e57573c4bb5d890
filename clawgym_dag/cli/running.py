"""Running stages from a command: progress on stderr, then what changed.

Belongs here: what commands that run a job share. Does not belong here: the jobs.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence

import lake
from clawgym_dag.cli.framework import overrides_toml
from clawgym_dag.cli.output import print_json
from clawgym_dag.cli.progress import TerminalProgress
from lake import Lake


def run_stages(
    lake_path: str | None, job: str, *, profile: str, overrides: Sequence[str], stages: Sequence[str] = ()
) -> tuple[Lake, TerminalProgress]:
    """Open the lake and run a job, or some stages of it."""
    from clawgym_dag.run import run_job

    opened = lake.open(lake_path)
    progress = TerminalProgress(sys.stderr)
    run_job(opened, job, progress, profile=profile, overrides=overrides_toml(overrides), stages=stages)
    return opened, progress


def report(progress: TerminalProgress, as_json: bool) -> None:
    """Say what each stage did; on a terminal and in a log the lines are on stderr already."""
    if as_json:
        print_json(
            {
                name: {
                    "effect": dict(run.effect),
                    "rows": dict(run.built.rows),
                    "changed": not run.built.skipped,
                }
                for name, run in progress.runs.items()
            }
        )
    elif not progress.changed:
        print("nothing to do: up to date")


def user() -> str:
    """Name of the user of this machine, as far as there is one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
