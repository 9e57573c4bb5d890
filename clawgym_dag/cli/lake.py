"""`clawgym lake`: take logs in, look at the lake, check it. Its upkeep is in `upkeep.py`.

Belongs here: the commands. Does not belong here: what they do (`lake`, and `assets/logs` for ingest).
"""

from __future__ import annotations

import sys
import time
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import click

from clawgym_dag.cli.framework import as_of_option, command, json_option, lake_option, overrides_toml, profile_options
from clawgym_dag.cli.output import print_json, print_rows, print_table, size
from clawgym_dag.cli.progress import TerminalProgress
from clawgym_dag.cli.read import query
from lake.errors import LakeError, SourceError, UsageError
from lake.schema import TABLES


@click.group("lake")
def lake() -> None:
    """Take logs in, look at the lake, check it, keep it in order."""


@command(
    lake,
    "ingest",
    examples=["clawgym lake ingest ~/.openclaw", "clawgym lake ingest session.jsonl --json"],
    codes=(6, 7),
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-v", "--verbose", is_flag=True, help="Say each file that was taken or left, not only how many.")
@profile_options()
@lake_option()
@json_option()
def ingest(
    paths: tuple[Path, ...],
    verbose: bool,
    profile: str,
    overrides: tuple[str, ...],
    lake_path: str | None,
    as_json: bool,
) -> None:
    """Take every log under PATHS into the lake, once, and clean it. What is no log is named with the reason.

    Files that grew add their new records only; the paths themselves are never changed.
    """
    import lake as lakes
    from assets.logs import ingest_paths
    from assets.stage import Context
    from clawgym_dag.profiles import load_profile
    from clawgym_dag.run import run_job

    opened = lakes.open(lake_path)
    progress = TerminalProgress(sys.stderr)
    live = progress.line("ingest")
    said: list[str] = []

    def note(message: str, done: int | None = None, total: int | None = None) -> None:
        said.append(message)
        if verbose or done is None:  # numbered is what is said of one file
            progress.lasting(message)
        else:
            live(message)

    started = time.monotonic()
    settings = load_profile(profile, overrides_toml(overrides))
    clean = partial(run_job, opened, "ingest_logs", progress, profile=profile, overrides=overrides_toml(overrides))
    try:
        counts = ingest_paths(Context(opened, settings, uuid.uuid4().hex, note), [path.absolute() for path in paths])
    except SourceError:
        if said:  # the rest is in: clean it before saying what cannot be read
            clean()
        raise
    clean()
    seconds = round(time.monotonic() - started, 1)
    if as_json:
        print_json({"counts": dict(counts), "said": said, "seconds": seconds})
    else:
        click.echo(", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing new")
        (found,) = query(opened, "select count(*) as n from trajectories")
        here = f" --lake {lake_path}" if lake_path else ""
        if found["n"]:
            click.echo(f"{found['n']} trajectories in the lake; see them: clawgym trajectories list{here}")
        else:
            click.echo("no trajectory in the lake yet: none of these files holds a conversation (-v says what each is)")


@command(lake, "status", examples=["clawgym lake status", "clawgym lake status --json"])
@lake_option()
@json_option()
def status(lake_path: str | None, as_json: bool) -> None:
    """Say how large the lake is, by table and kind of source, what is stale, and what waits in the spool."""
    import lake as lakes
    from clawgym_dag.stages import STAGES
    from lake.status import status as status_of

    found = status_of(lakes.open(lake_path, create=False), [stage.projection for stage in STAGES])
    if as_json:
        print_json(found.to_json())
        return
    tables = [
        [t.table, t.rows, t.files, size(t.bytes), size(t.bytes_on_disk), t.version, t.built_by, t.stale or ""]
        for t in found.tables
    ]
    print_table(["table", "rows", "files", "size", "with history", "version", "built by", "stale"], tables)
    click.echo()
    if found.sources:
        sources = [[s.source_kind, s.sources, s.records, size(s.bytes)] for s in found.sources]
        print_table(["kind of source", "sources", "records", "size"], sources)
        click.echo()
    click.echo(
        f"{found.blobs} blobs, {size(found.blob_bytes)}; {found.snapshots} snapshots, last {found.last_snapshot}"
    )
    waiting = found.spool
    click.echo(f"waiting in the spool: {waiting.segments} segments, {size(waiting.bytes)}")


@command(lake, "verify", examples=["clawgym lake verify", "clawgym lake verify --json"])
@lake_option()
@json_option()
def verify(lake_path: str | None, as_json: bool) -> None:
    """Recompute every digest, key and reference of the lake; exit code 4 when something does not hold."""
    import lake as lakes
    from lake.verify import verify as verification_of

    say = TerminalProgress(sys.stderr)
    found = verification_of(lakes.open(lake_path, create=False), progress=say.line("verify"))
    say.clear()
    if as_json:
        print_json(found.to_json())
    else:
        print_table(["check", "looked at", "wrong"], [[c.name, c.looked_at, c.wrong] for c in found.checks])
        for finding in found.findings:
            click.echo(f"{finding.check}: {finding.subject}: {finding.detail}")
    if not found.ok:
        wrong = [check.name for check in found.checks if check.wrong]
        raise LakeError(f"the lake does not hold what it says: {', '.join(wrong)}; each finding is listed above")


@command(lake, "snapshots", examples=["clawgym lake snapshots", "clawgym lake snapshots --json"])
@lake_option()
@json_option()
def snapshots(lake_path: str | None, as_json: bool) -> None:
    """List what the lake knew and when; any of them goes with --as-of."""
    import lake as lakes

    rows = query(
        lakes.open(lake_path, create=False),
        "select snapshot_id, recorded_at, reason, run_id from snapshots order by recorded_at, snapshot_id",
    )
    print_rows(rows, as_json, empty="no snapshot yet; every run takes one at its end")


@command(
    lake,
    "tables",
    examples=["clawgym lake tables", "clawgym lake tables attempts", "clawgym lake tables events --json"],
)
@click.argument("name", required=False)
@as_of_option()
@lake_option()
@json_option()
def tables(name: str | None, as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """Describe every table, or one with its columns."""
    if name is not None:
        print_rows(columns_of(name), as_json, empty="")
        return
    import lake as lakes

    opened = lakes.open(lake_path, create=False)
    reader = opened.now() if as_of is None else opened.at(as_of)
    rows: list[dict[str, Any]] = []
    for table in TABLES.values():
        count = opened.store.delta(table.name, reader.version(table.name)).count()
        rows.append({"table": table.name, "stage": table.stage, "rows": count, "grain": table.grain, "doc": table.doc})
    print_rows(rows, as_json, empty="")


def columns_of(name: str) -> list[dict[str, Any]]:
    """The columns of a table.

    Raises:
        UsageError: there is no such table.
    """
    if name not in TABLES:
        raise UsageError(f"no table {name!r}; there are {', '.join(TABLES)}")
    return [
        {
            "column": column.name,
            "type": str(column.type),
            "null": "yes" if column.nullable else "no",
            "unit": column.unit,
            "references": column.references,
            "meaning": column.doc,
        }
        for column in TABLES[name].columns
    ]
