"""Rules about the requests the model was served, as the proxy recorded them."""

from __future__ import annotations

from assets.trajectories.rules.registry import rule

BAD_CALL_RECORD = rule(
    "bad_call_record", "quarantined", "A proxy record that cannot be rebuilt to its sha256.", severity="error"
)
BAD_REQUEST = rule("bad_request", "noted", "The request served is no chat completion.", severity="warning")
TRANSIENT_SUFFIX = rule(
    "transient_suffix", "noted", "Internal-context messages at the end of a request that the next one does not hold."
)
TURN_NOT_SERVED = rule(
    "turn_not_in_proxy_log", "noted", "The transcript has a turn the proxy did not record.", severity="warning"
)
CALL_NOT_LOGGED = rule(
    "call_not_in_transcript", "noted", "The proxy delivered an answer that the transcript does not hold.",
    severity="warning",
)  # fmt: skip
TEXT_DIFFERS = rule(
    "turn_differs_from_proxy", "noted", "Transcript and proxy log hold different texts for one answer.",
    severity="warning",
)  # fmt: skip
JOINED_BY_ORDER = rule("joined_by_order", "noted", "A turn without response id was joined to a call by its place.")
