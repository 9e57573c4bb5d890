"""Verifier of `env_migration`: moves the settings itself, token by token, and compares."""

from __future__ import annotations

import json
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    ORIGINALS,
    check,
    is_int,
    object_keys,
    original,
    original_csv,
    output,
    output_csv,
    output_json,
    share,
)

EDITED = ("deploy/start.sh", "deploy/monitor.yaml", "docs/operations.md")
MAPPING = {row["old"]: row for row in original_csv("migration/mapping.csv")}
PORTS: dict[str, int] = json.loads(original("migration/ports.json"))
TRUE = {"yes", "on", "true", "1"}


def ini(text: str) -> dict[str, str]:
    """`section.key` to raw value."""
    found, section = {}, ""
    for raw in text.splitlines():
        line = re.split(r"(?:^|\s)[;#]", raw, maxsplit=1)[0].strip()
        if line.startswith("["):
            section = line.strip("[]")
        elif line:
            key, value = re.split(r"\s*[=:]\s*", line, maxsplit=1)
            found[f"{section}.{key.lower()}"] = value
    return found


OLD = {path.split("/")[1]: ini(original(path)) for path in sorted(ORIGINALS) if path.endswith("/settings.ini")}


def row_of(service: str, old: str) -> dict[str, str]:
    """The row of migration.csv."""
    section, _, key = old.partition(".")
    rule = MAPPING.get(old) or MAPPING.get(f"{section}.*")
    new = rule["new"].replace("*", key) if rule else f"legacy.{section}_{key}"
    outcome = "unmapped" if rule is None else "dropped" if new == "-" else "moved"
    return {"service": service, "old": old, "new": new, "outcome": outcome}


ROWS = [row_of(service, old) for service in sorted(OLD) for old in sorted(OLD[service])]
NAMES = {f"{row['service']}:{row['old']}": row["new"] for row in ROWS if row["new"] != "-"}
TOKEN = re.compile(r"\$\{[\w-]+:\w+\.\w+\}|services/[\w-]+/settings\.ini|[\w.-]+:\d+")
DANGLING: set[str] = set()


def moved(text: str) -> str:
    """A text with the references, addresses and paths of the new settings."""

    def one(match: re.Match[str]) -> str:
        token = match[0]
        if token.startswith("$"):
            if token[2:-1] in NAMES:
                return "${" + token[2:].partition(":")[0] + ":" + NAMES[token[2:-1]] + "}"
            DANGLING.add(token[2:-1])
        elif token.startswith("services/"):
            return re.sub("ini$", "toml", token) if token.split("/")[1] in OLD else token
        else:
            host, port = token.split(":")
            if host in PORTS and OLD[host]["http.port"] == port:
                return f"{host}:{PORTS[host]}"
        return token

    return TOKEN.sub(one, text)


def value_of(service: str, old: str) -> Any:
    raw = OLD[service][old]
    rule = MAPPING.get(old) or MAPPING.get(old.split(".")[0] + ".*")
    kind = rule["type"] if rule else "str"
    if kind == "int":
        return PORTS.get(service, int(raw)) if old == "http.port" else int(raw)
    if kind == "bool":
        return raw.lower() in TRUE
    if kind in ("seconds", "bytes"):
        size = int(re.sub(r"\D", "", raw))
        unit = re.sub(r"[\d\s]", "", raw)
        return size // 1000 if unit == "ms" else size * {"m": 60, "h": 3600, "k": 2**10, "M": 2**20}.get(unit, 1)
    if kind == "list":
        return [moved(part.strip()) for part in raw.split(",")]
    return moved(re.sub(r'^"(.*)"$', r"\1", raw))


SETTINGS = {
    service: {
        row["new"]: value_of(service, row["old"]) for row in ROWS if row["service"] == service and row["new"] != "-"
    }
    for service in OLD
}
TEXTS = {path: moved(original(path)) for path in EDITED}


@lru_cache(maxsize=32)
def flat(text: str) -> dict[str, Any]:
    """A TOML text as `table.key` to value."""
    tables: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {f"{table}.{key}": value for table, values in tables.items() for key, value in values.items()}


def settings_right(workspace: Path, service: str) -> float:
    """Share of settings with the right name, type and value."""
    found, wanted = flat(output(workspace, f"services/{service}/settings.toml")), SETTINGS[service]
    right = sum(name in found and type(found[name]) is type(v) and found[name] == v for name, v in wanted.items())
    return share(right, max(len(found), len(wanted)))


@check
def billing_settings(workspace: Path) -> float:
    return settings_right(workspace, "billing")


@check
def gateway_settings(workspace: Path) -> float:
    return settings_right(workspace, "gateway")


@check
def mailer_settings(workspace: Path) -> float:
    return settings_right(workspace, "mailer")


@check
def search_settings(workspace: Path) -> float:
    return settings_right(workspace, "search")


@check
def all_settings_exact(workspace: Path) -> float:
    return all(settings_right(workspace, service) == 1.0 for service in OLD)


def edited(workspace: Path, path: str) -> bool:
    """Whether a text is as it must be, blank lines and ends of lines aside."""
    lines = [line.rstrip() for line in output(workspace, path).splitlines() if line.strip()]
    return lines == [line.rstrip() for line in TEXTS[path].splitlines() if line.strip()]


@check
def start_script_follows(workspace: Path) -> float:
    return edited(workspace, "deploy/start.sh")


@check
def monitor_follows(workspace: Path) -> float:
    return edited(workspace, "deploy/monitor.yaml")


@check
def operations_follow(workspace: Path) -> float:
    return edited(workspace, "docs/operations.md")


@check
def migration_listed(workspace: Path) -> float:
    return output_csv(workspace, "output/migration.csv", ["service", "old", "new", "outcome"]) == ROWS


def report(workspace: Path) -> dict[str, Any]:
    keys = ["moved", "dropped", "unmapped", "dangling", "lines_changed"]
    return object_keys(output_json(workspace, "output/report.json"), keys)


@check
def outcomes_counted(workspace: Path) -> float:
    found = report(workspace)
    outcomes = [row["outcome"] for row in ROWS]
    return all(is_int(found[name], outcomes.count(name)) for name in ("moved", "dropped", "unmapped"))


@check
def dangling_listed(workspace: Path) -> float:
    return bool(report(workspace)["dangling"] == sorted(DANGLING))


@check
def changed_lines_counted(workspace: Path) -> float:
    found = object_keys(report(workspace)["lines_changed"], list(EDITED))
    pairs = {path: zip(original(path).split("\n"), TEXTS[path].split("\n"), strict=True) for path in EDITED}
    return all(is_int(found[path], sum(a != b for a, b in pairs[path])) for path in EDITED)
