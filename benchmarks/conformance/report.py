"""What was found, as `benchmarks/results/conformance.json` and as the page `docs/conformance.md`.

The page is made of the JSON file and the declared cases alone, so a test can hold it against both.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.conformance.case import OWN, Case
from benchmarks.conformance.elsewhere import ELSEWHERE
from benchmarks.conformance.peers import PEERS, ROOT
from benchmarks.conformance.score import Judgement
from lake.ids import utc_now

RESULTS: Final = ROOT / "benchmarks" / "results" / "conformance.json"
PAGE: Final = ROOT / "docs" / "conformance.md"
_OURS: Final = {"right": "right", "wrong": "wrong", "silent": "wrong", "throws": "error"}

_INTRO: Final = """\
# Conformance

The published defects of recorded OpenClaw sessions, each generated as files with the right answer declared, and who
gives it. Numbers C01 to C26 are those of the collection of public reports; cases without one are of the same kind and
were added. Made by `make conformance`; the cases are functions in
[`benchmarks/conformance/cases`](../benchmarks/conformance/cases).

Everybody is judged by the same: the clean view (turns, calls with their results, branches; ids and wording do not
matter) and whether it says what it dropped, moved or repaired. **right**: both. **silent**: lost, kept or changed
without a word. **wrong**: it says something, yet the view is not right. **throws**: the session is lost. Ours is also
held to every finding with its line, every record's fate, what may be learned from, and the raw bytes read back.
"""
_OTHERS: Final = """
## The other published cases

About rewards, resuming, training and metrics; covered by tests of their stages.

| case | topic | tests | not covered yet |
|---|---|---|---|"""

Judgements = Mapping[str, Judgement]
"""By case name."""


def results(cases: Sequence[Case], ours: Judgements, peers: Mapping[str, Judgements | str]) -> dict[str, Any]:
    """The JSON document.

    Args:
        cases: all of them, in order.
        ours: right | wrong | error.
        peers: by peer, right | wrong | silent | throws; or why it was not run.
    """
    rows = []
    for case in sorted(cases, key=lambda case: (case.of == OWN, case.of)):
        row: dict[str, Any] = {"case": case.name, "of": case.of, "topic": case.topic}
        row["ours"] = _OURS[ours[case.name].score]
        why = {}
        for name, judged in (("ours", ours), *peers.items()):
            if isinstance(judged, str):
                row[name] = None
                continue
            if name != "ours":
                row[name] = judged[case.name].score
            if judged[case.name].why:
                why[name] = judged[case.name].why
        rows.append(row | ({"why": why} if why else {}))
    return {
        "cases": rows,
        "peers": {
            peer.name: {"package": peer.package, "version": peer.version}
            | ({"not_run": found} if isinstance(found := peers.get(peer.name, "not asked for"), str) else {})
            for peer in PEERS
        },
        "python": platform.python_version(),
        "measured_at": utc_now().isoformat(timespec="seconds"),
    }


def page(found: Mapping[str, Any]) -> str:
    """The Markdown page of a results document."""
    names = [name for name, peer in found["peers"].items() if "not_run" not in peer]
    heads = [f"`{found['peers'][name]['package']}` {found['peers'][name]['version']}" for name in names]
    lines = [_INTRO, "| case | of | ours | " + " | ".join(heads) + " |", "|---|---|---|" + "---|" * len(heads)]
    for row in found["cases"]:
        cells = [row["topic"], row["of"], row["ours"], *(row[name] for name in names)]
        lines.append("| " + " | ".join(cells) + " |")
    published = [row for row in found["cases"] if row["of"] != OWN]
    for title, rows in (("right of the published", published), ("right of all", found["cases"])):
        right = [sum(row[name] == "right" for row in rows) for name in ("ours", *names)]
        lines.append(f"| **{title}** | | " + " | ".join(f"**{count} of {len(rows)}**" for count in right) + " |")
    for peer in found["peers"].values():
        if "not_run" in peer:
            lines += ["", f"`{peer['package']}` {peer['version']} was not run: {peer['not_run']}."]
    lines += ["", "## Why a peer is not right", ""]
    for row in found["cases"]:
        for name, why in row.get("why", {}).items():
            if name != "ours":
                lines.append(f"- {row['topic']}, {found['peers'][name]['package']}: {_plain(why)}")
    lines.append(_OTHERS)
    for other in ELSEWHERE:
        tests = "<br>".join(f"`{test}`" for test in other.tests)
        lines.append(f"| {other.of} | {other.topic} | {tests} | {other.open} |")
    return "\n".join(lines) + "\n"


def _plain(why: str) -> str:
    """A reason as one line of Markdown in which nothing is markup."""
    return "`" + " ".join(why.replace("`", "'").split()) + "`"


def write(found: Mapping[str, Any]) -> list[Path]:
    """Write both files; gives their paths."""
    RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")
    return [RESULTS, PAGE]
