"""The public ClawGym-Agents tasks, where CLAWGYM_AGENTS names a checkout of that repository; nothing of it is here.

Imported, written back, verified on the untouched workspace, and compared with the real `reward.sh`. What is known of
them was measured by others (train and eval apart), so the totals are expected within a few tasks.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lake as lakes
from assets.audits.effect import grade_files
from assets.grading import Grade
from assets.grading.place import CLAWGYM
from assets.sandbox import Limits, Mount, open_sandbox
from assets.sandbox.folder import materialise
from assets.tasks import STAGE, TaskBundle, worthless
from assets.tasks.exchange import FORMATS, export_tasks, import_tasks
from assets.tasks.projection import load_bundles
from lake import Lake
from tests.tasks.test_import import tree

pytestmark = pytest.mark.long

SETS = {"clawgym_eval": 200, "clawgym_train": 2000}
LIMITS = Limits(wall_s=60)


@pytest.fixture(scope="module")
def data() -> Path:
    root = os.environ.get("CLAWGYM_AGENTS")
    if not root:
        pytest.skip("CLAWGYM_AGENTS names no checkout of github.com/ClawGym/ClawGym-Agents")
    return Path(root) / "RL/data"


@pytest.fixture(scope="module")
def lake(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    opened = lakes.open(tmp_path_factory.mktemp("published") / "lake")
    for name, count in SETS.items():
        report = import_tasks(opened, data / name, FORMATS["clawgym-folder"])
        assert (report.read, report.proposed, report.refused) == (count, count, [])
        assert report.defects["not_loss_free"] == 0
    opened.build(STAGE.projection)
    return opened


@pytest.fixture(scope="module")
def bundles(lake: Lake) -> dict[str, TaskBundle]:
    return {bundle.task_id: bundle for bundle in load_bundles(lake, lake.rows("tasks"))}


def over(bundles: dict[str, TaskBundle], run: Callable[[TaskBundle], Grade]) -> Iterator[tuple[str, Grade]]:
    """Grades, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        yield from zip(bundles, pool.map(run, bundles.values()), strict=True)


def test_the_families_of_verifiers_are_told_apart(bundles: dict[str, TaskBundle]) -> None:
    found = Counter((task.split("-")[0], bundle.verifier_protocol) for task, bundle in bundles.items())
    assert found == {
        ("clawgym_train", "grade_floats"): 1121, ("clawgym_train", "reward_booleans"): 879,
        ("clawgym_eval", "grade_floats"): 155, ("clawgym_eval", "reward_booleans"): 45,
    }  # fmt: skip


def test_absent_inputs_are_found(lake: Lake) -> None:
    lacking = {
        event.payload["task_id"]
        for event in lake.events("task.proposed")
        if any(entry["name"] == "missing_input" for entry in event.payload["extra"]["defects"])
    }
    known = [249, 436, 449, 1156, 1341, 1612, 1795, 1797, 1966, 1975]
    assert {"clawgym_eval-task_0042", *(f"clawgym_train-task_{number:04d}" for number in known)} <= lacking
    assert len(lacking) <= 30


def test_exported_folders_equal_the_published_ones(lake: Lake, data: Path, tmp_path: Path) -> None:
    for name, count in SETS.items():
        done = export_tasks(lake, tmp_path / name, FORMATS["clawgym-folder"], collection=name)
        assert done.tasks == count and tree(tmp_path / name) == tree(data / name)


def test_nothing_pays_for_an_untouched_workspace_but_what_is_known_to(bundles: dict[str, TaskBundle]) -> None:
    """Every verifier runs to its end; the mean of the wrapper stays below 0.002 and no task reaches 0.5."""
    sandbox = open_sandbox("bubblewrap")
    grades = dict(over(bundles, lambda bundle: grade_files(bundle.inputs, bundle, sandbox, LIMITS)))
    assert {grade.status for grade in grades.values()} == {"scored"}
    for name, paying in (("clawgym_eval", 3), ("clawgym_train", 46)):
        scores = [grade.wrapper_score or 0.0 for task, grade in grades.items() if task.startswith(name)]
        assert abs(sum(score > 0 for score in scores) - paying) <= 3
        assert max(scores) < 0.5 and sum(scores) / len(scores) <= 0.002
    own = [g for task, g in grades.items() if bundles[task].verifier_protocol == "reward_booleans"]
    assert len(own) == 924 and all(grade.score_code == 0 for grade in own)


@pytest.mark.parametrize("probe", ["untouched", "placeholder"])
def test_the_wrapper_score_is_what_reward_sh_prints(bundles: dict[str, TaskBundle], tmp_path: Path, probe: str) -> None:
    """Parity over all tasks; where reward.sh fails ours has no score either.

    Verifiers that read the clock, or run code of the workspace, may answer two runs differently: a handful at most.
    """
    sandbox = open_sandbox("bubblewrap")

    def files(bundle: TaskBundle) -> dict[str, bytes]:
        return {**bundle.inputs, **(worthless.placeholders(bundle) if probe == "placeholder" else {})}

    def ours(bundle: TaskBundle) -> Grade:
        return grade_files(files(bundle), bundle, sandbox, LIMITS)

    def theirs(bundle: TaskBundle) -> float | None:
        folder = tmp_path / bundle.task_id
        materialise(files(bundle), folder / "w")
        materialise(bundle.reward, folder / "w/reward")
        mounts = [Mount(folder / "w", CLAWGYM, writable=True)]
        done = sandbox.run(["bash", f"{CLAWGYM}/reward/reward.sh"], mounts=mounts, env={}, cwd=CLAWGYM, limits=LIMITS)
        return float(done.stdout.split()[-1]) if done.exit_code == 0 else None

    with ThreadPoolExecutor(2) as pool:
        said = dict(zip(bundles, pool.map(theirs, bundles.values()), strict=True))
    differing = []
    for task, grade in over(bundles, ours):
        there = said[task]
        same = there == grade.wrapper_score or (
            there is not None and grade.wrapper_score is not None and abs(there - grade.wrapper_score) < 1e-9
        )
        differing += [] if same else [(task, there, grade.wrapper_score, grade.detail)]
    assert len(differing) <= 5, differing
