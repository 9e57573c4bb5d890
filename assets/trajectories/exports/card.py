"""The card of a dataset folder: what is in it, from what state of the lake, what was left out, under which licence.

Does not belong here: the data (`hf`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from assets.trajectories.exports.item import About, Item, Tally, to_json

_KNOWN: Final = {"Apache-2.0": "apache-2.0", "MIT": "mit", "CC-BY-4.0": "cc-by-4.0", "CC0-1.0": "cc0-1.0"}
"""Licences as the card's header names them."""


@dataclass
class Contents:
    """What was written."""

    splits: Counter[str]
    policies: Counter[tuple[str, str]]
    """By (policy, its kind)."""
    licences: Counter[str]

    def add(self, split: str, item: Item) -> None:
        """Count one."""
        self.splits[split] += 1
        self.policies[str(item.row["policy"] or "external log"), str(item.row["policy_kind"])] += 1
        self.licences[str(item.row["licence"] or "not stated")] += 1


def card(
    about: About,
    tally: Tally,
    contents: Contents,
    splits: Sequence[str],
    columns: Iterable[tuple[str, str, str]],
) -> str:
    """The README.md of the folder; the same for the same export."""
    return "\n".join(
        [
            *_header(contents, splits),
            "# ClawGym trajectories",
            "",
            f"{tally.exported} trajectories of agents in workspaces: multi-turn conversations with tool calls and their"
            " results, cleaned from the agents' own logs by the ClawGym lakehouse.",
            "",
            "Secrets in texts and arguments are masked with placeholders. Tool-call arguments (`arguments`) and tool"
            " schemas (`tools`) are JSON text.",
            "",
            *_table(("split", "trajectories"), [(split, contents.splits[split]) for split in splits]),
            *_policies(contents),
            "## Columns",
            "",
            *_table(("column", "type", "meaning"), [(f"`{name}`", f"`{kind}`", said) for name, kind, said in columns]),
            "## Provenance",
            "",
            f"- Snapshot of the lake: `{about.snapshot_id}`",
            f"- Filters: `{to_json(dict(about.filters))}`",
            f"- Trajectories the filters chose: {tally.trajectories}",
            "",
            "## What this form does not hold",
            "",
            *_table(("what", "count"), [(f"`{name}`", count) for name, count in sorted(tally.not_held.items())]),
            "## Licence",
            "",
            "Of the tasks the trajectories are of; the logs of others have the licence of whoever recorded them.",
            "",
            *_table(("licence", "trajectories"), sorted(contents.licences.items())),
        ]
    )


def _header(contents: Contents, splits: Sequence[str]) -> list[str]:
    licences = list(contents.licences)
    licence = _KNOWN.get(licences[0], "other") if len(licences) == 1 else "other"
    lines = ["---", f"license: {licence}", "pretty_name: ClawGym trajectories", "task_categories:", "- text-generation"]
    lines += ["tags:", "- agent", "- tool-use", "- trajectories"]
    if splits:
        lines += ["configs:", "- config_name: default", "  data_files:"]
    for split in splits:
        lines += [f"  - split: {split}", f"    path: data/{split}-*.parquet"]
    return [*lines, "---", ""]


def _policies(contents: Contents) -> list[str]:
    scripted = any(kind == "scripted" for _, kind in contents.policies)
    rows = [(f"`{policy}`", kind, count) for (policy, kind), count in sorted(contents.policies.items())]
    said = "A scripted teacher follows a plan and is no model; its answers show the harness, not an ability."
    return ["## Policies", "", *_table(("policy", "kind", "trajectories"), rows), *([said, ""] if scripted else [])]


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return [*lines, *(f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |" for row in rows), ""]
