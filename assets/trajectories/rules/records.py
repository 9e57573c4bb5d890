"""Rules about single records: what cannot be read, what is repaired on reading, what is of no known kind."""

from __future__ import annotations

from typing import Final

from assets.trajectories.rules.registry import Rule, rule

BLANK = rule("blank_line", "dropped", "A line of white space holds nothing.")
BAD_JSON = rule("bad_json", "quarantined", "The record is no JSON and nothing can be read from it.", severity="error")
NOT_OBJECT = rule("not_object", "quarantined", "The record is JSON but no object.", severity="error")
BAD_UTF8 = rule(
    "bad_utf8", "quarantined", "The record holds bytes that are no UTF-8 and no object either.", severity="error"
)
BAD_ZSTD = rule("bad_zstd", "quarantined", "The compressed row cannot be decompressed.", severity="error")
OVERSIZED = rule(
    "oversized_record", "quarantined", "Above 16 MiB: kept whole in raw, never decoded.", severity="warning"
)
UNKNOWN_TYPE = rule(
    "unknown_record_type", "quarantined", "A record type this version does not know; kept in raw.", severity="warning"
)
UNKNOWN_ROLE = rule(
    "unknown_role", "quarantined", "A message whose role is unknown or whose body is no message.", severity="warning"
)
TORN_LINE = rule(
    "torn_line_joined", "repaired", "The rest of a line that was incomplete when its start was taken in.",
)  # fmt: skip
DUPLICATE_KEY = rule(
    "duplicate_json_key", "noted", "An object states a key twice; the last one counts, the others are in raw.",
    severity="warning",
)  # fmt: skip
TRACE_WINDOW = rule(
    "trajectory_events_missing", "noted", "The trajectory events are a bounded window: some of the run's are gone.",
    severity="warning",
)  # fmt: skip
UNPLACED = rule(
    "unplaced", "quarantined", "The record fell through every rule: a defect of the cleaner.", severity="error"
)

REPAIRED: Final[dict[str, Rule]] = {
    "bom": rule("utf8_bom", "repaired", "A byte order mark before the first record was left out."),
    "bad_utf8": rule(
        "bad_utf8_replaced", "repaired", "Bytes that are no UTF-8 became U+FFFD in clean text.", severity="warning"
    ),
    "lone_surrogate": rule(
        "lone_surrogate",
        "repaired",
        "Escaped halves of surrogate pairs became U+FFFD in clean text.",
        severity="warning",
    ),
    "nonfinite_number": rule(
        "nonfinite_number", "repaired", "NaN, Infinity or an overflowing number became null.", severity="warning"
    ),
    "deep_nesting": rule(
        "deep_nesting", "repaired", "A value nested deeper than 200 levels became a placeholder.", severity="warning"
    ),
}
"""What the lenient decoder notes, and the rule that states it."""

UNREADABLE: Final[dict[str, Rule]] = {
    "blank": BLANK,
    "bad_json": BAD_JSON,
    "not_object": NOT_OBJECT,
    "bad_utf8": BAD_UTF8,
    "bad_zstd": BAD_ZSTD,
    "oversized": OVERSIZED,
}
"""Parse status of a record in which there is no object, and its rule."""
