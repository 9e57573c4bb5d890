"""`verify_per_second`: our grader against the original's way, on the same workspaces, two at a time.

Ours: `check.py` once, in a sandbox of its own with limits, the wrapper's mean computed from what it said. The
original's way: a fresh workspace and namespace a run, in it `reward.sh`, which starts a shell, `check.py` and a second
Python. Tasks: the published evaluation set where `CLAWGYM_AGENTS` names a checkout, else family tasks in
that layout. Beside the rates stand CPU-seconds of a verdict, by control group (bubblewrap does not wait for its child,
so rusage misses it): they hold on a loaded machine too.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from assets.grading import grade
from assets.grading.place import CLAWGYM
from assets.sandbox import Limits, Mount, open_sandbox
from assets.sandbox.bubblewrap import hand_over, mode, sandbox_argv
from assets.sandbox.folder import copy_folder, materialise, remove_folder
from assets.tasks import TaskBundle, generate
from assets.tasks.exchange import FORMATS, Imported
from assets.tasks.exchange.contract import Source
from benchmarks.measure import Cost, Result, cost, paired

CONCURRENCY = 2
AGENTS = "CLAWGYM_AGENTS"
_LIMITS = Limits(wall_s=60)
_WRAPPER = f"""#!/usr/bin/env bash
set -euo pipefail

python3 {CLAWGYM}/reward/check.py {CLAWGYM} | python3 -c 'import json, sys
said = json.load(sys.stdin)
print(sum(map(float, said.values())) / len(said))'
""".encode()


@dataclass(frozen=True)
class _Case:
    bundle: TaskBundle
    workspace: Path
    reward: Path


def _bundles() -> tuple[list[TaskBundle], str]:
    root = os.environ.get(AGENTS)
    if root:
        source = Source(Path(root, "RL/data/clawgym_eval"), "eval", "Apache-2.0")
        read = FORMATS["clawgym-folder"].read(source)
        return [item.bundle for item in read if isinstance(item, Imported)], "ClawGym-Agents RL/data/clawgym_eval"
    return [*generate(n=8)], "families, 8 seeds each"


def run(workdir: Path, runs: int) -> Result:
    """Verdicts per second of wall time; both sides must give the same score for every workspace."""
    bundles, named = _bundles()
    cases = []
    for bundle in bundles:
        folder = workdir / bundle.task_id
        materialise(bundle.inputs, folder / "w")
        materialise({"reward.sh": _WRAPPER, **bundle.reward}, folder / "r")
        cases.append(_Case(bundle, folder / "w", folder / "r"))
    meter = _meter()
    used: dict[str, list[float]] = {"ours": [], "peer": []}
    sandbox, how = open_sandbox("bubblewrap"), mode()
    said: dict[str, dict[str, float | None]] = {"ours": {}, "peer": {}}

    def ours(case: _Case) -> float | None:
        package = {"reward.sh": _WRAPPER, **case.bundle.reward}
        protocol = case.bundle.verifier_protocol
        return grade(case.workspace, package, protocol=protocol, sandbox=sandbox, limits=_LIMITS).wrapper_score

    def peer(case: _Case) -> float | None:
        fresh = Path(tempfile.mkdtemp(prefix="clawgym-peer-"))
        try:
            copy_folder(case.workspace, fresh / "w")
            copy_folder(case.reward, fresh / "w/reward")
            hand_over(fresh / "w", how)
            mounts = [Mount(fresh / "w", CLAWGYM, writable=True)]
            argv = sandbox_argv(["bash", f"{CLAWGYM}/reward/reward.sh"], mode=how, mounts=mounts, cwd=CLAWGYM)
            done = subprocess.run(argv, capture_output=True, timeout=60, check=False)
            return float(done.stdout.split()[-1]) if done.returncode == 0 else None
        finally:
            remove_folder(fresh)

    def side(name: str, one: Callable[[_Case], float | None]) -> Cost:
        def all_of_them() -> None:
            with ThreadPoolExecutor(CONCURRENCY) as pool:
                scores = list(pool.map(one, cases))
            said[name] = {case.bundle.task_id: score for case, score in zip(cases, scores, strict=True)}

        before = meter()
        spent = cost(all_of_them)
        used[name].append(meter() - before)
        return spent

    def checked() -> Cost:
        spent = side("peer", peer)
        differing = [
            task for task, score in said["peer"].items() if abs((score or 0.0) - (said["ours"][task] or 0.0)) > 1e-9
        ]
        if differing:
            raise RuntimeError(f"{len(differing)} scores differ from those of reward.sh, e.g. of {differing[0]}")
        return spent

    detail: dict[str, float | int | str] = {
        "concurrency": CONCURRENCY,
        "tasks": named,
        "isolation": sandbox.isolation,
    }
    found = paired(
        "verify_per_second", len(cases), "verdicts per second, two at a time", lambda: side("ours", ours), checked,
        peer_is="one namespace and reward.sh per run, no limits", runs=runs, by_wall=True, detail=detail,
    )  # fmt: skip
    for name, seconds in used.items():
        detail[f"{name}_cpu_ms_each"] = round(1000 * statistics.median(seconds) / len(cases), 1)
    return found


def _meter() -> Callable[[], float]:
    """CPU-seconds of this process and all that it starts; always NaN where no accounting group can be made."""
    group = Path("/sys/fs/cgroup/cpuacct") / f"clawgym-bench-{os.getpid()}"
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text("0")
    except OSError:
        return lambda: math.nan
    return lambda: int((group / "cpuacct.usage").read_text()) / 1e9
