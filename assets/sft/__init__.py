"""Stage `sft`: which trajectories a model learns from, and why the others are left out.

Belongs here: the filter, its policy, the examples. Does not belong here: cleaning text (`trajectories`), tokens and
training (`training`, `checkpoints`).
"""

from __future__ import annotations

from assets.sft.checks import CHECKS
from assets.sft.effect import state_policy
from assets.sft.examples import conversation_of, read_examples
from assets.sft.policy import Policy
from assets.sft.projection import PROJECTION
from assets.stage import Stage

STAGE = Stage(
    name="sft",
    doc="Conversations kept for supervised fine-tuning, and the decision on every trajectory.",
    projection=PROJECTION,
    effect=state_policy,
    checks=CHECKS,
)

__all__ = ["STAGE", "Policy", "conversation_of", "read_examples"]
