"""Verifier of `sensor_trends`: cleans the readings again and recomputes days, alarms and trends exactly."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    check,
    is_int,
    labelled,
    md_table,
    number,
    object_keys,
    original,
    original_csv,
    original_yaml,
    output,
    output_csv,
    output_json,
    section,
)

FLOOR = -40
CEILING = 60
RUN = 3
STEADY = "0.5"

SENSORS = {row["sensor"]: row for row in original_csv("data/sensors.csv")}
OFFSETS = {name: Fraction(value) for name, value in original_yaml("data/calibration.yaml")["offsets"].items()}


def exact(text: str) -> Fraction:
    return Fraction(text)


def clean() -> tuple[dict[str, list[tuple[str, Fraction]]], int]:
    """Clean readings of each sensor by time, and the number dropped as faults."""
    latest: dict[tuple[str, str], Fraction] = {}
    for line in original("data/readings.jsonl").splitlines():
        try:
            record = json.loads(line, parse_float=exact, parse_int=exact)
        except ValueError:
            continue
        value = record["value"]
        if not isinstance(value, Fraction) or record["sensor"] not in SENSORS:
            continue
        celsius = (value - 32) * 5 / 9 if record["unit"] == "F" else value
        latest[record["sensor"], record["at"]] = celsius + OFFSETS.get(record["sensor"], Fraction(0))
    kept = {key: value for key, value in latest.items() if FLOOR <= value <= CEILING}
    series: dict[str, list[tuple[str, Fraction]]] = {}
    for (sensor, at), value in sorted(kept.items()):
        series.setdefault(sensor, []).append((at, value))
    return series, len(latest) - len(kept)


SERIES, DROPPED = clean()


def days() -> dict[tuple[str, str, str], list[Fraction]]:
    found: dict[tuple[str, str, str], list[Fraction]] = {}
    for sensor, readings in SERIES.items():
        for at, value in readings:
            found.setdefault((SENSORS[sensor]["site"], sensor, at[:10]), []).append(value)
    return dict(sorted(found.items()))


def alarms() -> list[dict[str, Any]]:
    found = []
    for sensor, readings in SERIES.items():
        low, high = Fraction(SENSORS[sensor]["low"]), Fraction(SENSORS[sensor]["high"])
        run: list[tuple[str, Fraction]] = []
        for at, value in [*readings, ("", low)]:
            distance = max(low - value, value - high)
            if distance > 0:
                run.append((at, distance))
                continue
            if len(run) >= RUN:
                worst = max(d for _, d in run)
                found.append(
                    {"sensor": sensor, "start": run[0][0], "end": run[-1][0], "readings": len(run), "worst": worst}
                )
            run = []
    return sorted(found, key=lambda a: (a["start"], a["sensor"]))


DAYS = days()
ALARMS = alarms()


def near(text: Any, value: Fraction) -> bool:
    """Whether a value is the exact one rounded to two decimals."""
    found = Fraction(str(number(text)))
    cents = Fraction(round(found * 100), 100)
    return abs(found - cents) <= Fraction(1, 10**6) and abs(cents - value) <= Fraction(5, 1000) + Fraction(1, 10**7)


def daily(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/daily.csv", ["site", "sensor", "day", "count", "mean", "min", "max"])


@check
def daily_rows(workspace: Path) -> float:
    return [(r["site"], r["sensor"], r["day"]) for r in daily(workspace)] == list(DAYS)


@check
def daily_counts(workspace: Path) -> float:
    found = {(r["site"], r["sensor"], r["day"]): r["count"] for r in daily(workspace)}
    return set(found) == set(DAYS) and all(is_int(found[key], len(values)) for key, values in DAYS.items())


@check
def daily_means(workspace: Path) -> float:
    found = {(r["site"], r["sensor"], r["day"]): r for r in daily(workspace)}
    return set(found) == set(DAYS) and all(
        near(found[k]["mean"], sum(v, Fraction(0)) / len(v)) for k, v in DAYS.items()
    )


@check
def daily_extremes(workspace: Path) -> float:
    found = {(r["site"], r["sensor"], r["day"]): r for r in daily(workspace)}
    return set(found) == set(DAYS) and all(
        near(found[k]["min"], min(v)) and near(found[k]["max"], max(v)) for k, v in DAYS.items()
    )


def listed_alarms(workspace: Path) -> list[dict[str, Any]]:
    keys = ["sensor", "start", "end", "readings", "worst"]
    return [object_keys(item, keys) for item in output_json(workspace, "output/alarms.json")]


@check
def alarms_found(workspace: Path) -> float:
    wanted = [(a["sensor"], a["start"], a["end"]) for a in ALARMS]
    return [(a["sensor"], a["start"], a["end"]) for a in listed_alarms(workspace)] == wanted


@check
def alarms_measured(workspace: Path) -> float:
    found = listed_alarms(workspace)
    return len(found) == len(ALARMS) and all(
        is_int(f["readings"], a["readings"]) and not isinstance(f["worst"], str) and near(f["worst"], a["worst"])
        for f, a in zip(found, ALARMS, strict=True)
    )


def means(sensor: str) -> tuple[Fraction, Fraction]:
    mine = [values for (_, name, _), values in DAYS.items() if name == sensor]
    first, last = mine[0], mine[-1]
    return sum(first, Fraction(0)) / len(first), sum(last, Fraction(0)) / len(last)


def table(workspace: Path) -> list[list[str]]:
    text = section(output(workspace, "output/trends.md"), "Trends")
    return md_table(text, ["Sensor", "First day", "Last day", "Change", "Trend"])


@check
def trend_values(workspace: Path) -> float:
    rows = table(workspace)
    if [row[0] for row in rows] != sorted(SERIES):
        return 0.0
    pairs = [(row, *means(row[0])) for row in rows]
    return all(near(r[1], a) and near(r[2], b) and near(r[3].lstrip("+"), b - a) for r, a, b in pairs)


@check
def trend_words(workspace: Path) -> float:
    limit = Fraction(STEADY)
    wanted = []
    for sensor in sorted(SERIES):
        first, last = means(sensor)
        word = "rising" if last - first >= limit else "falling" if last - first <= -limit else "steady"
        wanted.append((sensor, word))
    return [(row[0], row[4].lower()) for row in table(workspace)] == wanted


@check
def dropped_counted(workspace: Path) -> float:
    return is_int(labelled(output(workspace, "output/trends.md"), "Dropped readings"), DROPPED)
