"""`clawgym bench`: run policies on the held-out suite and report their scores.

Belongs here: the commands. Does not belong here: scores and intervals (`assets/bench`).
"""

from __future__ import annotations

from dataclasses import asdict

import click

import lake
from clawgym_dag.cli.framework import as_of_option, command, json_option, lake_option, profile_options
from clawgym_dag.cli.output import print_json, print_record, print_table
from clawgym_dag.cli.read import query
from clawgym_dag.cli.running import report, run_stages
from clawgym_dag.cli.spending import dry_run_option, print_forecast


@click.group("bench")
def bench() -> None:
    """Run policies on the held-out suite and report their scores."""


@command(
    bench,
    "run",
    examples=[
        "clawgym bench run",
        "clawgym bench run --set 'bench.policies=[\"scripted:strong\"]'",
        "clawgym bench run --dry-run --set 'bench.policies=[\"openai:some-model\"]'",
    ],
    codes=(3, 7),
)
@profile_options()
@dry_run_option()
@lake_option()
@json_option()
def run(profile: str, overrides: tuple[str, ...], dry_run: bool, lake_path: str | None, as_json: bool) -> None:
    """Run the profile's policies on the suite; runs that are in the log are not repeated."""
    if dry_run:
        from assets.bench import preview

        print_forecast(preview, lake_path, profile=profile, overrides=overrides, as_json=as_json)
        return
    _, progress = run_stages(lake_path, "run_bench", profile=profile, overrides=overrides)
    report(progress, as_json)


@command(
    bench,
    "report",
    examples=["clawgym bench report", "clawgym bench report --by category", "clawgym bench report --json"],
)
@click.option("--by", type=click.Choice(["suite", "category", "task"]), default="suite", show_default=True)
@as_of_option()
@lake_option()
@json_option()
def report_(by: str, as_of: str | None, lake_path: str | None, as_json: bool) -> None:
    """Report scores with n and 95 % intervals; scripted teachers and models in separate tables."""
    rows = query(
        lake.open(lake_path, create=False),
        "select policy_kind, bench_run_id, policy, scope_value as scope, tasks, n, n_null, score_column, mean, low,"
        " high, pass_at_1, pass_hat_k, k, valid_call_rate, label from bench_scores where scope = $by"
        " order by policy_kind = 'scripted', policy, scope_value",
        {"by": by},
        as_of=as_of,
    )
    if as_json:
        print_json(rows)
        return
    for title, chosen in (
        ("models", [row for row in rows if row["policy_kind"] != "scripted"]),
        ("scripted teachers", [row for row in rows if row["policy_kind"] == "scripted"]),
    ):
        if not chosen:
            click.echo(f"{title}: no run")
            continue
        columns = [name for name in chosen[0] if name not in ("policy_kind", "label")]
        click.echo(f"{title}: {chosen[0]['label']}")
        print_table(columns, [[row[name] for name in columns] for row in chosen])
        click.echo()


@command(
    bench,
    "select",
    examples=[
        "clawgym bench select hard --strong RUN --small RUN",
        "clawgym bench select hard --strong RUN --small RUN --runs 1 --json",
    ],
    codes=(7,),
)
@click.argument("name")
@click.option("--strong", required=True, metavar="RUN", help="The strong agent's run (id or beginning).")
@click.option("--small", required=True, metavar="RUN", help="The small agent's run of the same suite.")
@click.option(
    "--strong-least", type=click.FloatRange(0, 1), default=0.2, show_default=True, help="Least mean of the strong one."
)
@click.option(
    "--small-most", type=click.FloatRange(0, 1), default=0.6, show_default=True, help="Highest mean of the small one."
)
@click.option(
    "--runs", type=click.IntRange(1), default=4, show_default=True, help="Scored attempts a task must have in each run."
)
@lake_option()
@json_option()
def select(
    name: str,
    strong: str,
    small: str,
    strong_least: float,
    small_most: float,
    runs: int,
    lake_path: str | None,
    as_json: bool,
) -> None:
    """Choose bench tasks by the paper's rule and keep them as the suite NAME, which never changes.

    Kept is a task on which the strong agent reaches --strong-least, the small one stays at or below --small-most and
    the strong one is better. Left out is what was trained on or what a person's review turns down. Runs of scripted
    teachers tell teachers apart and say nothing of difficulty; the suite is labelled so. `clawgym bench run --set
    bench.suite=NAME` runs it.
    """
    from assets.bench import Bounds
    from assets.bench import select as selected

    opened = lake.open(lake_path, create=False)
    bounds = Bounds(strong_least, small_most, runs)
    found = selected(opened, name, strong, small, bounds=bounds, actor="cli.bench")
    if as_json:
        print_json(asdict(found))
        return
    print_table(
        ["task", "strong", "small", "kept", "why not"],
        [[c.task_id, c.strong_mean, c.small_mean, c.kept, c.reason] for c in found.tasks],
    )
    kept = sum(candidate.kept for candidate in found.tasks)
    click.echo(f"suite {name}: {kept} of {len(found.tasks)} tasks; {found.label}")


@command(
    bench,
    "compare",
    examples=["clawgym bench compare RUN RUN", "clawgym bench compare RUN RUN --json"],
)
@click.argument("first")
@click.argument("second")
@lake_option()
@json_option()
def compare(first: str, second: str, lake_path: str | None, as_json: bool) -> None:
    """Compare two bench runs (ids or beginnings) of one suite task by task, second minus first.

    The interval is a paired bootstrap over tasks. A scripted teacher is not compared with a model.
    """
    from assets.bench import compare as compared

    found = compared(lake.open(lake_path, create=False), first, second)
    figures = {
        "suite": f"{found.first.suite}@{found.first.suite_version}",
        "first_run": f"{found.first.policy} ({found.first.bench_run_id})",
        "second_run": f"{found.second.policy} ({found.second.bench_run_id})",
        "score_column": found.first.score_column,
        **asdict(found.figures),
        "without_score": found.nulls,
    }
    if as_json:
        print_json({**figures, "variance": [None if split is None else asdict(split) for split in found.variance]})
        return
    difference = found.figures.difference
    ends = (difference.low, difference.high)  # null below two tasks
    interval = "" if None in ends else " [{:+.3f}, {:+.3f}]".format(*ends)
    figures["difference"] = f"{difference.mean:+.3f}{interval}"
    print_record(figures, as_json=False)
