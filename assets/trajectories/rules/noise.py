"""Rules about what is no conversation: bookkeeping records, heartbeats, mirrors, injected context."""

from __future__ import annotations

from assets.trajectories.rules.registry import rule

NOISE = rule("noise_record", "dropped", "Bookkeeping that grows with the session and is never in the context.")
HEARTBEAT = rule("heartbeat", "dropped", "A heartbeat exchange that did nothing; kept in raw as a sign of life.")
HEARTBEAT_WORK = rule("heartbeat_worked", "noted", "A heartbeat that did real work is kept.")
NO_REPLY = rule("no_reply", "dropped", "The reply is the silence token and nothing else.")
MIRROR = rule("delivery_mirror", "dropped", "A copy of a delivered text, not a turn of the model.")
INJECTED = rule("gateway_injected", "dropped", "A note the gateway put in, not a turn of the model.")
RUNTIME_CONTEXT = rule("runtime_context", "dropped", "Context OpenClaw adds for one turn; not part of the dialogue.")
TURN_ABORTED = rule("turn_aborted", "dropped", "The marker OpenClaw leaves behind an aborted turn.")
FAILED_TURN = rule("failed_turn", "dropped", "An empty assistant turn that ended in an error of the model endpoint.")
ABORTED_TURN = rule("aborted_turn", "dropped", "An empty assistant turn that was aborted.")
EMPTY_TURN = rule("empty_turn", "dropped", "An assistant turn without text, thinking or call.")
PARTIAL_TURN = rule(
    "partial_turn", "noted", "A turn cut by an error or an abort: a step, but no message to learn from.",
    severity="warning",
)  # fmt: skip
REPEATED_PROMPT = rule(
    "repeated_prompt", "dropped", "The same prompt again with no answer between: recovery appended it."
)
DUPLICATE_RESPONSE = rule(
    "duplicate_response", "dropped", "The model ran once; the fuller record of the turn is kept.", severity="warning",
    version=2,
)  # fmt: skip
