"""Imports the skills of the profile's sources: reads, annotates by rule, states one event a skill text.

Where the profile has an annotator, a model annotates them too (`annotator.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assets.skills.reader import read_source
from assets.skills.rules import ANNOTATOR, annotate
from assets.skills.skill import SkillSource
from assets.stage import Context
from lake.ids import sha256_hex


def import_skills(context: Context) -> Mapping[str, int]:
    """Emit `skill.imported` for each skill text that the log does not hold yet; a broken skill is a failed row."""
    known = context.lake.streams("skill", ("skill.imported",))
    owners = {e.payload["skill_id"]: e.payload["source"] for e in context.lake.events("skill.imported")}
    counts = {"imported": 0, "found": 0, "failed": 0}
    new: list[SkillSource] = []
    for source in context.profile.skills.sources:
        for skill in read_source(source, owners):
            owners[skill.skill_id] = skill.source
            if skill.stream_id in known:
                counts["found"] += 1
            else:
                new.append(skill)
    if new:
        with context.lake.spool("skills.reader", context.run_id) as spool:
            for skill in new:
                payload = payload_of(skill)
                payload["text_sha256"] = spool.put_blob(skill.text.encode("utf-8", "surrogatepass"), "text/markdown")
                spool.stream("skill", skill.stream_id).emit("skill.imported", payload)
                counts["failed" if payload["status"] == "failed" else "imported"] += 1
    context.progress("skills", sum(counts.values()), sum(counts.values()))
    if context.profile.llm.annotator.model is None:
        return counts
    from assets.skills.annotator import annotate_by_model  # the client costs a second that offline runs need not pay

    return {**counts, **annotate_by_model(context)}


def payload_of(skill: SkillSource) -> dict[str, Any]:
    """The payload of `skill.imported`."""
    annotation = None if skill.error else annotate(skill)
    problems = [skill.error] if skill.error else annotation.problems() if annotation else []
    if problems or annotation is None:
        status = "failed"
    else:
        status = "annotated" if annotation.synthesizable else "not_synthesizable"
    return {
        "skill_id": skill.skill_id,
        "name": skill.name,
        "description": skill.description,
        "source": skill.source,
        "text_sha256": sha256_hex(skill.text),
        "truncated": skill.truncated,
        "status": status,
        "reason": "; ".join(p for p in problems if p) or None,
        "annotation": annotation.to_payload() if annotation and status != "failed" else None,
        "annotator": ANNOTATOR,
        "flags": list(skill.flags),
        "licence": skill.licence,
    }
