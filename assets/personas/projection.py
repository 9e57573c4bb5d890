"""Table `personas` from `persona.created`, and its checks."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from assets.personas.builtin import DOMAINS, ORIGIN
from assets.stage import CheckOutcome, StageCheck
from lake import Lake, Projection, View, rows_table


def build(view: View) -> Mapping[str, pa.Table]:
    """One row a persona."""
    rows = [{**event.payload, "event_id": event.event_id} for event in view.events("persona.created")]
    return {"personas": rows_table("personas", rows)}


PROJECTION = Projection(
    name="personas", version=1, outputs=("personas",), events=("persona.created",), build=build
)  # fmt: skip


def distinct_texts(lake: Lake) -> CheckOutcome:
    """No two personas with the same text; among the built-in ones no field of work crowds out the others."""
    rows = lake.rows("personas")
    texts = {row["text"] for row in rows}
    by_domain: dict[str, int] = {}
    for row in rows:
        if row["origin"] == ORIGIN:
            by_domain[row["domain"]] = by_domain.get(row["domain"], 0) + 1
    most = max(by_domain.values(), default=0)
    allowed = max(2, -(-2 * sum(by_domain.values()) // len(DOMAINS)))
    passed = bool(rows) and len(texts) == len(rows) and most <= allowed
    return CheckOutcome(
        passed,
        f"{len(rows)} personas, {len(texts)} distinct texts, {len(by_domain)} fields of work, at most {most} in one",
        {"personas": len(rows), "domains": len(by_domain)},
    )


CHECKS = (
    StageCheck(
        "personas_distinct_and_spread", "personas", distinct_texts,
        "Texts are distinct and no field of work has more than twice its even share.",
    ),
)  # fmt: skip
