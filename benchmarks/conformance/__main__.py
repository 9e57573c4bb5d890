"""`python -m benchmarks.conformance [--no-peers]`: run the cases, print the table, write the results and the page.

Exit code 1 when ours is not right on every case. A peer that cannot be installed here is said to be so, not left out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.conformance import ours, peers, report
from benchmarks.conformance.cases import CASES
from benchmarks.conformance.score import Judgement, judge


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conformance", description=__doc__)
    parser.add_argument("--no-peers", action="store_true", help="only ours; nothing is written")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        mine = ours.run(CASES, Path(folder))
    others = {} if arguments.no_peers else {peer.name: _judged(peer) for peer in peers.PEERS}
    found = report.results(CASES, mine, others)
    for row in found["cases"]:
        cells = [f"{name} {row[name]}" for name in ("ours", *others) if row[name] is not None]
        print(f"{row['of']:4} {row['topic']}: {', '.join(cells)}")
    wrong = [name for name, judged in mine.items() if judged.score != "right"]
    for name in wrong:
        print(f"conformance: {name}: {mine[name].why}", file=sys.stderr)
    print(f"conformance: ours right on {len(CASES) - len(wrong)} of {len(CASES)}")
    for name, judged in others.items():
        right = judged if isinstance(judged, str) else sum(one.score == "right" for one in judged.values())
        print(f"conformance: {name} {'not run: ' if isinstance(judged, str) else 'right on '}{right}")
    if not arguments.no_peers:
        print("conformance: wrote " + ", ".join(str(path.relative_to(peers.ROOT)) for path in report.write(found)))
    return 1 if wrong else 0


def _judged(peer: peers.Peer) -> dict[str, Judgement] | str:
    try:
        made = peers.run(peer, CASES)
    except peers.PeerUnavailableError as error:
        return str(error)
    return {case.name: judge(case, made[case.name]) for case in CASES}


if __name__ == "__main__":
    sys.exit(main())
