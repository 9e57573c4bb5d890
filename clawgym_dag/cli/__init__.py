"""The command line `clawgym`: nouns, then verbs; one module per noun.

Belongs here: arguments, output, exit codes. Does not belong here: what a command does (its stage, or `lake`).
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from clawgym_dag.cli.bench import bench
from clawgym_dag.cli.checkpoints import checkpoints
from clawgym_dag.cli.demo import demo
from clawgym_dag.cli.doctor import doctor
from clawgym_dag.cli.exchange import export, import_
from clawgym_dag.cli.explain import explain
from clawgym_dag.cli.lake import lake
from clawgym_dag.cli.replay import replay
from clawgym_dag.cli.reviews import reviews
from clawgym_dag.cli.rollouts import rollouts
from clawgym_dag.cli.sft import sft
from clawgym_dag.cli.skills import personas, skills
from clawgym_dag.cli.sql import sql
from clawgym_dag.cli.tasks import tasks
from clawgym_dag.cli.trajectories import trajectories
from clawgym_dag.cli.upkeep import compact, forget
from clawgym_dag.cli.verdicts import verdicts

tasks.add_command(import_)
tasks.add_command(export)
lake.add_command(compact)
lake.add_command(forget)

COMMANDS: tuple[click.Command, ...] = (
    demo,
    doctor,
    lake,
    replay,
    explain,
    sql,
    personas,
    skills,
    tasks,
    rollouts,
    trajectories,
    verdicts,
    sft,
    checkpoints,
    bench,
    reviews,
)
"""The commands and groups, in the order of the help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    from clawgym_dag.cli.main import main as run

    return run(arguments)
