"""Rules about the tree of entries: ids, parents, headers, branches, compactions, copies."""

from __future__ import annotations

from assets.trajectories.rules.registry import rule

UNKNOWN_VERSION = rule(
    "unknown_session_version", "noted", "The header states a format version this reader does not know.",
    severity="warning",
)  # fmt: skip
NO_HEADER = rule(
    "no_header", "noted", "No session header; the session id is taken from the source.", severity="warning"
)
SECOND_HEADER = rule(
    "second_header", "noted", "A further session header; records belong to the chain they hang on.", severity="warning"
)
ID_MISSING = rule("entry_id_missing", "repaired", "An entry without a usable id got one from its place.")
DUPLICATE_ENTRY = rule("duplicate_entry", "dropped", "The same record again, byte for byte.", severity="warning")
DUPLICATE_ID = rule(
    "duplicate_entry_id", "repaired", "Another record with an id that is taken; it got one from its place.",
    severity="warning",
)  # fmt: skip
PARENT_MISSING = rule(
    "parent_missing", "repaired", "The parent is nowhere; hung on the entry before it.", severity="warning"
)
PARENT_CYCLE = rule("parent_cycle", "repaired", "A ring of parents was opened at its first entry.", severity="warning")
HEAD_GAP = rule(
    "head_gap", "noted", "The beginning of the session is not in this source; never shown as complete.",
    severity="warning",
)  # fmt: skip
RECOVERED_HEAD = rule(
    "recovered_head", "repaired", "What was said before the transcript begins, taken from the trajectory events.",
    severity="warning",
)  # fmt: skip
BRANCH_LIMIT = rule(
    "branch_limit", "noted", "More branches than are assembled; the records of the others stay in raw.",
    severity="warning",
)  # fmt: skip
ABANDONED_BRANCH = rule("abandoned_branch", "noted", "The conversation branched here; the session did not end on this.")
DUPLICATE_BRANCH = rule(
    "duplicate_branch", "dropped", "A branch that only repeats answers of the kept one.", severity="warning"
)
COMPACTION = rule("compaction", "noted", "The history was replaced by a summary; the context starts anew here.")
EMPTY_SUMMARY = rule(
    "compaction_empty_summary", "noted", "A compaction whose summary is empty: the model lost the history.",
    severity="warning",
)  # fmt: skip
FIRST_KEPT_MISSING = rule(
    "compaction_first_kept_missing", "noted", "The first kept entry a compaction names is not before it.",
    severity="warning",
)  # fmt: skip
RESET = rule("context_reset", "noted", "The context was emptied here.")
ONLY_HERE = rule(
    "only_in_superseded_version", "noted",
    "An answer that no later version of its source holds: the source was rewritten since.", severity="warning",
)  # fmt: skip
SUPERSEDED = rule("superseded_version", "dropped", "A version of a source of which a later state is cleaned instead.")
COPIED = rule("copied_context", "noted", "This turn is in an earlier source already; not counted or trained again.")
