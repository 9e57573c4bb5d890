"""Family `env_migration`: settings of several services move from INI to TOML, and all that refers to them follows.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from assets.personas import Persona
from assets.tasks.families.pools import opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

SERVICES: Final = ("billing", "gateway", "mailer", "search")
MAPPING: Final = {
    "http.port": ("server.port", "int"), "http.host": ("server.bind", "str"),
    "http.timeout": ("server.timeout_s", "seconds"), "http.keepalive": ("server.keep_alive", "bool"),
    "http.maxbody": ("server.max_body_bytes", "bytes"), "db.url": ("database.url", "str"),
    "db.pool": ("database.pool_size", "int"), "db.wait": ("database.wait_s", "seconds"),
    "log.level": ("logging.level", "str"), "log.targets": ("logging.targets", "list"),
    "log.color": ("-", "bool"), "cache.ttl": ("cache.ttl_s", "seconds"), "cache.enabled": ("cache.enabled", "bool"),
    "cache.backend": ("-", "str"), "auth.callback": ("security.callback_url", "str"),
    "auth.secret": ("security.secret_from", "str"), "limits.burst": ("server.burst", "int"),
}  # fmt: skip
"""Old name to new name and type; beside these stands `peers.*`."""
UNMAPPED: Final = ("misc.motd", "http.beta", "queue.shadow")
WORDS: Final = {
    "http.host": ("0.0.0.0", "127.0.0.1"),
    "log.level": ("debug", "info", "warning"),
    "cache.backend": ("redis", "memory"),
}
GONE: Final = ("log.color", "cache.backend", "auth.realm", "db.schema")
"""Names that nothing must refer to any more: dropped, or never there."""
EDITED: Final = ("deploy/start.sh", "deploy/monitor.yaml", "docs/operations.md")
Pair = tuple[str, str]
"""A text before and after the move."""


@dataclass
class Move:
    """Everything that moves, as it is meant."""

    ports: dict[str, Pair]
    names: dict[str, list[str]]
    """Old names that each service sets."""
    dangling: set[str] = field(default_factory=set)

    def address(self, service: str) -> Pair:
        """host:port of a service."""
        before, after = self.ports[service]
        return f"{service}:{before}", f"{service}:{after}"

    def reference(self, rng: random.Random, service: str) -> Pair:
        """A reference to a setting that is still there."""
        old = rng.choice([n for n in self.names[service] if n not in GONE])
        return f"${{{service}:{old}}}", f"${{{service}:{_new(old)}}}"

    def broken(self, rng: random.Random) -> Pair:
        """A reference to nothing."""
        name = f"{rng.choice((*SERVICES, 'archive'))}:{rng.choice(GONE)}"
        self.dangling.add(name)
        return f"${{{name}}}", f"${{{name}}}"


def _new(old: str) -> str:
    section, key = old.split(".")
    if section == "peers":
        return f"upstreams.{key}"
    return MAPPING[old][0] if old in MAPPING else f"legacy.{section}_{key}"


def _put(template: str, *pairs: Pair) -> Pair:
    """The template with pairs in its `@`s, before and after."""
    before = after = template
    for old, new in pairs:
        before, after = before.replace("@", old, 1), after.replace("@", new, 1)
    return before, after


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    moved = rng.sample(SERVICES, 3)
    numbers = rng.sample(range(8010, 8099), 4)
    ports = {s: (str(n), str(n + 1000 if s in moved else n)) for s, n in zip(SERVICES, numbers, strict=True)}
    move = Move(ports, {service: _names(rng, service) for service in SERVICES})
    settings = {s: {name: _value(rng, move, s, name) for name in move.names[s]} for s in SERVICES}
    texts = {
        "deploy/start.sh": _start(rng, move),
        "deploy/monitor.yaml": _monitor(rng, move),
        "docs/operations.md": _operations(rng, move),
    }
    inputs = {
        f"services/{s}/settings.ini": _ini(rng, {n: raw for n, (raw, _) in settings[s].items()}) for s in SERVICES
    }
    inputs |= {path: "\n".join(before for before, _ in lines) + "\n" for path, lines in texts.items()}
    rows = [f"{old},{new},{kind}" for old, (new, kind) in MAPPING.items()] + ["peers.*,upstreams.*,str"]
    inputs["migration/mapping.csv"] = "old,new,type\n" + "".join(f"{row}\n" for row in rng.sample(rows, len(rows)))
    inputs["migration/ports.json"] = json.dumps({s: int(ports[s][1]) for s in sorted(moved)}, indent=2) + "\n"
    inputs["docs/history.md"] = _history(rng, move)
    oracle = _oracle(settings, texts, move)
    errand = "Our services get a new settings format, and nothing may break on the way."
    closing = rng.choice(
        ("Nothing else may change.", "I will diff everything afterwards.", "Other files stay untouched.")
    )
    text = told(__file__, opening=opening(rng, persona, errand), closing=closing)
    return Draft(text, inputs, oracle, {}, _plan(rng), EDITED)


def _names(rng: random.Random, service: str) -> list[str]:
    """Old names that a service sets, in the order of its file."""
    usual = [name for name in MAPPING if name not in ("http.port", *GONE)]
    chosen = {"http.port", *rng.sample(usual, 8), rng.choice(GONE[:2]), rng.choice(UNMAPPED)}
    chosen |= {f"peers.{other}" for other in rng.sample([s for s in SERVICES if s != service], 2)}
    return sorted(chosen, key=lambda name: (name.split(".")[0], rng.random()))


# --- values -------------------------------------------------------------------------------------------------------


def _value(rng: random.Random, move: Move, service: str, name: str) -> tuple[str, Any]:
    """A setting as the INI file has it, and its value afterwards."""
    if name == "http.port":
        return move.ports[service][0], int(move.ports[service][1])
    kind = MAPPING.get(name, ("", "str"))[1]
    if kind == "int":
        number = rng.randint(2, 400)
        return str(number), number
    if kind == "bool":
        truth = rng.random() < 0.5
        return rng.choice(("yes", "On", "true", "1") if truth else ("no", "Off", "FALSE", "0")), truth
    if kind == "seconds":
        return rng.choice((("90s", 90), ("120", 120), ("5m", 300), ("2h", 7200), ("4000ms", 4), ("45 s", 45)))
    if kind == "bytes":
        return rng.choice((("64k", 65536), ("2M", 2097152), ("48000", 48000), ("16 k", 16384)))
    if kind == "list":
        parts = [
            ("stdout", "stdout"),
            ("ops#alerts", "ops#alerts"),
            _put("tcp://@", move.address(rng.choice(SERVICES))),
        ]
        rng.shuffle(parts)
        return rng.choice((", ", ",", " , ")).join(before for before, _ in parts), [after for _, after in parts]
    before, after = _text(rng, move, name)
    quoted = rng.random() < 0.3
    return (f'"{before}"' if quoted else before), after


def _text(rng: random.Random, move: Move, name: str) -> Pair:
    """A string value and what becomes of it."""
    if name.startswith("peers."):
        peer = name.split(".")[1]
        return _put(rng.choice(("http://@/", "http://@/api/v2", "@")), move.address(peer))
    other = rng.choice(SERVICES)
    port = move.ports[other][0]
    if name == "db.url":
        return _put(rng.choice((f"postgres://{other}-db:{port}/main", f"postgres://{other}:5432/main")))
    if name == "auth.callback":
        return _put("https://front.example/back?to=@", move.address(other))
    if name == "auth.secret":
        tail = move.broken(rng) if rng.random() < 0.5 else ("v1", "v1")
        return _put("vault://@/@", move.reference(rng, other), tail)
    if name == "misc.motd":
        return _put("limits of @; port 8080", move.reference(rng, other))
    if name == "queue.shadow":
        return _put(rng.choice((f"old-{other}:{port}", f"{other}.internal:{port}")))
    return _put(rng.choice(WORDS.get(name, ("auto", "trial", "7 of 9"))))


# --- files --------------------------------------------------------------------------------------------------------


def _ini(rng: random.Random, settings: dict[str, str]) -> str:
    lines, section = [rng.choice(("; generated by hand", "# do not edit on the server"))], ""
    for name, value in settings.items():
        if name.split(".")[0] != section:
            section = name.split(".")[0]
            lines += ["", f"[{section}]"]
        key = name.split(".")[1]
        key = rng.choice((key, key, key.upper(), key.title()))
        comment = rng.choice(("", "", "", " ; see ${archive:http.port}", "  # was higher once", f" ; {key} = 12"))
        lines.append(f"{key}{rng.choice((' = ', '=', ': ', ' : '))}{value}{comment}")
        if rng.random() < 0.1:
            lines.append(f"; {key} = {rng.randint(1, 99)}")
    return "\n".join(lines) + "\n"


def _start(rng: random.Random, move: Move) -> list[Pair]:
    lines = [_put(line) for line in ("#!/bin/sh", 'LOG="${LOG_DIR:-/var/log}"', "set -eu")]
    lines.append(_put("# order matters: @ first", move.address(rng.choice(SERVICES))))
    for service in rng.sample(SERVICES, 4):
        lines.append(_put(f'run {service} --config @ >> "$LOG/{service}.log"', _path(service)))
        wait = (f"{service}-db:{move.ports[service][0]}",) * 2 if rng.random() < 0.4 else move.address(service)
        lines.append(_put("wait_for @ 30", wait))
    lines.append(_put("run archive --config services/archive/settings.ini"))
    return lines


def _path(service: str) -> Pair:
    return f"services/{service}/settings.ini", f"services/{service}/settings.toml"


def _monitor(rng: random.Random, move: Move) -> list[Pair]:
    lines = [_put("interval: 30"), _put("checks:")]
    for service in SERVICES:
        lines += [
            _put(f"  - name: {service}"),
            _put("    url: http://@/health", move.address(service)),
            _put("    timeout: @", move.reference(rng, service)),
            _put("    config: @", _path(service)),
        ]
        if rng.random() < 0.5:
            lines.append(_put(f"    store: {service}:{rng.choice((5432, 6379))}"))
    return [*lines, _put("  - name: old"), _put("    color: @", move.broken(rng))]


def _operations(rng: random.Random, move: Move) -> list[Pair]:
    a, b, c = rng.sample(SERVICES, 3)
    old = move.ports[a][0]
    return [
        _put("# Operations"), _put(""),
        _put(f"The {a} service listens on @ and reads @.", move.address(a), _path(a)),
        _put("Its limit is @.", move.reference(rng, a)),
        _put(f"If {b} is slow, raise @ and tell whoever watches @.", move.reference(rng, b), move.address(b)),
        _put(""), _put("## Known pitfalls"), _put(""),
        _put(f"- old-{a}:{old} is another machine."),
        _put(f"- The sample services/sample/settings.ini is of {c}; the real one is @.", _path(c)),
        _put("- @ and @ were removed long ago.", move.broken(rng), move.broken(rng)),
        _put(f"- Backups run at 03:{rng.randint(10, 59)}; {old} rows are normal."),
    ]  # fmt: skip


def _history(rng: random.Random, move: Move) -> str:
    lines = ["# History", "", "What was decided when; not to be changed afterwards.", ""]
    lines += [
        f"- 202{i}: {move.address(s)[0]} opened, see services/{s}/settings.ini" for i, s in enumerate(SERVICES, 1)
    ]
    return "\n".join(lines) + "\n"


# --- answer -------------------------------------------------------------------------------------------------------


def _oracle(
    settings: dict[str, dict[str, tuple[str, Any]]], texts: dict[str, list[Pair]], move: Move
) -> dict[str, str]:
    """Outputs from the settings as they are meant."""
    rows, oracle = [], {path: "\n".join(after for _, after in lines) + "\n" for path, lines in texts.items()}
    for service in SERVICES:
        tables: dict[str, list[str]] = {}
        for old in sorted(settings[service]):
            new = _new(old)
            outcome = "dropped" if new == "-" else "unmapped" if old in UNMAPPED else "moved"
            rows.append((service, old, new, outcome))
            if new != "-":
                table, key = new.split(".")
                tables.setdefault(table, []).append(f"{key} = {json.dumps(settings[service][old][1])}")
        blocks = ["\n".join([f"[{table}]", *lines, ""]) for table, lines in sorted(tables.items())]
        oracle[f"services/{service}/settings.toml"] = "\n".join(blocks)
    outcomes = [row[3] for row in rows]
    report = {
        **{name: outcomes.count(name) for name in ("moved", "dropped", "unmapped")},
        "dangling": sorted(move.dangling),
        "lines_changed": {path: sum(before != after for before, after in texts[path]) for path in EDITED},
    }
    oracle["output/migration.csv"] = "service,old,new,outcome\n" + "".join(f"{','.join(row)}\n" for row in rows)
    oracle["output/report.json"] = json.dumps(report, indent=2) + "\n"
    return oracle


def _plan(rng: random.Random) -> Plan:
    name = rng.choice(("migrate.py", "tools/ini_to_toml.py", "work/migrate.py"))
    source = script(__file__)
    shown = rng.choice(SERVICES)
    steps = [
        look(rng.choice(("find . -type f | sort", "ls -R services deploy docs migration"))),
        read("migration/mapping.csv", "The rules, the ports, and how the old files look."),
        read("migration/ports.json", beside=True),
        read(f"services/{shown}/settings.ini", beside=True),
        run("cat services/*/settings.ini | grep -v '^$' | sort | uniq -c | sort -rn | head -60",
            "All of them at once: I look for odd spellings.", phase="explore"),
        run("grep -nE '[a-z-]+:[0-9]+|settings.ini|[$][{]' deploy/* docs/operations.md",
            "And what refers to them.", phase="explore", beside=True),
        write(name, source, "One script that moves settings and references by the same rules."),
        run(f"python3 {name}", "Run it."),
        verify("python3 -c \"import tomllib,glob; [tomllib.load(open(p,'rb')) for p in glob.glob('services/*/*.toml')];"
               " print('all parse')\"", "Does everything parse?"),
        verify("cat deploy/start.sh deploy/monitor.yaml docs/operations.md", "Now the edited files."),
        read("output/report.json", "And the report.", phase="check"),
    ]  # fmt: skip
    slips = [
        Slip(1, read("migration/mapping.json"), "It is mapping.csv."),
        Slip(7, run(f"cd services && python3 ../{name}"), "The script works from the main folder."),
    ]
    bare = changed(
        source,
        ("    return follow(text[1:-1] if", "    return (text[1:-1] if"),
        ("[follow(part.strip())", "[(part.strip())"),
    )
    any_host = changed(source, ('r"(?<![\\w.-])([\\w-]+):(\\d+)\\b"', 'r"\\b([a-z]+)[\\w.-]*:(\\d+)\\b"'))
    strings = changed(source, ("lines += [f\"{key} = {json.dumps(value, ensure_ascii=False)}\"",
                               "lines += [f\"{key} = {json.dumps(str(value), ensure_ascii=False)}\""))  # fmt: skip
    unedited = changed(source, ('    Path(name).write_text(after, "utf-8")', "    pass"))
    bare_run = run(f"python3 {name} && rm -r output", "Run it.")
    flaws = [
        Flaw("references_in_values_kept", {6: rewritten(steps[6], bare)}, loss="small"),
        Flaw("similar_hosts_moved", {6: rewritten(steps[6], any_host)}, loss="small"),
        Flaw("deploy_files_not_edited", {6: rewritten(steps[6], unedited)}, loss="small"),
        Flaw("everything_a_string_no_report", {6: rewritten(steps[6], strings), 7: bare_run},
             loss="large"),
        Flaw("records_forgotten_files_not_edited", {6: rewritten(steps[6], unedited), 7: bare_run},
             loss="large"),
    ]  # fmt: skip
    return plan(
        steps, slips, flaws, "All four services have TOML settings; dangling references are in output/report.json."
    )


FAMILY = Family(
    name="env_migration",
    bench_category="Systems & Automation",
    settings=(
        Setting("Systems and Infrastructure", "environment configuration and deployment"),
        Setting("Software Development", "code review and refactoring"),
    ),
    operations=(
        "inspect files and directories",
        "inspect code or configuration files",
        "modify code or configuration files",
        "edit or rewrite existing local documents",
        "run scripts or command-line programs",
        "write structured results to local files",
    ),
    difficulty=5,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("it operations", "software engineering"),
    skill_words=("migration", "config", "deploy", "toml"),
)
