"""`reingest_unchanged`: a second ingest of files that are in, against inspect_scout's second insert of the same ids.

Ours reads and hashes every byte, and finds the one that changed (checked here). The peer passes over what has a known
id, whatever it holds; making its objects from the files is not counted (it is in the detail).
"""

from __future__ import annotations

from pathlib import Path

from assets.logs import ingest_paths
from assets.profile import Profile
from assets.stage import Context
from benchmarks.measure import Cost, Result, cost, paired
from benchmarks.peers import INSPECT_SCOUT, Said, ask
from benchmarks.stored import store

SESSIONS = 1000


def run(workdir: Path, runs: int) -> Result:
    """Sessions per CPU-second."""
    stored = store(workdir, SESSIONS, cleaned=False)
    context = Context(lake=stored.lake, profile=Profile())
    said: list[Said] = []

    def ours() -> Cost:
        counts: dict[str, int] = {}
        spent = cost(lambda: counts.update(ingest_paths(context, [stored.folder])))
        if counts != {"unchanged": SESSIONS, "left": 0}:
            raise RuntimeError(f"not all of {SESSIONS} sessions were found unchanged: {counts}")
        return spent

    def peer() -> Cost:
        said.append(ask(INSPECT_SCOUT, "again", stored.folder, stored.database))
        return said[-1].cost

    detail: dict[str, float | int | str] = {}
    result = paired(
        "reingest_unchanged", SESSIONS, "sessions per CPU-second", ours, peer if stored.there else None,
        peer_is=f"{stored.peer_is}, by id only" if stored.there else stored.peer_is, runs=max(3, runs), detail=detail,
    )  # fmt: skip
    detail["ours_cpu_s_per_1000"] = round(1000 / result.ours, 4)
    if said:
        detail["peer_cpu_s_with_objects"] = round(said[-1].cost.cpu_s + said[-1].more["objects_cpu_s"], 3)
        detail["peer_peak_mb"] = round(max(each.peak_mb for each in said), 1)
    path = next(stored.folder.rglob("*.jsonl"))
    content = path.read_bytes()
    path.write_bytes(content[:-30] + bytes([content[-30] ^ 1]) + content[-29:])
    detail["changed_byte_found"] = ingest_paths(context, [stored.folder]).get("changed", 0)
    if detail["changed_byte_found"] != 1:
        raise RuntimeError("a changed byte was not found")
    return result
