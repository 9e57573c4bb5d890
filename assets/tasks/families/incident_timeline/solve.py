"""Build the incident timeline from the three logs."""

import configparser
import csv
import json
import re
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

START = "2026-03-02T14:00:00Z"
END = "2026-03-02T15:00:00Z"

LEVEL = r' (INFO|WARN|ERROR|DEBUG) .*msg="([^"]*)"$'
PATTERNS = {
    "gateway": re.compile(r"^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\.\d+Z" + LEVEL),
    "worker": re.compile(r"^\[(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} [+-]\d{4})\]" + LEVEL),
    "db": re.compile(r"^(\d+)\.\d+" + LEVEL),
}


def to_utc(service: str, raw: str) -> datetime:
    """Each shipper writes time in its own way."""
    if service == "gateway":
        return datetime.fromisoformat(raw + "+00:00")
    if service == "worker":
        return datetime.strptime(raw, "%Y-%m-%d %H:%M:%S %z").astimezone(timezone.utc)
    return datetime.fromtimestamp(int(raw), timezone.utc)


entries = []
for service, pattern in PATTERNS.items():
    seen = set()
    for line in Path(f"logs/{service}.log").read_text().splitlines():
        match = pattern.match(line)
        if not match or line in seen:
            continue
        seen.add(line)
        status = re.search(r"status=(\d+)", line)
        when = to_utc(service, match.group(1))
        entries.append((when, service, match.group(2), match.group(3), int(status.group(1)) if status else None))

form = "%Y-%m-%dT%H:%M:%SZ"
timeline = [
    (when.strftime(form), service, level, message)
    for when, service, level, message, _ in entries
    if level in ("WARN", "ERROR") and START <= when.strftime(form) <= END
]
timeline.sort(key=lambda row: (row[0], row[1], row[3]))

Path("output").mkdir(exist_ok=True)
with open("output/timeline.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["time_utc", "service", "level", "message"])
    writer.writerows(timeline)

config = configparser.ConfigParser()
config.read("config/alerts.ini")
minutes = config.getint("window", "minutes")
limit = config.getfloat("threshold", "error_percent")
least = config.getint("threshold", "min_requests")
requests: Counter[datetime] = Counter()
errors: Counter[datetime] = Counter()
for when, service, _, _, code in entries:
    if service == "gateway" and code is not None:
        window = when.replace(minute=when.minute // minutes * minutes, second=0)
        requests[window] += 1
        errors[window] += code >= 500

windows: list[dict[str, Any]] = []
for window in sorted(requests):
    percent = 100 * errors[window] / requests[window]
    windows.append(
        {
            "start": window.strftime(form),
            "requests": requests[window],
            "errors": errors[window],
            "error_percent": round(percent, 2),
            "breach": percent >= limit and requests[window] >= least,
        }
    )
Path("output/windows.json").write_text(json.dumps(windows, indent=2) + "\n")

breaches = [w for w in windows if w["breach"]]
end = datetime.strptime(breaches[-1]["start"], form) + timedelta(minutes=minutes)
first = next(row for row in timeline if row[2] == "ERROR")
counts = Counter((row[1], row[2]) for row in timeline)
lines = [
    "# Incident summary",
    "",
    f"- Start: {breaches[0]['start']}",
    f"- End: {end.strftime(form)}",
    f"- Peak error rate: {max(w['error_percent'] for w in breaches):.2f} %",
    f"- First error: {first[0]} {first[1]}",
    "",
    "| Service | WARN | ERROR |",
    "| --- | --- | --- |",
]
lines += [f"| {name} | {counts[name, 'WARN']} | {counts[name, 'ERROR']} |" for name in sorted(PATTERNS)]
Path("output/incident.md").write_text("\n".join(lines) + "\n")
print(len(timeline), "timeline entries,", len(breaches), "of", len(windows), "windows in breach")
