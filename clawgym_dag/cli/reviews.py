"""`clawgym reviews`: list what people said about tasks, attempts and runs, and say something.

Belongs here: the commands. Does not belong here: the event (`lake/reviews.py`), the form of the pages.
"""

from __future__ import annotations

import click

import lake
from clawgym_dag.cli.framework import as_of_option, command, json_option, lake_option, limit_option
from clawgym_dag.cli.output import print_json, print_rows
from clawgym_dag.cli.read import find, query
from clawgym_dag.cli.running import user
from lake import Lake
from lake.errors import UsageError
from lake.reviews import DECISIONS, KINDS, NOTE_LIMIT, record_review


@click.group("reviews")
def reviews() -> None:
    """List and record what people say about tasks, attempts and bench runs."""


@command(
    reviews,
    "list",
    examples=["clawgym reviews list", "clawgym reviews list --decision reject", "clawgym reviews list --json"],
)
@click.option("--kind", type=click.Choice(list(KINDS)), help="Only reviews of this kind of thing.")
@click.option("--subject", help="Only of things whose id begins so.")
@click.option("--decision", type=click.Choice(DECISIONS), help="Only this decision.")
@limit_option()
@as_of_option()
@lake_option()
@json_option()
def list_(
    kind: str | None,
    subject: str | None,
    decision: str | None,
    limit: int,
    as_of: str | None,
    lake_path: str | None,
    as_json: bool,
) -> None:
    """List reviews, newest first."""
    rows = query(
        lake.open(lake_path, create=False),
        "select review_id, subject_kind, subject_id, decision, reviewer, note, occurred_at from reviews"
        " where ($kind is null or subject_kind = $kind) and ($decision is null or decision = $decision)"
        " and ($subject is null or starts_with(subject_id, $subject))"
        " order by occurred_at desc, review_id",
        {"kind": kind, "subject": subject, "decision": decision},
        as_of=as_of,
        limit=limit,
    )
    print_rows(rows, as_json, empty="no such review; `clawgym reviews add` records one", limit=limit)


@command(
    reviews,
    "add",
    examples=[
        "clawgym reviews add expense_claims-s0000 --decision accept",
        "clawgym reviews add expense_claims-s0000 --decision revise --note 'the total is asked for twice'",
        "clawgym reviews add 3f9a --kind attempt --decision reject --reviewer ada --json",
    ],
)
@click.argument("subject")
@click.option("--kind", type=click.Choice(list(KINDS)), default="task", show_default=True, help="What SUBJECT is.")
@click.option("--decision", type=click.Choice(DECISIONS), required=True, help="What to do with it.")
@click.option("--note", default="", help=f"Why, in words; at most {NOTE_LIMIT} characters.")
@click.option("--reviewer", help="Who says so. The user of this machine where not given.")
@lake_option()
@json_option()
def add(
    subject: str, kind: str, decision: str, note: str, reviewer: str | None, lake_path: str | None, as_json: bool
) -> None:
    """Record a review of SUBJECT, an id or its beginning; a task is reviewed at its accepted version, or at ID@VERSION.

    The last review of a task version by a person counts: `clawgym bench select` leaves out what it turns down.
    """
    if len(note) > NOTE_LIMIT:
        raise UsageError(f"the note has {len(note)} characters, {NOTE_LIMIT} are kept; shorten it")
    opened = lake.open(lake_path, create=False)
    subject_id = subject_of(opened, kind, subject)
    name = (reviewer or user()).strip().removeprefix("person:")
    if not name:
        raise UsageError("--reviewer is empty; a review has an author")
    review_id = record_review(
        opened, subject_kind=kind, subject_id=subject_id, decision=decision, reviewer=f"person:{name}", note=note,
        actor="cli.reviews",
    )  # fmt: skip
    if as_json:
        print_json({"review_id": review_id, "subject_id": subject_id, "decision": decision})
    else:
        click.echo(f"recorded {review_id}: {decision} of {kind} {subject_id} by {name}")


def subject_of(opened: Lake, kind: str, wanted: str) -> str:
    """The full id of what is reviewed.

    Raises:
        UsageError: there is none, or several.
    """
    table, column = KINDS[kind]
    if kind != "task":
        return str(find(opened, table, column, wanted)[0][column])
    wanted, _, version = wanted.partition("@")
    task_id = str(find(opened, table, column, wanted)[0][column])
    latest = query(
        opened,
        "select task_version from task_overview where task_id = $task"
        " and ($version = '' or starts_with(task_version, $version))"
        " order by status = 'accepted' desc, task_version desc",
        {"task": task_id, "version": version},
    )
    if not latest or (version and len(latest) > 1):
        raise UsageError(f"task {task_id} has {len(latest)} versions that begin with {version!r}")
    return f"{task_id}@{latest[0]['task_version']}"
