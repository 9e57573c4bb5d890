"""A study plan: semester by semester, with another order of preference until one works."""

import csv
import json
import random
from pathlib import Path
from typing import Any

LOAD = 18
LABS = 2
TOTAL = 90
ELECTIVES = 12
SEMESTERS = 5
FIRST = "autumn"

courses: dict[str, dict[str, Any]] = {}
for raw in Path("programme/courses.yaml").read_text().splitlines():
    key, _, value = raw.split("#")[0].strip().partition(":")
    if raw.startswith(" "):
        courses[list(courses)[-1]][key] = value.strip()
    elif key:
        courses[key] = {}
for course in courses.values():
    parts = [part for part in course["requires"].split(",") if part.strip()]
    course["requires"] = [[code.strip() for code in part.split(" or ")] for part in parts]
    course["offered"] = [name.strip() for name in course["offered"].split(",")]
    course["credits"] = int(course["credits"])
with open("programme/rooms.csv", newline="") as handle:
    rooms = list(csv.DictReader(handle))

taken, passed, unknown = set(), set(), set()
with open("programme/transcript.csv", newline="") as handle:
    for row in csv.DictReader(handle):
        code, grade = row["course"].strip().upper(), row["grade"].strip().upper()
        if code not in courses:
            unknown.add(code)
            continue
        taken.add(code)
        if grade in "ABCD":
            passed.add(code)
core = sorted(code for code, course in courses.items() if course["group"] == "core" and code not in passed)


def term(semester: int) -> str:
    names = ["autumn", "spring"]
    return names[(names.index(FIRST) + semester - 1) % 2]


def offered(course: dict[str, Any], semester: int) -> bool:
    return term(semester) in course["offered"]


def ready(course: dict[str, Any], semester: int, done: dict[str, int]) -> bool:
    before = all(any(done.get(code, semester) < semester for code in part) for part in course["requires"])
    return before and (not course["with"] or course["with"] in done)


earliest = dict.fromkeys(passed, 0)
for semester in range(1, 20):
    for _ in courses:
        for code, course in courses.items():
            if code not in earliest and offered(course, semester) and ready(course, semester, earliest):
                earliest[code] = semester


def place(codes: list[str]) -> dict[str, tuple[str, str]] | None:
    """A room and a slot for each course of a semester, or None: courses matched to slots along alternating paths."""
    options: dict[str, dict[str, str]] = {}
    for code in codes:
        course = courses[code]
        options[code] = {}
        for room in rooms:
            if (room["kind"] == "lab") == (course["kind"] == "lab") and int(room["seats"]) >= int(course["expected"]):
                for slot in room["open"].split(";"):
                    options[code].setdefault(slot.strip(), room["room"])
    owner: dict[str, str] = {}

    def give(code: str, seen: set[str]) -> bool:
        for slot in options[code]:
            if slot not in seen:
                seen.add(slot)
                if slot not in owner or give(owner[slot], seen):
                    owner[slot] = code
                    return True
        return False

    if not all(give(code, set()) for code in codes):
        return None
    found = {code: (options[code][slot], slot) for slot, code in owner.items()}
    return {code: found[code] for code in codes}


def chain(code: str) -> int:
    later = [c for c in courses if any(part == [code] for part in courses[c]["requires"])]
    return 1 + max((chain(c) for c in later), default=0)


def attempt(rng: random.Random) -> dict[int, dict[str, tuple[str, str]]] | None:
    done = dict.fromkeys(passed, 0)
    scale = rng.choice((1, 3, 8, 20))
    noise = {code: scale * rng.random() for code in sorted(courses)}
    wish = {code: 10 * (code in needed) + chains[code] + noise[code] for code in courses}
    plan = {}
    for semester in range(1, SEMESTERS + 1):
        chosen: list[str] = []
        grown = True
        while grown:
            grown = False
            for code in sorted(courses, key=lambda c: -wish[c]):
                course = courses[code]
                excluded = course["excludes"] in done or any(courses[c]["excludes"] == code for c in done)
                if code in done or excluded or not offered(course, semester) or not ready(course, semester, done):
                    continue
                trial = [*chosen, code]
                labs = sum(courses[c]["kind"] == "lab" for c in trial)
                if sum(courses[c]["credits"] for c in trial) > LOAD or labs > LABS or place(trial) is None:
                    continue
                elective = sum(courses[c]["credits"] for c in done if courses[c]["group"] == "elective")
                total = sum(courses[c]["credits"] for c in {*done, *core})
                if code not in needed and elective >= ELECTIVES and total >= TOTAL:
                    continue
                chosen, grown = trial, True
                done[code] = semester
        plan[semester] = place(sorted(chosen)) or {}
    electives = sum(courses[c]["credits"] for c in done if courses[c]["group"] == "elective")
    enough = sum(courses[c]["credits"] for c in done) >= TOTAL and electives >= ELECTIVES
    return plan if enough and set(core) <= set(done) else None


needed = {*core, *(courses[code]["with"] for code in core)}
chains = {code: chain(code) for code in courses}
found = next(plan for seed in range(4000) for plan in [attempt(random.Random(seed))] if plan)

Path("output").mkdir(exist_ok=True)
earned = sum(courses[code]["credits"] for code in passed)
record = {
    "passed": sorted(passed), "open": sorted(taken - passed), "unknown": sorted(unknown), "credits": earned,
}  # fmt: skip
Path("output/transcript.json").write_text(json.dumps(record, indent=2) + "\n")
with open("output/earliest.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["course", "earliest"])
    writer.writerows([code, earliest[code]] for code in sorted(core, key=lambda c: (-earliest[c], c)))
with open("output/plan.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["semester", "course", "room", "slot"])
    writer.writerows([n, code, *placed] for n, chosen in found.items() for code, placed in sorted(chosen.items()))
planned = [code for chosen in found.values() for code in chosen]
total = sum(courses[code]["credits"] for code in planned)
lines = ["# Study plan", "", f"Courses: {len(planned)}", f"Credits planned: {total}"]
lines += [f"Credits in the end: {total + earned}", ""]
lines += ["| Semester | Term | Courses | Credits |", "| --- | --- | --- | --- |"]
for n, chosen in found.items():
    if chosen:
        load = sum(courses[code]["credits"] for code in chosen)
        lines.append(f"| {n} | {term(n)} | {', '.join(sorted(chosen))} | {load} |")
Path("output/plan.md").write_text("\n".join(lines) + "\n")
print(len(planned), "courses,", total, "credits")
