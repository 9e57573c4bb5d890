"""Rules about tool calls and their results: paired by id and position, nothing invented."""

from __future__ import annotations

from assets.trajectories.rules.registry import rule

ORPHAN = rule("orphan_result", "quarantined", "A result whose call is nowhere.", severity="warning")
DUPLICATE_RESULT = rule("duplicate_result", "dropped", "The same result again for a call that has it.")
EXTRA_RESULT = rule(
    "extra_result", "quarantined", "Another result for a call that has one already.", severity="warning"
)
MOVED_RESULT = rule("result_moved", "moved", "A result that did not stand behind its call was moved there.")
SYNTHETIC = rule(
    "synthetic_result", "dropped", "A result OpenClaw made up to repair its transcript; the call is unanswered.",
    severity="warning",
)  # fmt: skip
UNANSWERED = rule("unanswered_call", "noted", "A call without a result; none is invented.", severity="warning")
CUT = rule(
    "cut_before_unanswered", "noted", "Messages end before the first turn with an unanswered call.", severity="warning"
)
ID_MADE = rule("tool_call_id_synthesized", "repaired", "A call without an id got one from its place.")
ID_REPEATED = rule("tool_call_id_repeated", "repaired", "A call id used before; made unique in the messages.")
RESHAPED = rule("tool_arguments_reshaped", "repaired", "Arguments that are no object were put into one.")
ARGUMENTS_DIFFER = rule(
    "tool_arguments_differ", "noted", "The argument text the model wrote says something else than what the agent ran.",
    severity="warning",
)  # fmt: skip
TOOL_UNKNOWN = rule("unknown_tool_name", "noted", "A call without a tool name.", severity="warning")
RECOVERED_CALL = rule(
    "recovered_turn", "repaired", "An assistant turn missing from the transcript, taken from the model's own answer.",
    severity="warning",
)  # fmt: skip
