"""Move the settings of the services from INI to TOML, and what refers to them along."""

import configparser
import csv
import json
import re
from pathlib import Path
from typing import Any

EDITED = ["deploy/start.sh", "deploy/monitor.yaml", "docs/operations.md"]
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "k": 1024, "M": 1024 * 1024, "": 1}

with open("migration/mapping.csv", newline="") as file:
    mapping = {row["old"]: (row["new"], row["type"]) for row in csv.DictReader(file)}
new_ports = json.loads(Path("migration/ports.json").read_text())

old: dict[str, dict[str, str]] = {}
for path in sorted(Path("services").glob("*/settings.ini")):
    parser = configparser.ConfigParser(interpolation=None, inline_comment_prefixes=(";", "#"))
    parser.read_string(path.read_text("utf-8"))
    old[path.parent.name] = {f"{s}.{k}": v for s in parser.sections() for k, v in parser[s].items()}


def target(name: str) -> tuple[str, str, str]:
    """New name, type and outcome of an old name."""
    section, key = name.split(".", 1)
    if f"{section}.*" in mapping:
        new, kind = mapping[f"{section}.*"]
        return new.replace("*", key), kind, "moved"
    if name not in mapping:
        return f"legacy.{section}_{key}", "str", "unmapped"
    new, kind = mapping[name]
    return new, kind, "dropped" if new == "-" else "moved"


dangling: set[str] = set()


def reference(match: re.Match[str]) -> str:
    service, name = match[1], match[2]
    if name not in old.get(service, {}) or target(name)[0] == "-":
        dangling.add(f"{service}:{name}")
        return match[0]
    return "${" + f"{service}:{target(name)[0]}" + "}"


def address(match: re.Match[str]) -> str:
    service, port = match[1], match[2]
    if old.get(service, {}).get("http.port") == port and service in new_ports:
        return f"{service}:{new_ports[service]}"
    return match[0]


def config_path(match: re.Match[str]) -> str:
    return f"services/{match[1]}/settings.toml" if match[1] in old else match[0]


def follow(text: str) -> str:
    text = re.sub(r"\$\{([\w-]+):([\w.]+)\}", reference, text)
    text = re.sub(r"(?<![\w.-])([\w-]+):(\d+)\b", address, text)
    return re.sub(r"services/([\w-]+)/settings\.ini", config_path, text)


def typed(kind: str, text: str) -> Any:
    if kind == "int":
        return int(text)
    if kind == "bool":
        return text.lower() in ("yes", "on", "true", "1")
    if kind in ("seconds", "bytes"):
        parts = re.fullmatch(r"(\d+)\s*([a-zA-Z]*)", text)
        assert parts, text
        return round(int(parts[1]) * UNITS[parts[2]])
    if kind == "list":
        return [follow(part.strip()) for part in text.split(",")]
    return follow(text[1:-1] if text.startswith('"') else text)


rows = []
for service, settings in old.items():
    tables: dict[str, dict[str, Any]] = {}
    for name, text in settings.items():
        new, kind, outcome = target(name)
        rows.append([service, name, new, outcome])
        if outcome == "dropped":
            continue
        table, key = new.split(".", 1)
        value = typed(kind, text)
        if name == "http.port":
            value = new_ports.get(service, value)
        tables.setdefault(table, {})[key] = value
    lines = []
    for table in sorted(tables):
        lines.append(f"[{table}]")
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in tables[table].items()]
        lines.append("")
    Path(f"services/{service}/settings.toml").write_text("\n".join(lines), "utf-8")

counts = {}
for name in EDITED:
    before = Path(name).read_text("utf-8")
    after = "\n".join(follow(line) for line in before.split("\n"))
    counts[name] = sum(a != b for a, b in zip(before.split("\n"), after.split("\n"), strict=True))
    Path(name).write_text(after, "utf-8")

Path("output").mkdir(exist_ok=True)
with open("output/migration.csv", "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["service", "old", "new", "outcome"])
    writer.writerows(sorted(rows))
outcomes = [row[3] for row in rows]
report = {name: outcomes.count(name) for name in ("moved", "dropped", "unmapped")}
Path("output/report.json").write_text(
    json.dumps({**report, "dangling": sorted(dangling), "lines_changed": counts}, indent=2) + "\n"
)
