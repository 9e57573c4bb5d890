"""Blocking checks of the stage `logs`, over what is in the lake."""

from __future__ import annotations

from assets.stage import CheckOutcome, StageCheck
from lake import Lake
from lake.projection import FORGOTTEN


def _all_stated(lake: Lake) -> CheckOutcome:
    rows = lake.sql(
        "select coalesce(sum(r.n), 0)::bigint, coalesce(sum(s.records), 0)::bigint,"
        " count(*) filter (where r.n is distinct from s.records)"
        " from (select source_id, version, count(*) n from raw_records group by all) r"
        " full join (from sources anti join (select stream_id as source_id from events where type = $forgotten)"
        " using (source_id)) s using (source_id, version)",
        {"forgotten": FORGOTTEN},
    ).fetchall()
    raw, stated, wrong = rows[0]
    return CheckOutcome(
        wrong == 0,
        f"{raw} raw records, {stated} stated by events, {wrong} source versions differ",
        {"raw_records": raw, "stated": stated, "versions_that_differ": wrong},
    )


def _contiguous(lake: Lake) -> CheckOutcome:
    row = lake.sql(
        "select count(*) from (select position, raw_size, lead(position) over w as following from raw_records"
        " where source_kind not in ('openclaw.transcript', 'openclaw.trajectory')"
        " window w as (partition by source_id, version order by position))"
        " where following - position - raw_size not in (0, 1)"
    ).fetchone()
    gaps = row[0] if row else 0
    return CheckOutcome(gaps == 0, f"{gaps} places where bytes of a file are missing or doubled", {"gaps": gaps})


CHECKS = (
    StageCheck(
        "every_record_stated",
        "sources",
        _all_stated,
        "Each raw record belongs to a version whose event counts it; a forgotten source has none.",
    ),
    StageCheck(
        "files_whole", "sources", _contiguous, "Records of a file follow each other without a missing or doubled byte."
    ),
)
