"""Family `config_rollout`: a change request is checked row by row and applied to three configuration files in place.

Belongs here: the generator. The verifier is `check.py`; `validate.py.txt` is the tool the agent finds in the workspace.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip, Step
from assets.tasks.route import changed, edit, look, plan, read, run, verify, write

FILES: Final = {"gateway": "config/gateway.toml", "worker": "config/worker.ini", "search": "config/search.yaml"}
NUMBERS: Final[dict[str, dict[str, tuple[int, int]]]] = {
    "gateway": {"server.workers": (1, 32), "server.timeout_s": (5, 120), "limits.body_kb": (16, 4096),
                "limits.rate_per_min": (10, 2000), "cache.ttl_s": (0, 3600)},
    "worker": {"queue.batch": (1, 200), "queue.retries": (0, 10), "queue.backoff_s": (1, 600), "jobs.parallel": (1, 16),
               "jobs.timeout_s": (10, 1800)},
    "search": {"index.shards": (1, 12), "index.refresh_s": (1, 120), "query.page_size": (10, 200),
               "query.max_terms": (1, 64)},
}  # fmt: skip
CHOICES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "gateway": {"server.log_level": ("debug", "info", "warning", "error")},
    "worker": {"jobs.mode": ("fair", "fifo", "priority")},
    "search": {"index.analyzer": ("standard", "english", "german", "simple")},
}
COMMENTS: Final = (
    "agreed with the platform team", "do not raise without a load test", "see the runbook", "measured in spring",
    "was lower before the move",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One row of the request, as decided."""

    no: int
    service: str
    key: str
    old: str
    new: str
    decision: str


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    request = f"CR-{rng.randint(1000, 9899)}"
    settings, broken = _settings(rng)
    frozen = sorted(
        f"{s}.{rng.choice([k for k in NUMBERS[s] if (s, k) != broken])}" for s in rng.sample(sorted(FILES), 2)
    )
    rows, after = _rows(rng, settings, broken, frozen)
    comments = {(s, k): rng.choice(COMMENTS) for s in FILES for k in rng.sample(sorted(settings[s]), 3)}
    files = {s: _file(s, settings[s], comments) for s in FILES}
    final = {s: _file(s, after[s], comments) for s in FILES}
    tool = Path(__file__).with_name("validate.py.txt").read_text("utf-8")
    limits = {
        "services": {
            s: {k: {"min": low, "max": high} for k, (low, high) in NUMBERS[s].items()}
            | {k: {"one_of": list(values)} for k, values in CHOICES[s].items()}
            for s in sorted(FILES)
        },
        "frozen": frozen,
    }
    inputs = {FILES[s]: text for s, text in files.items()}
    inputs |= {"config/limits.json": json.dumps(limits, indent=2) + "\n", "tools/validate.py": tool}
    inputs[f"requests/{request}.md"] = _request_md(rng, request, rows)
    example = rng.choice(sorted(settings["gateway"]))
    errand = f"Change request {request} has to be checked and rolled out to our settings."
    text = told(__file__, opening=opening(rng, persona, errand), request=request, example=example)
    oracle = {FILES[s]: final[s] for s in FILES if final[s] != files[s]} | _products(request, rows, settings, after)
    steps = _plan(rng, request, rows, oracle, files, settings, after, comments)
    return Draft(text, inputs, oracle, {"REQUEST": request}, steps, tuple(FILES.values()))


def _settings(rng: random.Random) -> tuple[dict[str, dict[str, str]], tuple[str, str]]:
    """All settings, one of them outside its range; which one."""
    settings = {
        s: {k: str(rng.randint(low, high)) for k, (low, high) in NUMBERS[s].items()}
        | {k: rng.choice(values) for k, values in CHOICES[s].items()}
        for s in sorted(FILES)
    }
    service = rng.choice(sorted(FILES))
    key = rng.choice(sorted(NUMBERS[service]))
    settings[service][key] = str(NUMBERS[service][key][1] + rng.randint(1, 50))
    return settings, (service, key)


