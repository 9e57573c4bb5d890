"""`corpus_text`: how often a phrase stands in any message of 1,000 sessions: one SQL statement, and a scout scanner."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import Cost, Result, cost, paired
from benchmarks.peers import INSPECT_SCOUT, Said, ask
from benchmarks.stored import store

SESSIONS = 1000
PHRASE = "invoice budget"
_ASKED = 5
"""Times a run asks ours: one is too short to time."""


def run(workdir: Path, runs: int) -> Result:
    """Megabytes of session files asked per CPU-second. The peer is run once: it takes half a minute of CPU."""
    stored = store(workdir, SESSIONS)
    size = sum(path.stat().st_size for path in stored.folder.rglob("*.jsonl"))
    said: list[Said] = []
    found: list[int] = []

    def ask_sql() -> None:
        query = "select count(*) from steps where contains(text, $phrase)"
        for _ in range(_ASKED):
            found.append(stored.lake.sql(query, {"phrase": PHRASE}).fetchall()[0][0])

    def ours() -> Cost:
        spent = cost(ask_sql)
        return Cost(spent.cpu_s / _ASKED, spent.wall_s / _ASKED)

    def peer() -> Cost:
        if not said:
            said.append(ask(INSPECT_SCOUT, "scan", stored.folder, stored.database, PHRASE))
        return said[0].cost

    detail: dict[str, float | int | str] = {"sessions": SESSIONS, "bytes": size}
    result = paired(
        "corpus_text", size, "MB per CPU-second", ours, peer if stored.there else None,
        peer_is=f"{stored.peer_is}, grep scanner" if stored.there else stored.peer_is, runs=runs, per=1e-6,
        detail=detail,
    )  # fmt: skip
    detail["ours_cpu_s"] = round(size / 1e6 / result.ours, 4)
    detail["messages_found"] = found[-1]
    if said:
        detail["peer_cpu_s"] = round(said[0].cost.cpu_s, 2)
        detail["peer_peak_mb"] = round(said[0].peak_mb, 1)
    if not found[-1]:
        raise RuntimeError(f"{PHRASE!r} was found nowhere")
    return result
