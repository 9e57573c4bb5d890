"""Grading: a verifier run on a frozen workspace, in both protocols.

Belongs here: `grade`, what is placed in its sandbox, the meaning of what a verifier prints. Does not belong here:
which workspace is graded when (`audits`, `verdicts`). A tool below the chain of stages: no assets, no tables.
"""

from __future__ import annotations

from assets.grading.verify import WORKSPACE, Grade, Status, grade

__all__ = ["WORKSPACE", "Grade", "Status", "grade"]
