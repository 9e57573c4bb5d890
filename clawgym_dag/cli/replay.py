"""`clawgym replay`: rebuild every table beside the live ones from the log, and compare.

Belongs here: the command. Does not belong here: the comparison (`lake/replay.py`).
"""

from __future__ import annotations

import click

from clawgym_dag.cli.framework import Command, json_option, lake_option
from clawgym_dag.cli.output import print_json, print_table
from lake.errors import UsageError


@click.command(
    "replay",
    cls=Command,
    examples=["clawgym replay", "clawgym replay trajectories verdicts", "clawgym replay --json"],
    codes=(5,),
)
@click.argument("stages", nargs=-1)
@click.option("--keep", is_flag=True, help="Leave the rebuilt tables in <lake>/replay.")
@lake_option()
@json_option()
def replay(stages: tuple[str, ...], keep: bool, lake_path: str | None, as_json: bool) -> None:
    """Rebuild the tables of all stages (or of STAGES) from the log alone and compare digests.

    No effect runs: one that is tried fails the replay. The live tables are only read.
    """
    import lake
    from clawgym_dag.stages import STAGES
    from lake.replay import replay as replayed

    unknown = sorted(set(stages) - {stage.name for stage in STAGES})
    if unknown:
        raise UsageError(f"no stage {', '.join(unknown)}; there are {', '.join(stage.name for stage in STAGES)}")
    opened = lake.open(lake_path, create=False)
    chosen = [stage.projection for stage in STAGES if not stages or stage.name in stages]
    report = replayed(opened, chosen, keep=keep)
    if as_json:
        print_json(report.to_json())
    else:
        print_table(
            ["table", "status", "rows live", "rows rebuilt", "digest", "detail"],
            [[r.table, r.status, r.rows_live, r.rows_rebuilt, r.digest_rebuilt[:16], r.detail] for r in report.tables],
        )
    report.check()
