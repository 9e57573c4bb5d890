"""`clawgym doctor`: what this machine has, what it lacks, and what to do about it.

Belongs here: the command. Does not belong here: installing anything (`make setup` does).
"""

from __future__ import annotations

import click

from clawgym_dag.cli.framework import Command, json_option, lake_option
from clawgym_dag.cli.output import print_rows
from lake.errors import SetupError


@click.command("doctor", cls=Command, examples=["clawgym doctor", "clawgym doctor --json"], codes=(3,))
@lake_option()
@json_option()
def doctor(lake_path: str | None, as_json: bool) -> None:
    """Look at Python, Node, OpenClaw, the sandbox, the lake, disk and ports.

    Ends with exit code 3 when something is missing that `clawgym demo` needs.
    """
    from clawgym_dag.cli.health import examine

    findings = examine(lake_path)
    rows = [{"part": f.part, "state": f.state, "detail": f.detail} for f in findings]
    print_rows(rows, as_json, empty="")
    missing = [f.part for f in findings if f.state == "missing"]
    if missing:
        raise SetupError(f"missing: {', '.join(missing)}; what to do is said beside each")
