"""The two routes by which models write tasks: top-down from personas, bottom-up from skills.

Belongs here: candidates, the questions, the trials of what is answered, the order of steps. Does not belong here:
asking (`assets/llm`), acceptance (`audits`): a task made here is a proposal like any other.
"""

from __future__ import annotations

from assets.tasks.routes.effect import propose_by_models

__all__ = ["propose_by_models"]
