"""Family verifiers under the project's own grader, which is what verdicts and audits use."""

from __future__ import annotations

import pytest

from assets.grading import grade
from assets.sandbox import Limits, open_sandbox
from lake.errors import SetupError
from tests.tasks.runner import FAMILIES, bundle, workspace

LIMITS = Limits(wall_s=60, cpu_s=60, memory_bytes=1 << 30, processes=64, file_bytes=1 << 24)


@pytest.mark.parametrize("name", FAMILIES)
def test_grader_agrees(name: str) -> None:
    try:
        sandbox = open_sandbox("bubblewrap")
    except SetupError as error:
        pytest.skip(str(error))
    task = bundle(name, 2)
    scores = []
    for layers in ((task.inputs, task.oracle or {}), (task.inputs,)):
        with workspace(*layers) as root:
            found = grade(root, task.reward, protocol=task.verifier_protocol, sandbox=sandbox, limits=LIMITS)
        assert found.status == "scored", found.detail
        scores.append((found.score_code, found.wrapper_score))
    assert scores == [(1.0, 1.0), (0.0, 0.0)]
