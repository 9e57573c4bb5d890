"""States the profile's filter policy in the log when it differs from the one that holds."""

from __future__ import annotations

from collections.abc import Mapping

from assets.sft.policy import EVENT, STREAM, Policy, latest
from assets.stage import Context
from lake.ids import digest


def state_policy(context: Context) -> Mapping[str, int]:
    """Emit `sft.policy_set` when the profile asks for another policy than the latest."""
    section = context.profile.sft
    wanted = Policy(section.score_column, section.threshold)
    before, holds = latest(context.lake.events(EVENT, stream_kind=STREAM))
    if before is not None and holds == wanted:
        return {"stated": 0, "found": 1}
    with context.lake.spool("sft.policy", context.run_id) as spool:
        stream = spool.stream(STREAM, digest(wanted.payload(), before))
        stream.emit(EVENT, wanted.payload(), caused_by=before)
    context.progress(f"filter policy: {wanted.score_column} >= {wanted.threshold}")
    return {"stated": 1, "found": 0}
