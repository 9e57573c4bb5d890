"""Rules about values inside records: texts, times, usage, errors, images, secrets."""

from __future__ import annotations

from assets.trajectories.rules.registry import rule

ENVELOPE = rule("inbound_envelope", "repaired", "Metadata blocks before a user's words were left out of the text.")
SYSTEM_LINES = rule("system_lines", "repaired", "`System:` lines before a user's words were left out of the text.")
DATE_PREFIX = rule("date_prefix", "repaired", "The date OpenClaw puts before a user's words was left out.")
RUNTIME_SUFFIX = rule("runtime_suffix", "repaired", "The `Runtime:` line behind the first prompt was left out.")
CRON = rule("cron_prompt", "repaired", "A scheduled prompt: its frame was left out of the text.")
REPLY_TAG = rule("reply_tag", "repaired", "Reply directives in an answer were left out of the text.")
INTERNAL_CONTEXT = rule("internal_context", "repaired", "A block of internal context in a message was left out.")
INTER_SESSION = rule("inter_session_message", "noted", "A message routed from another session, not from a person.")
SUBAGENT_CONTEXT = rule("subagent_context", "noted", "The prompt of a sub-agent, written by its parent.")
SESSION_PROMPT = rule("new_session_prompt", "noted", "The prompt OpenClaw sends itself after /new or /reset.")
UNTRUSTED = rule(
    "untrusted_wrapper",
    "repaired",
    "Content from outside: its wrapper and warning were left out of the text.",
    version=2,
)
ODD_CONTENT = rule("odd_content", "repaired", "Content of an unexpected JSON type was read as far as possible.")
UNKNOWN_BLOCK = rule("unknown_block", "noted", "A content block of an unknown type was left out.", severity="warning")
OVERSIZED_VALUE = rule(
    "oversized_value", "repaired", "A text above a million characters: its middle was left out, the whole is in raw.",
    severity="warning",
)  # fmt: skip
IMAGE = rule("image_replaced", "repaired", "An image became its sha256, size and type; its bytes stay in raw.")
BAD_TIME = rule("bad_timestamp", "repaired", "A time that cannot be read became null.", severity="warning")
NO_TIME = rule("missing_timestamp", "noted", "The record states no time: null, or what its message states.")
TIME_ORDER = rule("out_of_order_time", "noted", "A record states a time more than a second before an earlier one.")
BAD_USAGE = rule("bad_usage", "repaired", "Usage of a wrong type or below zero became null.", severity="warning")
ZERO_USAGE = rule("usage_unknown", "noted", "All-zero usage means the endpoint sent none: null, not 0.")
ERROR_IS_ERROR = rule("tool_error_flag", "noted", "The result says isError.")
ERROR_STATUS = rule("tool_error_status", "noted", "The result's details say error or failed.")
ERROR_EXIT = rule("tool_error_exit_code", "noted", "The command left with a code other than 0; isError is false.")
ERROR_TEXT = rule("tool_error_text", "noted", "Only the result's text says that the call failed.")
SECRET = rule("secret_masked", "masked", "A secret became a typed, stable placeholder.", severity="warning")
