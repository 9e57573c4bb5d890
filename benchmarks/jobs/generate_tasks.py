"""`generate_tasks`: whole family tasks per CPU-second: instruction, inputs, verifier, reference solution, plan.

There is no peer: the original asks a model, several times a task. What is timed includes the identity of each task
(digests over all its files), so nothing is left lazy.
"""

from __future__ import annotations

from pathlib import Path

from assets.tasks import generate
from assets.tasks.families import chosen
from benchmarks.measure import Cost, Result, cost, paired

SEEDS = 20


def run(workdir: Path, runs: int) -> Result:
    """Tasks of every family, other seeds each run; all task versions must be distinct."""
    del workdir
    families = chosen(())
    first = 0

    def ours() -> Cost:
        nonlocal first
        first += SEEDS
        versions: list[str] = []
        spent = cost(lambda: versions.extend(bundle.task_version for bundle in generate(n=SEEDS, seed=first)))
        if len(set(versions)) != SEEDS * len(families):
            raise RuntimeError(f"{len(versions)} tasks have {len(set(versions))} distinct versions")
        return spent

    return paired(
        "generate_tasks", SEEDS * len(families), "tasks per CPU-second", ours, None,
        peer_is="none: the original asks a model", runs=runs, detail={"families": len(families), "seeds": SEEDS},
    )  # fmt: skip
