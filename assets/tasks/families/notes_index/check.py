"""Verifier of `notes_index`: reads the notes again and rebuilds index, broken links and topics."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    ORIGINALS,
    bullets,
    check,
    is_int,
    labelled,
    object_keys,
    original,
    output,
    output_csv,
    output_json,
    section,
    share,
)

STEMS = {path.rsplit("/", 1)[1][:-3] for path in ORIGINALS}


def note(path: str) -> dict[str, Any]:
    text = original(path)
    block = re.match(r"---\n(.*?)\n---\n(.*)", text, re.DOTALL)
    fields = dict(re.findall(r"^(\w+): *(.*?) *$", block[1], re.MULTILINE)) if block else {}
    body = block[2] if block else text
    heading = re.search(r"^# (.*)$", body, re.MULTILINE)
    tags = {tag.strip().lower() for tag in fields.get("tags", "").split(",")} - {""}
    return {
        "path": path,
        "title": fields.get("title") or (heading[1].strip() if heading else ""),
        "date": fields.get("date") or None,
        "tags": sorted(tags),
        "targets": re.findall(r"\[\[([^\]|]+)(?:\|[^\]]*)?\]\]", body),
        "archived": fields.get("status") == "archived",
    }


NOTES = [n for n in map(note, sorted(ORIGINALS)) if not n["archived"]]
INDEX = sorted(
    NOTES, key=lambda n: (n["date"] is None, [-int(part) for part in (n["date"] or "").split("-") if part], n["path"])
)
BROKEN = sorted({(n["path"], target) for n in NOTES for target in n["targets"] if target not in STEMS})
TAGS = sorted({tag for n in NOTES for tag in n["tags"]})


def index(workspace: Path) -> list[dict[str, Any]]:
    found = output_json(workspace, "output/index.json")
    return [object_keys(item, ["path", "title", "date", "tags", "links"]) for item in found]


@check
def index_order(workspace: Path) -> float:
    return [item["path"] for item in index(workspace)] == [n["path"] for n in INDEX]


@check
def titles_and_dates(workspace: Path) -> float:
    found = [(item["path"], item["title"], item["date"]) for item in index(workspace)]
    return sorted(found, key=str) == sorted(((n["path"], n["title"], n["date"]) for n in NOTES), key=str)


@check
def tags_right(workspace: Path) -> float:
    return {i["path"]: i["tags"] for i in index(workspace)} == {n["path"]: n["tags"] for n in NOTES}


@check
def link_counts(workspace: Path) -> float:
    found = {item["path"]: item["links"] for item in index(workspace)}
    return set(found) == {n["path"] for n in NOTES} and all(is_int(found[n["path"]], len(n["targets"])) for n in NOTES)


def broken(workspace: Path) -> list[tuple[str, str]]:
    return [
        (row["source"], row["target"]) for row in output_csv(workspace, "output/broken_links.csv", ["source", "target"])
    ]


@check
def broken_links_found(workspace: Path) -> float:
    found = broken(workspace)
    return share(len(set(found) & set(BROKEN)), max(len(found), len(BROKEN)))


@check
def broken_links_exact(workspace: Path) -> float:
    return broken(workspace) == BROKEN


@check
def topics_headings(workspace: Path) -> float:
    text = section(output(workspace, "output/TOPICS.md"), "Topics")
    return re.findall(r"^## (.*?)\s*$", text, re.MULTILINE) == TAGS


@check
def topics_lists(workspace: Path) -> float:
    text = output(workspace, "output/TOPICS.md")
    right = [
        [item for item in bullets(section(text, tag)) if not item.startswith("Notes without a tag")]
        == sorted(n["title"] for n in NOTES if tag in n["tags"])
        for tag in TAGS
    ]
    return all(right)


@check
def untagged_counted(workspace: Path) -> float:
    value = labelled(output(workspace, "output/TOPICS.md"), "Notes without a tag")
    return is_int(value, sum(not n["tags"] for n in NOTES))
