"""Table `skills` from `skill.imported` and `skill.annotated`, and its checks.

Of several texts of one skill the latest imported is shown, with its latest annotation: a model's where there is one,
else the rules'.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa

from assets.stage import CheckOutcome, StageCheck
from lake import Event, Lake, Projection, View, rows_table
from lake.ids import Json

_LISTS = ("auth_details", "risk_reasons", "required_env", "non_text_reasons")


def build(view: View) -> Mapping[str, pa.Table]:
    """One row a skill."""
    latest: dict[str, Event] = {}
    for event in view.events("skill.imported"):
        skill_id = event.payload["skill_id"]
        if skill_id not in latest or _order(event) > _order(latest[skill_id]):
            latest[skill_id] = event
    annotated: dict[tuple[str, str], Event] = {}
    for event in view.events("skill.annotated"):
        key = (event.payload["skill_id"], event.payload["text_sha256"])
        if key not in annotated or _order(event) > _order(annotated[key]):
            annotated[key] = event
    rows = [_row(event, annotated.get((skill, event.payload["text_sha256"]))) for skill, event in latest.items()]
    return {"skills": rows_table("skills", rows)}


def _order(event: Event) -> tuple[datetime, str]:
    return event.occurred_at, event.stream_id


def _row(event: Event, annotated: Event | None) -> dict[str, Json]:
    payload = dict(event.payload)
    annotation = payload.pop("annotation") or {name: [] for name in _LISTS}
    if annotated is not None:
        annotation = annotated.payload["annotation"]
        payload["annotator"] = annotated.payload["annotator"]
    usable = annotation.get("auth_required") is False and annotation.get("text_only_compatible") is True
    if annotated is not None:
        payload["status"] = "annotated" if usable else "not_synthesizable"
    stated = annotated or event
    return {**payload, **annotation, "synthesizable": usable, "event_id": stated.event_id}


PROJECTION = Projection(
    name="skills", version=1, outputs=("skills",), events=("skill.imported", "skill.annotated"), build=build
)  # fmt: skip


def annotations_agree(lake: Lake) -> CheckOutcome:
    """Each boolean agrees with its list, the status with the rule, and a failed row says why."""
    rows = lake.rows("skills")
    bad = [row["skill_id"] for row in rows if not _agrees(row)]
    by_status: dict[str, int] = {}
    for row in rows:
        by_status[row["status"]] = by_status.get(row["status"], 0) + 1
    figures = ", ".join(f"{count} {status}" for status, count in sorted(by_status.items())) or "no skills"
    return CheckOutcome(not bad, figures + (f"; disagreeing: {', '.join(bad[:5])}" if bad else ""), by_status)


def _agrees(row: dict[str, Json]) -> bool:
    if row["status"] == "failed":
        return bool(row["reason"]) and not row["synthesizable"]
    pairs = (
        row["auth_required"] == bool(row["auth_details"]),
        row["has_risk"] == bool(row["risk_reasons"]),
        row["text_only_compatible"] != bool(row["non_text_reasons"]),
        row["synthesizable"] == (not row["auth_required"] and row["text_only_compatible"]),
        (row["status"] == "annotated") == row["synthesizable"],
    )
    return all(pairs)


def texts_within_limit(lake: Lake) -> CheckOutcome:
    """Every stored text is there and not longer than the limit it claims to be cut at."""
    from assets.skills.skill import TEXT_LIMIT

    rows = lake.sql(
        "select s.skill_id, b.size from skills s left join blobs b on b.sha256 = s.text_sha256 order by s.skill_id"
    ).fetchall()
    missing = [skill for skill, size in rows if size is None]
    longest = max((size for _, size in rows if size is not None), default=0)
    passed = not missing and longest <= 4 * TEXT_LIMIT
    return CheckOutcome(
        passed, f"{len(rows)} texts, {len(missing)} missing, longest {longest} bytes", {"longest": longest}
    )


CHECKS = (
    StageCheck("skills_annotations_agree", "skills", annotations_agree, annotations_agree.__doc__ or ""),
    StageCheck("skills_texts_stored", "skills", texts_within_limit, texts_within_limit.__doc__ or ""),
)