def _rows(
    rng: random.Random, settings: dict[str, dict[str, str]], broken: tuple[str, str], frozen: list[str]
) -> tuple[list[Row], dict[str, dict[str, str]]]:
    """The request, every reason in it at least once, one key changed twice; and the settings after it."""
    free = [(s, k) for s in sorted(FILES) for k in NUMBERS[s] if f"{s}.{k}" not in frozen and (s, k) != broken]
    rng.shuffle(free)
    words = [(s, k) for s in sorted(FILES) for k in CHOICES[s]]
    wanted: list[tuple[str, str, str]] = [(*broken, _fresh(rng, settings, *broken))]
    one_each = [next((s, k) for s, k in free if s == service) for service in sorted(FILES) if service != broken[0]]
    wanted += [(s, k, _fresh(rng, settings, s, k)) for s, k in one_each]
    rest = [item for item in free if item not in one_each]
    wanted += [(s, k, _fresh(rng, settings, s, k)) for s, k in rest[:2]]
    twice = rest[0]
    service, key = rng.choice(words)
    wanted.append((service, key, rng.choice([v for v in CHOICES[service][key] if v != settings[service][key]])))
    other = rng.choice([w for w in words if w != (service, key)])
    wanted.append((*other, rng.choice(("verbose", "auto", "none"))))
    (s1, k1), (s2, k2), (s3, k3) = rest[2:5]
    wanted.append((s1, k1, str(NUMBERS[s1][k1][1] + rng.randint(1, 99))))
    wanted.append((s2, k2, settings[s2][k2]))
    wanted.append((s3, k3, rng.choice(("unlimited", "2.5", "off"))))
    wanted += [(f.split(".")[0], f.split(".", 1)[1], _fresh(rng, settings, *f.split(".", 1))) for f in frozen]
    wanted += [("gateway", "server.threads", "8"), (rng.choice(("mailer", "billing")), "queue.batch", "20")]
    rng.shuffle(wanted)
    first = next(value for s, k, value in wanted if (s, k) == twice)
    final = _fresh(rng, settings, *twice)
    while final == first:
        final = _fresh(rng, settings, *twice)
    wanted.append((*twice, final))
    return _decided(wanted, settings, frozen)


def _fresh(rng: random.Random, settings: dict[str, dict[str, str]], service: str, key: str) -> str:
    """A permitted value that is not the present one."""
    low, high = NUMBERS[service][key]
    while True:
        value = str(rng.randint(low, high))
        if value != settings[service].get(key):
            return value


def _decided(
    wanted: list[tuple[str, str, str]], settings: dict[str, dict[str, str]], frozen: list[str]
) -> tuple[list[Row], dict[str, dict[str, str]]]:
    after = {s: dict(values) for s, values in settings.items()}
    rows = []
    for no, (service, key, new) in enumerate(wanted, 1):
        known = key in after.get(service, {})
        old = after[service][key] if known else ""
        if not known:
            decision = "unknown_key"
        elif f"{service}.{key}" in frozen:
            decision = "frozen"
        elif not _allowed(service, key, new):
            decision = "not_allowed"
        elif new == old:
            decision = "no_change"
        else:
            decision = "applied"
            after[service][key] = new
        rows.append(Row(no, service, key, old, new, decision))
    return rows, after


def _allowed(service: str, key: str, value: str) -> bool:
    if key in CHOICES[service]:
        return value in CHOICES[service][key]
    low, high = NUMBERS[service][key]
    return value.isdigit() and low <= int(value) <= high


def _file(service: str, values: dict[str, str], comments: dict[tuple[str, str], str]) -> str:
    """A settings file in its own format, with comments."""
    lines = [f"# settings of {service}", ""]
    for name in dict.fromkeys(key.split(".")[0] for key in values):
        lines.append(f"{name}:" if service == "search" else f"[{name}]")
        for key, value in values.items():
            if key.split(".")[0] == name:
                lines.append(_setting(service, key, value) + _comment(service, key, comments))
        lines.append("")
    return "\n".join(lines)


def _setting(service: str, key: str, value: str) -> str:
    name = key.split(".")[1]
    quoted = value if value.isdigit() or service == "worker" else f'"{value}"'
    return f"  {name}: {quoted}" if service == "search" else f"{name} = {quoted}"


def _comment(service: str, key: str, comments: dict[tuple[str, str], str]) -> str:
    return f"  # {comments[service, key]}" if (service, key) in comments else ""


def _request_md(rng: random.Random, request: str, rows: list[Row]) -> str:
    who = rng.choice(("operations", "the search team", "the release board"))
    lines = [f"# {request}", "", f"Requested by {who}. Rows are to be handled from top to bottom.", ""]
    lines += ["| No | Service | Key | New value |", "| --- | --- | --- | --- |"]
    lines += [f"| {r.no} | {r.service} | {r.key} | {r.new} |" for r in rows]
    return "\n".join([*lines, "", "Questions go to the requester.", ""])


