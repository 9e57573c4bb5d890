"""Grading: a verifier run on a frozen workspace, in every protocol.

Belongs here: `grade`, what is placed in its sandbox, the meaning of what a verifier prints. Does not belong here:
which workspace is graded when (`audits`, `verdicts`). A tool below the chain of stages: no assets, no tables.
"""

from __future__ import annotations

from assets.grading.place import WORKSPACE, entry_of
from assets.grading.verify import Grade, Status, grade, grade_many

__all__ = ["WORKSPACE", "Grade", "Status", "entry_of", "grade", "grade_many"]
