"""Roll up CSV files into a JSON report; see docs/SPEC.md."""

import csv
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

DELIMITER = ","
ERROR = 2
NULLS_FIRST = False
OPS = ("count", "sum", "mean", "min", "max")


class RollupError(Exception):
    pass


def load(config_path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(config_path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RollupError(f"cannot read {config_path}: {error}") from error


def read_rows(config: dict[str, Any]) -> tuple[list[dict[str, str]], int]:
    needed = [*config["group"]["by"], *(m["column"] for m in config["measure"] if m["op"] != "count")]
    if "filter" in config:
        needed.append(config["filter"]["column"])
    source = config["source"]
    files = sorted(p for p in Path(source["folder"]).glob(source["pattern"]) if p.is_file())
    if not files:
        raise RollupError(f"no file matches {source['pattern']} in {source['folder']}")
    rows: list[dict[str, str]] = []
    for file in files:
        with file.open(newline="", encoding="utf-8") as handle:
            reader = csv.reader(handle, delimiter=DELIMITER)
            header = [cell.strip() for cell in next(reader, [])]
            missing = [column for column in needed if column not in header]
            if missing:
                raise RollupError(f"{file.name} has no column {missing[0]}")
            rows += [dict(zip(header, (cell.strip() for cell in row), strict=False)) for row in reader if row]
    return rows, len(files)


def measure(spec: dict[str, Any], rows: list[dict[str, str]]) -> Any:
    if spec["op"] == "count":
        return len(rows)
    cells = [row.get(spec["column"], "") for row in rows]
    values = [float(cell) for cell in cells if re.fullmatch(r"-?\d+(\.\d+)?", cell)]
    if not values:
        return None
    if spec["op"] == "min":
        return min(values)
    if spec["op"] == "max":
        return max(values)
    total = sum(values) if spec["op"] == "sum" else sum(values) / len(values)
    return round(total, spec.get("decimals", 2))


def rollup(config: dict[str, Any]) -> tuple[list[dict[str, Any]], int, int]:
    names = [m["name"] for m in config["measure"]]
    for spec in config["measure"]:
        if spec["op"] not in OPS:
            raise RollupError(f"unknown op {spec['op']}")
    sort = config.get("sort", {})
    if "by" in sort and sort["by"] not in names:
        raise RollupError(f"sort.by {sort['by']} is no measure")
    rows, files = read_rows(config)
    if "filter" in config:
        wanted = config["filter"]
        rows = [row for row in rows if row.get(wanted["column"], "") in wanted["keep"]]
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    by = config["group"]["by"]
    for row in rows:
        groups.setdefault(tuple(row.get(column, "") for column in by), []).append(row)
    result = []
    for cells in sorted(groups):
        values = {m["name"]: measure(m, groups[cells]) for m in config["measure"]}
        result.append({**dict(zip(by, cells, strict=True)), **values})
    if "by" in sort:
        known = [item for item in result if item[sort["by"]] is not None]
        unknown = [item for item in result if item[sort["by"]] is None]
        known.sort(key=lambda item: -item[sort["by"]] if sort.get("descending") else item[sort["by"]])
        result = unknown + known if NULLS_FIRST else known + unknown
    return result[: sort.get("limit", len(result))], len(rows), files


def main() -> int:
    config_path, out = sys.argv[1:]
    try:
        result, rows, files = rollup(load(config_path))
    except RollupError as error:
        print(f"error: {error}", file=sys.stderr)
        return ERROR
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(out).write_text(json.dumps(result, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(result)} groups from {rows} rows in {files} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
