"""Verifier of `config_rollout`: replays the change request on its own copies of the settings."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
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

REQUEST = "CR-1000"
FILES = {"gateway": "config/gateway.toml", "worker": "config/worker.ini", "search": "config/search.yaml"}
COLUMNS = ["no", "service", "key", "old_value", "new_value", "decision"]
Settings = dict[str, dict[str, str]]


def as_text(value: Any) -> str:
    """A TOML value as text; a number in quotes is not the number."""
    return f'"{value}"' if isinstance(value, str) and value.isdigit() else str(value)


def parse(service: str, text: str) -> dict[str, str]:
    """`section.key` to value as text; raises where the format does not hold."""
    if service == "gateway":
        loaded: dict[str, dict[str, Any]] = tomllib.loads(text)
        sections = {name: {k: as_text(v) for k, v in values.items()} for name, values in loaded.items()}
    elif service == "worker":
        parser = configparser.ConfigParser(inline_comment_prefixes=("#", ";"))
        parser.read_string(text)
        sections = {name: dict(parser[name]) for name in parser.sections()}
    else:
        sections, current = {}, ""
        for raw in text.splitlines():
            line = re.sub(r"\s*#.*", "", raw)
            if line and not line.startswith(" "):
                current = line.rstrip(":").strip()
                sections[current] = {}
            elif line.strip():
                name, _, value = line.partition(":")
                sections[current][name.strip()] = value.strip().strip("\"'")
    return {f"{name}.{key}": value for name, values in sections.items() for key, value in values.items()}


def replay() -> tuple[list[dict[str, str]], Settings, Settings]:
    """Rows of changes.csv, the settings before and after."""
    limits = json.loads(original("config/limits.json"))
    before = {service: parse(service, original(path)) for service, path in FILES.items()}
    after = {service: dict(values) for service, values in before.items()}
    rows = []
    for no, service, key, value in re.findall(
        r"^\|\s*(\d+)\s*\|\s*(\S+)\s*\|\s*`?([\w.]+)`?\s*\|\s*(.*?)\s*\|$",
        original(f"requests/{REQUEST}.md"),
        re.MULTILINE,
    ):
        old = after.get(service, {}).get(key)
        rule = limits["services"].get(service, {}).get(key, {})
        if old is None:
            decision = "unknown_key"
        elif f"{service}.{key}" in limits["frozen"]:
            decision = "frozen"
        elif ("one_of" in rule and value not in rule["one_of"]) or (
            "min" in rule and not (re.fullmatch(r"-?\d+", value) and rule["min"] <= int(value) <= rule["max"])
        ):
            decision = "not_allowed"
        else:
            decision = "no_change" if value == old else "applied"
        if decision == "applied":
            after[service][key] = value
        rows.append(
            {"no": no, "service": service, "key": key, "old_value": old or "", "new_value": value, "decision": decision}
        )
    return rows, before, after


ROWS, BEFORE, AFTER = replay()
DECLINED = [row for row in ROWS if row["decision"] != "applied"]
CHANGED = {s: {k: v for k, v in BEFORE[s].items() if AFTER[s][k] != v} for s in FILES}


def settings_right(workspace: Path, service: str) -> bool:
    return parse(service, output(workspace, FILES[service])) == AFTER[service]


@check
def gateway_settings(workspace: Path) -> float:
    return settings_right(workspace, "gateway")


@check
def worker_settings(workspace: Path) -> float:
    return settings_right(workspace, "worker")


@check
def search_settings(workspace: Path) -> float:
    return settings_right(workspace, "search")


def skeleton(service: str, text: str) -> list[str]:
    """Lines without their spaces, with the values of changed keys blanked and their comments kept."""
    keys = {key.split(".")[1] for key in CHANGED[service]}
    lines = []
    for line in text.splitlines():
        name = re.match(r"\s*([\w]+)\s*[=:]", line)
        if name and name[1] in keys:
            comment = re.search(r"[#;].*$", line)
            line = f"{name[1]} ... {comment[0] if comment else ''}"
        lines.append(" ".join(line.split()))
    return lines


@check
def nothing_else_touched(workspace: Path) -> float:
    """Comments, order and other lines are kept, in files whose settings are right."""
    return all(
        settings_right(workspace, service)
        and skeleton(service, output(workspace, path)) == skeleton(service, original(path))
        for service, path in FILES.items()
    )


def change_rows(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/changes.csv", COLUMNS)


@check
def decisions_right(workspace: Path) -> float:
    found = {(r["no"], r["service"], r["key"]): r["decision"] for r in change_rows(workspace)}
    right = sum(found.get((r["no"], r["service"], r["key"])) == r["decision"] for r in ROWS)
    return share(right, max(len(ROWS), len(found)))


@check
def changes_exact(workspace: Path) -> float:
    return change_rows(workspace) == ROWS


@check
def rollback_right(workspace: Path) -> float:
    wanted = {service: values for service, values in CHANGED.items() if values}
    found = object_keys(output_json(workspace, "output/rollback.json"), list(wanted))
    return all({k: str(v) for k, v in found[s].items()} == values for s, values in wanted.items())


@check
def note_numbers(workspace: Path) -> float:
    text = section(output(workspace, "output/note.md"), REQUEST)
    applied = is_int(labelled(text, "Applied"), len(ROWS) - len(DECLINED))
    names = labelled(text, "Services to restart").rstrip(".")
    return (
        applied
        and is_int(labelled(text, "Declined"), len(DECLINED))
        and names == ", ".join(sorted(service for service, values in CHANGED.items() if values))
    )


@check
def note_declined_rows(workspace: Path) -> float:
    items = [item for item in bullets(section(output(workspace, "output/note.md"), REQUEST)) if item.startswith("No ")]
    return items == [f"No {row['no']}: {row['decision']}" for row in DECLINED]
