"""Rules about documents that hold whole conversations: ATIF, chat messages."""

from __future__ import annotations

from assets.trajectories.rules.registry import rule

NO_CONVERSATION = rule(
    "no_conversation", "quarantined", "A document of a known kind in which no conversation can be read.",
    severity="error",
)  # fmt: skip
CONTINUED = rule("continued_elsewhere", "noted", "The document says that its conversation goes on in another one.")
COPIED_STEP = rule("copied_step", "noted", "The document says that the step was copied; not counted or trained again.")