def _products(
    request: str, rows: list[Row], settings: dict[str, dict[str, str]], after: dict[str, dict[str, str]]
) -> dict[str, str]:
    """The three files about the rollout."""
    changes = "".join(f"{r.no},{r.service},{r.key},{r.old},{r.new},{r.decision}\n" for r in rows)
    undo = {s: {k: v for k, v in settings[s].items() if after[s][k] != v} for s in sorted(FILES)}
    undo = {s: values for s, values in undo.items() if values}
    declined = [r for r in rows if r.decision != "applied"]
    note = [f"# {request}", "", f"Applied: {len(rows) - len(declined)}", f"Declined: {len(declined)}"]
    note += [
        f"Services to restart: {', '.join(sorted(undo))}",
        "",
        *(f"- No {r.no}: {r.decision}" for r in declined),
        "",
    ]
    return {
        "output/changes.csv": f"no,service,key,old_value,new_value,decision\n{changes}",
        "output/rollback.json": json.dumps(undo, indent=2) + "\n",
        "output/note.md": "\n".join(note),
    }


def _pairs(
    service: str, before: dict[str, str], after: dict[str, str], comments: dict[tuple[str, str], str]
) -> list[tuple[str, str]]:
    """Edits of one file; a key's name can repeat in another section, so each edit takes in the line before it."""
    text = _file(service, before, comments)
    pairs = []
    for key, value in before.items():
        if after[key] == value:
            continue
        old = _setting(service, key, value)
        new = _setting(service, key, after[key])
        if text.count(old) != 1:
            heading = f"{key.split('.')[0]}:" if service == "search" else f"[{key.split('.')[0]}]"
            start = text.index(heading)
            block = text[start : text.index(old, start) + len(old)]
            old, new = block, block[: -len(old)] + new
        pairs.append((old, new))
    return pairs


def _plan(
    rng: random.Random, request: str, rows: list[Row], oracle: dict[str, str], files: dict[str, str],
    settings: dict[str, dict[str, str]], after: dict[str, dict[str, str]], comments: dict[tuple[str, str], str],
) -> Plan:  # fmt: skip
    steps: list[Step] = [
        look(rng.choice(("ls -R .", "find . -type f | sort"))),
        read(f"requests/{request}.md", "The request, and what is allowed."),
        read("config/limits.json", beside=True),
        read(FILES["gateway"], "Now the present settings."),
        read(FILES["worker"], beside=True),
        read(FILES["search"], beside=True),
        run("python3 tools/validate.py; true", "What does the validator say before I change anything?", phase="check"),
    ]
    edits: dict[str, int] = {}
    for service in sorted(FILES):
        pairs = _pairs(service, settings[service], after[service], comments)
        if pairs:
            what = ", ".join(k for k in settings[service] if settings[service][k] != after[service][k])
            steps.append(edit(FILES[service], pairs, f"{service}: {what}."))
            edits[service] = len(steps) - 1
    first = len(steps)
    steps += [
        run("python3 tools/validate.py", "Is everything allowed now?", phase="check"),
        write("output/changes.csv", oracle["output/changes.csv"], "Valid. Now the record of each row."),
        write("output/rollback.json", oracle["output/rollback.json"], beside=True),
        write("output/note.md", oracle["output/note.md"], beside=True),
        verify(
            "cut -d, -f6 output/changes.csv | sort | uniq -c; cat output/note.md",
            "The counts must agree with the note.",
        ),
    ]
    slips = [
        Slip(1, read("requests/change.md"), f"It is {request}.md."),
        Slip(min(edits.values()), edit(FILES["gateway"], [("[server]\nworkers = auto", "[server]\nworkers = 4")]),
             "That is not how it stands in the file; I'll use the exact lines."),
        Slip(first, run("python3 validate.py config"), "The tool is in tools/."),
    ]  # fmt: skip
    declined = [r for r in rows if r.decision == "frozen"]
    lenient = oracle["output/changes.csv"]
    for row in declined:
        lenient = changed(lenient, (f"{row.no},{row.service},{row.key},{row.old},{row.new},frozen",
                                    f"{row.no},{row.service},{row.key},{row.old},{row.new},applied"))  # fmt: skip
    flaws = [
        Flaw("frozen_keys_applied_in_record", {first + 1: write("output/changes.csv", lenient)}, loss="small"),
        Flaw("note_forgotten", drop=(first + 3,), loss="small"),
        Flaw("files_not_edited", drop=(*edits.values(), first), loss="small"),
        Flaw("records_forgotten", drop=(first + 1, first + 2, first + 3, first + 4), loss="large"),
    ]
    closing = (
        f"{request} is rolled out; declined rows and the way back are in output/. tools/validate.py reports no error."
    )
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="config_rollout",
    bench_category="Systems & Automation",
    settings=(
        Setting("Systems and Infrastructure", "environment configuration and deployment"),
        Setting("Automation and Workflows", "automated inspection and handling"),
    ),
    operations=(
        "inspect files and directories",
        "inspect code or configuration files",
        "modify code or configuration files",
        "edit or rewrite existing local documents",
        "run tests or validation commands",
    ),
    difficulty=3,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("it operations", "software engineering", "energy and facilities"),
    skill_words=("configuration", "config", "deploy", "harden"),
)
