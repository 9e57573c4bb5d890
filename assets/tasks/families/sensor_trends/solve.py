"""Clean the sensor readings; daily values, alarms and trends."""

import csv
import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean

FLOOR = -40
CEILING = 60
RUN = 3
STEADY = 0.5

with open("data/sensors.csv", newline="") as handle:
    sensors = {row["sensor"]: row for row in csv.DictReader(handle)}

offsets = {}
for raw in Path("data/calibration.yaml").read_text().splitlines():
    if raw.startswith("  "):
        name, _, text = raw.split("#")[0].strip().partition(":")
        offsets[name] = float(text)

latest: dict[tuple[str, str], float] = {}
for line in Path("data/readings.jsonl").read_text().splitlines():
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        continue
    value = record["value"]
    if not isinstance(value, int | float) or record["sensor"] not in sensors:
        continue
    if record["unit"] == "F":
        value = (value - 32) * 5 / 9
    value += offsets.get(record["sensor"], 0.0)
    latest[record["sensor"], record["at"]] = value

clean = {key: value for key, value in latest.items() if FLOOR <= value <= CEILING}
series: dict[str, list[tuple[str, float]]] = defaultdict(list)
for (sensor, at), value in sorted(clean.items()):
    series[sensor].append((at, value))

Path("output").mkdir(exist_ok=True)
daily: dict[tuple[str, str, str], list[float]] = defaultdict(list)
for sensor, readings in series.items():
    for at, value in readings:
        daily[sensors[sensor]["site"], sensor, at[:10]].append(value)
with open("output/daily.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["site", "sensor", "day", "count", "mean", "min", "max"])
    for key in sorted(daily):
        values = daily[key]
        numbers = (fmean(values), min(values), max(values))
        writer.writerow([*key, len(values), *(f"{number:.2f}" for number in numbers)])

alarms = []
for sensor, readings in series.items():
    low, high = float(sensors[sensor]["low"]), float(sensors[sensor]["high"])
    streak: list[tuple[str, float]] = []
    for at, value in [*readings, ("end", low)]:
        off = max(low - value, value - high)
        if off > 0:
            streak.append((at, off))
            continue
        if len(streak) >= RUN:
            worst = round(max(d for _, d in streak), 2)
            alarms.append(
                {"sensor": sensor, "start": streak[0][0], "end": streak[-1][0], "readings": len(streak), "worst": worst}
            )
        streak = []
alarms.sort(key=lambda a: (str(a["start"]), str(a["sensor"])))
Path("output/alarms.json").write_text(json.dumps(alarms, indent=2) + "\n")

lines = ["# Trends", "", "| Sensor | First day | Last day | Change | Trend |", "| --- | --- | --- | --- | --- |"]
for sensor in sorted(series):
    days = sorted(key for key in daily if key[1] == sensor)
    first, last = fmean(daily[days[0]]), fmean(daily[days[-1]])
    change = last - first
    trend = "rising" if change >= STEADY else "falling" if change <= -STEADY else "steady"
    lines.append(f"| {sensor} | {first:.2f} | {last:.2f} | {change:.2f} | {trend} |")
lines += ["", f"Dropped readings: {len(latest) - len(clean)}"]
Path("output/trends.md").write_text("\n".join(lines) + "\n")
print(len(clean), "clean readings,", len(alarms), "alarms")
