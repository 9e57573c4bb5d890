"""The effect of the stage: families first, then what models write.

Belongs here: the order. Does not belong here: either of them (`propose.py`, `routes/`).
"""

from __future__ import annotations

from collections.abc import Mapping

from assets.stage import Context
from assets.tasks.propose import propose_tasks


def propose_all(context: Context) -> Mapping[str, int]:
    """Propose the tasks of the profile that the log does not hold yet."""
    synthesis = context.profile.synthesis
    if not (synthesis.persona_tasks or synthesis.skill_tasks):
        return propose_tasks(context)
    from assets.tasks.routes import propose_by_models  # the client costs a second that offline runs need not pay

    return {**propose_tasks(context), **propose_by_models(context)}
