"""Verifier of `course_plan`: tests each rule on the plan as written; any plan that keeps them is right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    OutputError,
    check,
    is_int,
    labelled,
    md_table,
    object_keys,
    original_csv,
    original_yaml,
    output,
    output_csv,
    output_json,
    section,
)

LOAD = 18
LABS = 2
TOTAL = 90
ELECTIVES = 12
SEMESTERS = 5
FIRST = "autumn"

COURSES = original_yaml("programme/courses.yaml")
ROOMS = {row["room"]: row for row in original_csv("programme/rooms.csv")}
CREDITS = {code: int(course["credits"]) for code, course in COURSES.items()}
TAKEN = [
    (row["course"].strip().upper(), row["grade"].strip().upper()) for row in original_csv("programme/transcript.csv")
]
PASSED = sorted({code for code, grade in TAKEN if code in COURSES and grade in ("A", "B", "C", "D")})
OPEN = sorted({code for code, _ in TAKEN if code in COURSES} - set(PASSED))
UNKNOWN = sorted({code for code, _ in TAKEN} - set(COURSES))
CORE = sorted(code for code, course in COURSES.items() if course["group"] == "core" and code not in PASSED)


def term(semester: int) -> str:
    return FIRST if semester % 2 else {"autumn": "spring", "spring": "autumn"}[FIRST]


def parts(code: str) -> list[list[str]]:
    """What a course requires: of each part one."""
    return [[c.strip() for c in part.split(" or ")] for part in COURSES[code]["requires"].split(",") if part.strip()]


def is_offered(code: str, semester: int) -> bool:
    return term(semester) in [name.strip() for name in COURSES[code]["offered"].split(",")]


def first_semesters() -> dict[str, int]:
    """The least semester of each course, from above: lowered until nothing changes."""
    never = 99
    found = {code: 0 if code in PASSED else never for code in COURSES}
    for _ in range(len(COURSES) + 1):
        for code in set(COURSES) - set(PASSED):
            needed = max([1, *(min(found[c] for c in part) + 1 for part in parts(code))])
            needed = max(needed, found[COURSES[code]["with"]] if COURSES[code]["with"] else 1)
            if needed < never:
                found[code] = needed if is_offered(code, needed) else needed + 1
    return found


EARLIEST = first_semesters()


def record(workspace: Path) -> dict[str, Any]:
    keys = ["passed", "open", "unknown", "credits"]
    return object_keys(output_json(workspace, "output/transcript.json"), keys)


@check
def record_read(workspace: Path) -> float:
    found = record(workspace)
    return (found["passed"], found["open"], found["unknown"]) == (PASSED, OPEN, UNKNOWN)


@check
def record_credits(workspace: Path) -> float:
    return is_int(record(workspace)["credits"], sum(CREDITS[code] for code in PASSED))


@check
def earliest_semesters(workspace: Path) -> float:
    found = [
        (row["course"], row["earliest"]) for row in output_csv(workspace, "output/earliest.csv", ["course", "earliest"])
    ]
    return found == [(code, str(EARLIEST[code])) for code in sorted(CORE, key=lambda c: (-EARLIEST[c], c))]


def rows(workspace: Path) -> list[tuple[int, str, str, str]]:
    """The plan, if it is one: known courses, each once, semesters in range, and most of what is needed."""
    listed = output_csv(workspace, "output/plan.csv", ["semester", "course", "room", "slot"])
    found = [(int(row["semester"]), row["course"], row["room"], row["slot"]) for row in listed]
    codes = [row[1] for row in found]
    known = len(set(codes)) == len(codes) and set(codes) <= set(COURSES)
    if not known or any(not 1 <= row[0] <= SEMESTERS for row in found) or len(found) < 0.8 * len(CORE):
        raise OutputError("plan.csv is no plan: courses repeated or unknown, no such semester, or far too few courses")
    return found


@check
def plan_has_all_core_courses(workspace: Path) -> float:
    codes = {row[1] for row in rows(workspace)}
    return set(CORE) <= codes and not codes & set(PASSED)


@check
def plan_has_the_credits(workspace: Path) -> float:
    codes = {row[1] for row in rows(workspace)} | set(PASSED)
    electives = [code for code in codes if COURSES[code]["group"] == "elective"]
    apart = not any(COURSES[code]["excludes"] in codes for code in codes)
    return apart and sum(CREDITS[c] for c in codes) >= TOTAL and sum(CREDITS[c] for c in electives) >= ELECTIVES


@check
def plan_keeps_the_order(workspace: Path) -> float:
    found = rows(workspace)
    when = dict.fromkeys(PASSED, 0) | {code: semester for semester, code, _, _ in found}
    for semester, code, _, _ in found:
        beside = COURSES[code]["with"]
        if not all(any(when.get(c, semester) < semester for c in part) for part in parts(code)):
            return 0.0
        if beside and when.get(beside, SEMESTERS + 1) > semester:
            return 0.0
    return 1.0


@check
def plan_keeps_the_terms(workspace: Path) -> float:
    return all(is_offered(code, semester) for semester, code, _, _ in rows(workspace))


@check
def plan_keeps_the_load(workspace: Path) -> float:
    load: Counter[int] = Counter()
    labs: Counter[int] = Counter()
    for semester, code, _, _ in rows(workspace):
        load[semester] += CREDITS[code]
        labs[semester] += COURSES[code]["kind"] == "lab"
    return max(load.values()) <= LOAD and max(labs.values()) <= LABS


@check
def plan_rooms_fit(workspace: Path) -> float:
    for _, code, room, slot in rows(workspace):
        fields = ROOMS[room]
        is_open = slot in [name.strip() for name in fields["open"].split(";")]
        if (
            not is_open
            or fields["kind"] != COURSES[code]["kind"]
            or int(fields["seats"]) < int(COURSES[code]["expected"])
        ):
            return 0.0
    return 1.0


@check
def plan_slots_do_not_clash(workspace: Path) -> float:
    used = [(semester, slot) for semester, _, _, slot in rows(workspace)]
    return len(set(used)) == len(used)


@check
def plan_sorted(workspace: Path) -> float:
    found = [row[:2] for row in rows(workspace)]
    return found == sorted(found)


def report(workspace: Path) -> str:
    return section(output(workspace, "output/plan.md"), "Study plan")


@check
def report_numbers(workspace: Path) -> float:
    codes = [row[1] for row in rows(workspace)]
    text, planned = report(workspace), sum(CREDITS[code] for code in codes)
    return (
        is_int(labelled(text, "Courses"), len(codes))
        and is_int(labelled(text, "Credits planned"), planned)
        and is_int(labelled(text, "Credits in the end"), planned + sum(CREDITS[code] for code in PASSED))
    )


@check
def report_table(workspace: Path) -> float:
    by_semester: dict[int, list[str]] = {}
    for semester, code, _, _ in rows(workspace):
        by_semester.setdefault(semester, []).append(code)
    wanted = [
        [str(n), term(n), ", ".join(sorted(codes)), str(sum(CREDITS[code] for code in codes))]
        for n, codes in sorted(by_semester.items())
    ]
    return md_table(report(workspace), ["Semester", "Term", "Courses", "Credits"]) == wanted
