"""From bundles to `task.proposed` events, and the free generator that needs no lake.

Belongs here: `generate`, the payload, the effect. `python -m assets.tasks.propose` prints what the generator makes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assets.grading import entry_of
from assets.personas import Persona
from assets.personas.builtin import personas as builtin_personas
from assets.stage import Context
from assets.tasks.bundle import TaskBundle
from assets.tasks.choice import persona_for, skills_for
from assets.tasks.families import chosen
from assets.tasks.formats import manifest_entry
from lake.errors import StageError
from lake.ids import sha256_hex
from lake.spool import Spool

STREAM = "task"
PROPOSED = "task.proposed"


def generate(
    families: Sequence[str] = (),
    n: int = 4,
    seed: int = 0,
    *,
    personas: Sequence[Persona] = (),
    skills: Sequence[Mapping[str, Any]] = (),
) -> Iterator[TaskBundle]:
    """Stream bundles: seeds `seed` … `seed + n - 1` of each family (all where none is named), family by family.

    Args:
        personas: who may ask; the built-in ones of seed 1 where empty.
        skills: rows of the table `skills`, for the record of which fit.
    """
    people = list(personas) or list(builtin_personas(24, 1))
    for family in chosen(tuple(families)):
        fitting = skills_for(family, skills)
        for number in range(seed, seed + n):
            yield family.generate(number, persona_for(family, number, people), fitting)


def payload_of(bundle: TaskBundle) -> dict[str, Any]:
    """The payload of `task.proposed`: all columns of `tasks` but event_id, plus `extra` of imported formats."""
    inputs = [manifest_entry(path, content) for path, content in sorted(bundle.inputs.items())]
    return {
        "task_id": bundle.task_id,
        "task_version": bundle.task_version,
        "instruction": bundle.instruction,
        "origin": bundle.origin,
        "route": bundle.route,
        "family": bundle.family,
        "seed": bundle.seed,
        "scenario_category": bundle.scenario_category,
        "scenario_subcategory": bundle.scenario_subcategory,
        "bench_category": bundle.bench_category,
        "operations": list(bundle.operations),
        "difficulty": bundle.difficulty,
        "persona_id": bundle.persona_id,
        "skill_ids": list(bundle.skill_ids),
        "input_count": len(inputs),
        "input_bytes": sum(len(content) for content in bundle.inputs.values()),
        "input_formats": sorted({str(entry["format"]) for entry in inputs}),
        "input_manifest": inputs,
        "reward_manifest": [manifest_entry(path, content) for path, content in sorted(bundle.reward.items())],
        "verifier_sha256": sha256_hex(_verifier(bundle)),
        "verifier_protocol": bundle.verifier_protocol,
        "verifier_version": bundle.verifier_version,
        "rubric": [dict(rule) for rule in bundle.rubric] if bundle.rubric is not None else None,
        "expected_outputs": list(bundle.expected_outputs),
        "oracle_manifest": None
        if bundle.oracle is None
        else [manifest_entry(path, content) for path, content in sorted(bundle.oracle.items())],
        "plan": bundle.plan.to_json() if bundle.plan is not None else None,
        "licence": bundle.licence,
        "extra": dict(bundle.extra),
    }


def _verifier(bundle: TaskBundle) -> bytes:
    entry = entry_of(bundle.reward, bundle.verifier_protocol)
    if entry is None:
        raise StageError(
            f"task {bundle.task_id} has no verifier of the protocol {bundle.verifier_protocol} among"
            f" {sorted(bundle.reward)}; give it one before it is proposed"
        )
    return bundle.reward[entry]


def propose(spool: Spool, bundle: TaskBundle, *, caused_by: str | None = None) -> None:
    """State one task: its files as blobs, then `task.proposed`; `caused_by` is the event that it was drafted by."""
    for content in (*bundle.inputs.values(), *bundle.reward.values(), *(bundle.oracle or {}).values()):
        spool.put_blob(content, "text/plain")
    spool.stream(STREAM, f"{bundle.task_id}@{bundle.task_version}").emit(
        PROPOSED, payload_of(bundle), caused_by=caused_by
    )


def propose_tasks(context: Context) -> Mapping[str, int]:
    """Emit `task.proposed` for each (family, seed) of the profile whose very version the log does not hold yet."""
    section = context.profile.tasks
    known = context.lake.streams(STREAM, (PROPOSED,))
    personas = [Persona.from_row(row) for row in context.lake.rows("personas")]
    total = len(chosen(section.families)) * section.seeds_per_family
    counts = {"proposed": 0, "found": 0}
    spool: Spool | None = None
    try:
        bundles = generate(
            section.families,
            section.seeds_per_family,
            section.first_seed,
            personas=personas,
            skills=context.lake.rows("skills"),
        )
        for bundle in bundles:
            if f"{bundle.task_id}@{bundle.task_version}" in known:
                counts["found"] += 1
                continue
            spool = spool or context.lake.spool("tasks.families", context.run_id)
            propose(spool, bundle)
            counts["proposed"] += 1
            context.progress("tasks", sum(counts.values()), total)
    finally:
        if spool is not None:
            spool.close()
    return counts


def main(argv: Sequence[str] | None = None) -> int:
    """Print one JSON line a task: id, version, labels and sizes."""
    parser = argparse.ArgumentParser(prog="python -m assets.tasks.propose", description=main.__doc__)
    parser.add_argument("families", nargs="*", help="family names; all where none is given")
    parser.add_argument("-n", type=int, default=4, help="tasks a family")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    arguments = parser.parse_args(argv)
    for bundle in generate(arguments.families, arguments.n, arguments.seed):
        payload = payload_of(bundle)
        keys = (
            "task_id",
            "task_version",
            "difficulty",
            "bench_category",
            "scenario_category",
            "input_count",
            "input_bytes",
        )
        sys.stdout.write(json.dumps({key: payload[key] for key in keys}) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
