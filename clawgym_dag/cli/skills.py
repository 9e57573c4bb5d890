"""`clawgym personas` and `clawgym skills`: what tasks are written for and from.

Belongs here: the commands. Does not belong here: how they are made and read (`assets/personas`, `assets/skills`).
"""

from __future__ import annotations

import json
from pathlib import Path

import click

import lake
from clawgym_dag.cli.framework import as_of_option, command, json_option, lake_option, limit_option, profile_options
from clawgym_dag.cli.output import print_json, print_rows
from clawgym_dag.cli.read import query
from clawgym_dag.cli.running import run_stages
from lake.errors import UsageError


@click.group("personas")
def personas() -> None:
    """Import and list the personas tasks are written for."""


@command(
    personas,
    "import",
    examples=["clawgym personas import personas.jsonl --licence CC-BY-NC-SA-4.0 --limit 100"],
)
@click.argument("file")
@click.option("--licence", required=True, help="Licence of the texts; recorded with each persona.")
@click.option("--start", type=click.IntRange(0), default=0, show_default=True, help="First line that is taken.")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="Lines that are looked at.")
@profile_options()
@lake_option()
@json_option()
def import_personas(
    file: str,
    licence: str,
    start: int,
    limit: int,
    profile: str,
    overrides: tuple[str, ...],
    lake_path: str | None,
    as_json: bool,
) -> None:
    """Take in personas from FILE: JSON Lines, each an object with `persona`, as in PersonaHub. Known ones are left.

    They are for tasks that a model writes; the families keep to the built-in ones.
    """
    source = {"path": json.dumps(file), "licence": json.dumps(licence), "start": start}
    wanted = "[{" + ", ".join(f"{key} = {value}" for key, value in source.items()) + "}]"
    settings = (*overrides, f"personas.imports={wanted}")
    _, progress = run_stages(lake_path, "synthesise_tasks", profile=profile, overrides=settings, stages=("personas",))
    counts = {
        name: n for name, n in progress.runs["personas"].effect.items() if name in ("imported", "known", "unusable")
    }
    if as_json:
        print_json(counts)
    else:
        click.echo(", ".join(f"{count} {name}" for name, count in counts.items()))


@command(personas, "list", examples=["clawgym personas list", "clawgym personas list --limit 5 --json"])
@limit_option()
@as_of_option()
@lake_option()
@json_option()
def list_personas(limit: int, as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """List personas with their origin and licence, and how many tasks were written for each."""
    rows = query(
        lake.open(lake_path, create=False),
        "select persona_id, name, occupation, domain, origin, licence,"
        " (select count(distinct task_id) from tasks where tasks.persona_id = personas.persona_id) as tasks, text"
        " from personas order by origin, persona_id",
        as_of=as_of,
        limit=limit,
    )
    print_rows(rows, as_json, empty="no persona yet; `clawgym tasks generate` makes the built-in ones", limit=limit)


@click.group("skills")
def skills() -> None:
    """Import and list the skills tasks are made from."""


@command(
    skills,
    "import",
    examples=["clawgym skills import openclaw-bundled", "clawgym skills import ~/.openclaw/skills --json"],
    codes=(3, 7),
)
@click.argument("source")
@profile_options()
@lake_option()
@json_option()
def import_(source: str, profile: str, overrides: tuple[str, ...], lake_path: str | None, as_json: bool) -> None:
    """Take in every skill below SOURCE: a folder of skill folders (each with a SKILL.md), one of them, or
    `openclaw-bundled`. They are annotated by rule, and by the model of `llm.annotator` where the profile names one; a
    text the log holds is not taken in again.

    A skill that cannot be read is a row with the reason. Its licence is `unstated` where the text states none.
    """
    folder = Path(source).expanduser()
    wanted = source if source == "openclaw-bundled" else str(folder.absolute())
    if source != "openclaw-bundled" and not folder.is_dir():
        raise UsageError(f"{source!r} is not a folder; give one that holds skill folders, or `openclaw-bundled`")
    settings = (*overrides, f"skills.sources={json.dumps([wanted])}")
    _, progress = run_stages(lake_path, "synthesise_tasks", profile=profile, overrides=settings, stages=("skills",))
    counts = progress.runs["skills"].effect
    if not any(counts.values()):
        raise UsageError(f"{source!r} holds no skill: no folder in it has a SKILL.md")
    if as_json:
        print_json(dict(counts))
    else:
        click.echo(", ".join(f"{count} {name}" for name, count in counts.items()))


@command(skills, "list", examples=["clawgym skills list", "clawgym skills list --status failed --json"])
@click.option("--status", help="Only this status: annotated, not_synthesizable, failed.")
@limit_option()
@as_of_option()
@lake_option()
@json_option()
def list_skills(status: str | None, limit: int, as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """List skills with what the annotation says, and why one is not used."""
    rows = query(
        lake.open(lake_path, create=False),
        "select skill_id, source, status, synthesizable, auth_required, text_only_compatible, has_risk, flags,"
        " licence, reason, summary from skills where $status is null or status = $status"
        " order by source, skill_id",
        {"status": status},
        as_of=as_of,
        limit=limit,
    )
    print_rows(rows, as_json, empty="no such skill; `clawgym skills import` takes some in", limit=limit)
