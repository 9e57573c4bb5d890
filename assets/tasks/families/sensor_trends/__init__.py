"""Family `sensor_trends`: temperature readings are cleaned, summed up by day, watched for alarms and trends.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

SITES: Final = ("boiler room", "cold store", "greenhouse", "server room", "archive", "workshop", "pool hall")
FLOOR: Final = -40
CEILING: Final = 60


@dataclass(frozen=True)
class Sensor:
    """A sensor as it is meant; hundredths of a degree Celsius."""

    name: str
    site: str
    low: int
    high: int
    offset: int
    unit: str


@dataclass(frozen=True)
class Reading:
    """A clean reading: when, and its calibrated value as an exact fraction of degrees."""

    sensor: Sensor
    moment: datetime
    celsius: Fraction


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    run_length, steady = rng.choice((3, 4)), rng.choice((Fraction(3, 10), Fraction(1, 2), Fraction(4, 5)))
    sensors = _sensors(rng)
    start = datetime(2026, rng.randint(1, 10), rng.randint(1, 20), tzinfo=UTC)
    lines, clean, dropped = _readings(rng, sensors, start, run_length)
    while any(abs(abs(change) - steady) < Fraction(1, 100) for change in _changes(clean)):
        lines, clean, dropped = _readings(rng, sensors, start, run_length)
    shown = f"{float(steady):g}"
    inputs = {
        "data/readings.jsonl": "\n".join(lines) + "\n",
        "data/calibration.yaml": "# degrees Celsius, added to the converted value\noffsets:\n"
        + "".join(f"  {s.name}: {s.offset / 100:.2f}\n" for s in sensors if s.offset),
        "data/sensors.csv": "sensor,site,low,high\n"
        + "".join(f"{s.name},{s.site},{s.low / 100:.1f},{s.high / 100:.1f}\n" for s in sensors),
    }
    errand = "The temperature probes of last week need a proper evaluation."
    text = told(
        __file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng, "data/"), run=run_length,
        steady=shown, floor=FLOOR, ceiling=CEILING,
    )  # fmt: skip
    constants = {"FLOOR": FLOOR, "CEILING": CEILING, "RUN": run_length, "STEADY": shown}
    return Draft(
        text, inputs, _oracle(clean, dropped, run_length, steady), constants, _plan(rng, run_length, float(steady))
    )


def _sensors(rng: random.Random) -> list[Sensor]:
    names = rng.sample([f"{letter}{number}" for letter in "abcd" for number in range(10, 40)], 5)
    sites = [rng.choice(rng.sample(SITES, 3)) for _ in names]
    units = ["F", "F", "C", "C", "C"]
    rng.shuffle(units)
    offsets = [0, *(rng.choice((-75, -40, 30, 55, 120)) for _ in names[1:])]
    rng.shuffle(offsets)
    return [
        Sensor(f"t-{name}", site, 100 * (low := rng.randint(2, 16)), 100 * (low + rng.randint(4, 7)), offset, unit)
        for name, site, offset, unit in zip(names, sites, offsets, units, strict=True)
    ]


def _readings(
    rng: random.Random, sensors: list[Sensor], start: datetime, run_length: int
) -> tuple[list[str], list[Reading], int]:
    """Lines of the raw file, clean readings, and the number of probe faults."""
    rows: list[tuple[datetime, str]] = []
    clean, dropped = [], 0
    for sensor in sensors:
        times = [start + timedelta(hours=4 * i, minutes=rng.randint(0, 59)) for i in range(rng.randint(16, 20))]
        hot = rng.randrange(2, len(times) - run_length - 2)
        drift = rng.choice((-2, 0, 3))
        for i, moment in enumerate(times):
            outside = hot <= i < hot + run_length + rng.randint(0, 1) or (
                i in (0, len(times) - 1) and rng.random() < 0.5
            )
            wanted = sensor.high + rng.randint(40, 300) if outside else rng.randint(sensor.low + 40, sensor.high - 40)
            fault = not outside and i % 7 == 5
            raw = 9990 if fault else wanted + (0 if outside else drift * i // 2) - sensor.offset
            value, celsius = _as_sent(sensor, raw)
            row = _line(sensor, moment, value)
            if not fault and i % 6 == 4:
                stale, _ = _as_sent(sensor, raw + rng.randint(60, 200))
                rows.append((moment - timedelta(seconds=1), _line(sensor, moment, stale)))
            rows.append((moment, row))
            if FLOOR <= celsius <= CEILING:
                clean.append(Reading(sensor, moment, celsius))
            else:
                dropped += 1
    return _with_noise(rng, [line for _, line in sorted(rows)], sensors), clean, dropped


def _as_sent(sensor: Sensor, raw: int) -> tuple[str, Fraction]:
    """What the sensor sends for hundredths of a degree, and what that means after conversion and calibration."""
    if sensor.unit == "C":
        return f"{raw / 100:.2f}", Fraction(raw + sensor.offset, 100)
    tenths = round(raw * 9 / 50 + 320)
    return f"{tenths / 10:.1f}", (Fraction(tenths, 10) - 32) * 5 / 9 + Fraction(sensor.offset, 100)


def _line(sensor: Sensor, moment: datetime, value: str) -> str:
    return (
        f'{{"sensor": "{sensor.name}", "at": "{moment:%Y-%m-%dT%H:%M:%SZ}", "value": {value}, "unit": "{sensor.unit}"}}'
    )


def _with_noise(rng: random.Random, lines: list[str], sensors: list[Sensor]) -> list[str]:
    """Null and textual values, an unknown sensor, cut lines; all at times of their own."""
    at = "2026-01-01T00:00:00Z"
    noise = [f'{{"sensor": "{s.name}", "at": "{at}", "value": null, "unit": "{s.unit}"}}' for s in sensors[:2]]
    noise += [f'{{"sensor": "{sensors[2].name}", "at": "{at}", "value": "n/a", "unit": "C"}}']
    noise += [f'{{"sensor": "t-zz", "at": "{at}", "value": {rng.randint(5, 30)}.5, "unit": "C"}}'] * 2
    noise += [line[: rng.randint(20, len(line) - 3)] for line in rng.sample(lines, 2)]
    for line in noise:
        lines.insert(rng.randint(0, len(lines)), line)
    return lines


def _two(value: Fraction) -> str:
    return f"{float(value):.2f}"


def _changes(clean: list[Reading]) -> list[Fraction]:
    """Last daily mean less the first, for each sensor; too near to the limit of steady and floats would decide."""
    found = []
    for name in sorted({reading.sensor.name for reading in clean}):
        days: dict[str, list[Fraction]] = {}
        for reading in clean:
            if reading.sensor.name == name:
                days.setdefault(f"{reading.moment:%Y-%m-%d}", []).append(reading.celsius)
        means = [sum(values, Fraction(0)) / len(values) for _, values in sorted(days.items())]
        found.append(means[-1] - means[0])
    return found


def _oracle(clean: list[Reading], dropped: int, run_length: int, steady: Fraction) -> dict[str, str]:
    """Outputs from the readings as they are meant."""
    days: dict[tuple[str, str, str], list[Fraction]] = {}
    for reading in clean:
        days.setdefault((reading.sensor.site, reading.sensor.name, f"{reading.moment:%Y-%m-%d}"), []).append(
            reading.celsius
        )
    daily = "".join(
        f"{site},{name},{day},{len(v)},{_two(sum(v, Fraction(0)) / len(v))},{_two(min(v))},{_two(max(v))}\n"
        for (site, name, day), v in sorted(days.items())
    )
    trends = ["# Trends", "", "| Sensor | First day | Last day | Change | Trend |", "| --- | --- | --- | --- | --- |"]
    for name in sorted({reading.sensor.name for reading in clean}):
        means = [sum(v, Fraction(0)) / len(v) for (_, sensor, _), v in sorted(days.items()) if sensor == name]
        change = means[-1] - means[0]
        word = "steady" if abs(change) < steady else "rising" if change > 0 else "falling"
        trends.append(f"| {name} | {_two(means[0])} | {_two(means[-1])} | {_two(change)} | {word} |")
    trends += ["", f"Dropped readings: {dropped}"]
    return {
        "output/daily.csv": f"site,sensor,day,count,mean,min,max\n{daily}",
        "output/alarms.json": json.dumps(_alarms(clean, run_length), indent=2) + "\n",
        "output/trends.md": "\n".join(trends) + "\n",
    }


def _alarms(clean: list[Reading], run_length: int) -> list[dict[str, object]]:
    found = []
    for sensor in {reading.sensor for reading in clean}:
        runs: list[list[tuple[datetime, Fraction]]] = [[]]
        for reading in sorted((r for r in clean if r.sensor == sensor), key=lambda r: r.moment):
            excess = max(Fraction(sensor.low, 100) - reading.celsius, reading.celsius - Fraction(sensor.high, 100))
            if excess > 0:
                runs[-1].append((reading.moment, excess))
            else:
                runs.append([])
        for item in runs:
            if len(item) >= run_length:
                found.append((item[0][0], sensor.name, item[-1][0], len(item), max(excess for _, excess in item)))
    return [
        {"sensor": name, "start": f"{start:%Y-%m-%dT%H:%M:%SZ}", "end": f"{end:%Y-%m-%dT%H:%M:%SZ}", "readings": count,
         "worst": round(float(worst), 2)}
        for start, name, end, count, worst in sorted(found)
    ]  # fmt: skip


def _plan(rng: random.Random, run_length: int, steady: float) -> Plan:
    name = rng.choice(("scripts/trends.py", "work/evaluate.py", "evaluate.py"))
    source = script(__file__, RUN=run_length, STEADY=steady)
    steps = [
        look(rng.choice(("ls -l data", "wc -l data/*"))),
        read("data/sensors.csv", "Sensors and calibration first."),
        read("data/calibration.yaml", beside=True),
        run("head -5 data/readings.jsonl; cut -d'\"' -f4 data/readings.jsonl | sort | uniq -c;"
            " grep -c null data/readings.jsonl; grep -vn '}$' data/readings.jsonl",
            "How many readings has each sensor, and what is broken?", phase="explore"),
        write(name, source, "I'll write the evaluation as one script, in the order of the cleaning rules."),
        run(f"python3 {name}", "Run it."),
        verify("head -7 output/daily.csv; cat output/trends.md", "Are the values plausible for the ranges?"),
        read("output/alarms.json", "And the alarms.", phase="check"),
        verify("python3 -c \"import csv; r=list(csv.DictReader(open('output/daily.csv')));"
               " print(sum(int(x['count']) for x in r), min(float(x['min']) for x in r),"
               " max(float(x['max']) for x in r))\"",
               "A last consistency check."),
    ]  # fmt: skip
    slips = [
        Slip(1, read("data/calibration.yml"), "The file is calibration.yaml."),
        Slip(5, run(f"cd data && python3 {name}"), "The script has to run from the workspace root."),
    ]
    no_units = changed(source, ('if record["unit"] == "F":', 'if record["unit"] == "f":'))
    no_floor = changed(source, ("if FLOOR <= value <= CEILING", "if True"))
    any_run = changed(source, ("if len(streak) >= RUN:", "if streak:"))
    flaws = [
        Flaw("fahrenheit_not_converted", {4: rewritten(steps[4], no_units)}, loss="large"),
        Flaw("faults_kept", {4: rewritten(steps[4], no_floor)}, loss="large"),
        Flaw("short_runs_reported", {4: rewritten(steps[4], any_run)}, loss="small"),
        Flaw("trends_forgotten", {5: run(f"python3 {name} && rm output/trends.md", "Run it.")}, loss="small"),
    ]
    closing = "Daily values, alarms and trends are in output/."
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="sensor_trends",
    bench_category="Analysis & Reasoning",
    settings=(
        Setting("Analysis and Decision Support", "trend monitoring and detection"),
        Setting("Automation and Workflows", "automated inspection and handling"),
    ),
    operations=(
        "read local files and extract relevant content",
        "extract structured data from files or web content",
        "compute basic statistics and aggregates",
        "run scripts or command-line programs",
    ),
    difficulty=3,
    folder=Path(__file__).parent,
    draft=draft,
    protocol="reward_booleans",
    domains=("research and laboratory", "energy and facilities"),
    skill_words=("sensors", "metrics", "monitoring"),
)
