"""Family `course_plan`: courses with prerequisites, terms, rooms and credits become one of many valid study plans.

Belongs here: the generator. The verifier `check.py` tests the rules and accepts every plan that keeps them; `solve.py`
is the reference script.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, people, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

SEMESTERS: Final = 5
TERMS: Final = ("autumn", "spring")
SUBJECTS: Final = {"BIO": "Biology", "CHE": "Chemistry", "STA": "Statistics", "GEO": "Geography", "ECO": "Ecology"}
TOPICS: Final = (
    "Foundations", "Methods", "Field work", "Data", "Modelling", "Practice", "Ethics", "Systems", "Writing", "Project",
)  # fmt: skip
SLOTS: Final = tuple(f"{day} {hour}" for day in ("Mon", "Tue", "Wed", "Thu") for hour in ("08:30", "14:00"))


@dataclass(frozen=True)
class Course:
    """A course, and the semester it has in the plan that the programme was built around."""

    code: str
    semester: int | None
    """0: passed; None: not in that plan."""
    core: bool
    lab: bool
    credits: int
    offered: tuple[str, ...]
    expected: int
    requires: tuple[tuple[str, ...], ...] = ()
    """All of these, of each one."""
    together: str = ""
    excludes: str = ""
    room: str = ""
    slot: str = ""


@dataclass(frozen=True)
class Programme:
    """Everything a seed decides."""

    first: int
    """Index of the term of semester 1."""
    courses: dict[str, Course]
    rooms: dict[str, tuple[int, bool, tuple[str, ...]]]
    """Room → seats, whether a lab, open slots."""

    def term(self, semester: int) -> str:
        """Term of a semester."""
        return TERMS[(self.first + semester - 1) % 2]

    @property
    def passed(self) -> list[Course]:
        """Courses behind the student."""
        return [course for course in self.courses.values() if course.semester == 0]

    @property
    def planned(self) -> list[Course]:
        """Courses of the plan, in its order."""
        found = [course for course in self.courses.values() if course.semester]
        return sorted(found, key=lambda course: (course.semester or 0, course.code))

    @cached_property
    def earliest(self) -> dict[str, int]:
        """First possible semester of each course, by going through the semesters."""
        return self.by_terms(TERMS)

    def by_terms(self, terms: tuple[str, ...]) -> dict[str, int]:
        """First possible semesters; any term will do where `terms` is empty."""
        found = {course.code: 0 for course in self.passed}
        for semester in range(1, 3 * SEMESTERS):
            grown = True
            while grown:
                grown = False
                for course in self.courses.values():
                    ready = all(any(found.get(code, semester) < semester for code in part) for part in course.requires)
                    beside = not course.together or course.together in found
                    term = not terms or self.term(semester) in course.offered
                    if course.code not in found and ready and beside and term:
                        found[course.code] = semester
                        grown = True
        return found


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    programme = _programme(rng)
    while not _fit(programme):
        programme = _programme(rng)
    planned, passed = programme.planned, programme.passed
    loads = [[course for course in planned if course.semester == n] for n in range(1, SEMESTERS + 1)]
    chosen = [*planned, *passed]
    rules = {
        "LOAD": max(sum(course.credits for course in load) for load in loads) + rng.randint(2, 4),
        "LABS": max(2, max(sum(course.lab for course in load) for load in loads)),
        "TOTAL": sum(course.credits for course in chosen) - rng.randint(2, 5),
        "ELECTIVES": sum(course.credits for course in chosen if not course.core) - rng.randint(1, 3),
        "SEMESTERS": SEMESTERS,
        "FIRST": programme.term(1),
    }
    student = people(rng, 1)[0]
    transcript, failed, unknown = _transcript(rng, programme)
    inputs = {
        "programme/courses.yaml": _courses_yaml(rng, programme),
        "programme/rooms.csv": "room,seats,kind,open\n"
        + "".join(
            f"{n},{s},{'lab' if lab else 'lecture'},{'; '.join(o)}\n" for n, (s, lab, o) in programme.rooms.items()
        ),
        "programme/transcript.csv": transcript,
    }
    text = told(
        __file__,
        opening=opening(rng, persona, f"I advise students, and {student} needs a study plan that really works."),
        closing=leave_inputs(rng, "programme/"), student=student, semesters=SEMESTERS, first=rules["FIRST"],
        load=rules["LOAD"], labs=rules["LABS"], total=rules["TOTAL"], electives=rules["ELECTIVES"],
    )  # fmt: skip
    return Draft(text, inputs, _oracle(programme, failed, unknown), rules, _plan(rng, rules))


def _programme(rng: random.Random) -> Programme:
    """A plan first, then rules that it keeps."""
    first = rng.randrange(2)
    rooms = _rooms(rng)
    codes = [f"{rng.choice(sorted(SUBJECTS))}{n}" for n in sorted(rng.sample(range(101, 480), 28))]
    where: list[int | None] = [0, 0, 0, 0, 0]
    where += [n for n in range(1, SEMESTERS + 1) for _ in range(rng.choice((2, 3)))]
    core = len(where)
    where += [0, 2, 3, 5, *([None] * 4)]
    courses: dict[str, Course] = {}
    taken: dict[int, set[str]] = {n: set() for n in range(1, SEMESTERS + 1)}
    for i, semester in enumerate(where):
        code = codes[i]
        earlier = [
            c.code for c in courses.values() if c.core and c.semester is not None and c.semester < (semester or 9)
        ]
        count = rng.choice((1, 1, 2)) if semester != 0 else 0
        wanted = rng.sample(earlier[-6:], min(count, len(earlier))) if semester != 1 else rng.sample(earlier, 1)
        lab = rng.random() < 0.3
        own = TERMS[(first + semester - 1) % 2] if semester else rng.choice(TERMS)
        offered = (own,) if rng.random() < 0.6 else TERMS
        room, slot, expected = "", "", rng.choice((12, 25, 40, 90))
        if semester:
            room, slot = _place(rng, rooms, lab, taken[semester])
            taken[semester].add(slot)
            expected = rng.randint(rooms[room][0] // 2, rooms[room][0])
        courses[code] = Course(
            code, semester, i < core, lab, rng.choice((3, 4, 5, 6)), offered, expected, tuple((c,) for c in wanted),
            room=room, slot=slot,
        )  # fmt: skip
    return Programme(first, _links(rng, courses), rooms)


def _rooms(rng: random.Random) -> dict[str, tuple[int, bool, tuple[str, ...]]]:
    names = rng.sample([f"{letter}{n}" for letter in "ABC" for n in range(1, 9)], 5)
    labs = (False, False, False, True, True)
    return {
        name: (rng.choice((24, 30, 48, 60)) if not lab else rng.choice((16, 20, 28)), lab,
               tuple(sorted(rng.sample(SLOTS, 6), key=SLOTS.index)))
        for name, lab in zip(names, labs, strict=True)
    }  # fmt: skip


def _place(
    rng: random.Random, rooms: dict[str, tuple[int, bool, tuple[str, ...]]], lab: bool, taken: set[str]
) -> tuple[str, str]:
    """A room of the kind, and a slot in which it is open and nothing else happens."""
    pairs = [(name, s) for name, (_, is_lab, slots) in rooms.items() if is_lab == lab for s in slots if s not in taken]
    return rng.choice(pairs)


def _links(rng: random.Random, courses: dict[str, Course]) -> dict[str, Course]:
    """With alternatives, courses that go together, and courses that exclude each other; the plan keeps all of it."""
    found = dict(courses)
    everything = sorted(found)

    def put(code: str, **fields: object) -> None:
        found[code] = Course(**{**found[code].__dict__, **fields})

    for code in rng.sample([c for c in everything if found[c].requires], 4):
        other = rng.choice([c for c in everything if c != code])
        options = sorted({found[code].requires[0][0], other}, key=lambda c: rng.random())
        put(code, requires=(tuple(options), *found[code].requires[1:]))
    pairs = [(a, b) for a in everything for b in everything if a < b and found[a].semester == found[b].semester]
    for a, b in rng.sample([pair for pair in pairs if found[pair[0]].semester], 2):
        if not found[b].together:
            put(a, together=b)
    spare = [c for c in everything if found[c].semester is None]
    chosen = [c for c in everything if found[c].semester and not found[c].core]
    for code, other in zip(rng.sample(spare, 2), rng.sample(chosen, 2), strict=True):
        put(code, excludes=other)
    return found


def _fit(programme: Programme) -> bool:
    """Whether terms delay a core course, and a course of the first semester can have been failed."""
    core = [course for course in programme.planned if course.core]
    free = programme.by_terms(())
    delayed = any(free[course.code] < programme.earliest[course.code] for course in core)
    spread = len({programme.earliest[course.code] for course in core}) >= 4
    return delayed and spread


def _transcript(rng: random.Random, programme: Programme) -> tuple[str, list[str], list[str]]:
    """The record, what of it is open, and what is unknown."""
    rows = []
    for course in programme.passed:
        rows.append((course.code, rng.choice("ABBCCD")))
    for course, grade in zip(rng.sample(programme.passed, 2), "FW", strict=True):
        rows.append((course.code, grade))
    failed = rng.sample([c.code for c in programme.planned if c.semester == 1 and c.core], 2)
    rows += [(failed[0], "F"), (failed[0], "F"), (failed[1], rng.choice("FW"))]
    unknown = [f"{rng.choice(('LAT', 'MUS', 'PHY'))}{rng.randint(501, 599)}" for _ in range(2)]
    rows += [(code, "B") for code in unknown]
    rng.shuffle(rows)
    lines = ["taken,course,grade"]
    for i, (code, grade) in enumerate(rows):
        written = rng.choice((code, code, code.lower(), f" {code}", f"{code.title()} "))
        lines.append(f"{2022 + i * 3 // len(rows)},{written},{rng.choice((grade, grade, grade.lower(), f'{grade} '))}")
    return "\n".join(lines) + "\n", sorted(set(failed)), sorted(set(unknown))


def _courses_yaml(rng: random.Random, programme: Programme) -> str:
    lines = ["# the catalogue; no value means none"]
    for course in rng.sample(sorted(programme.courses.values(), key=lambda c: c.code), len(programme.courses)):
        requires = ", ".join(" or ".join(part) for part in course.requires)
        fields = [
            f"  title: {SUBJECTS[course.code[:3]]}, {rng.choice(TOPICS).lower()}",
            f"  group: {'core' if course.core else 'elective'}", f"  kind: {'lab' if course.lab else 'lecture'}",
            f"  credits: {course.credits}", f"  offered: {', '.join(course.offered)}", f"  expected: {course.expected}",
            f"  requires: {requires}".rstrip(), f"  with: {course.together}".rstrip(),
            f"  excludes: {course.excludes}".rstrip(),
        ]  # fmt: skip
        lines += [f"{course.code}:", *fields]
    return "\n".join(lines) + "\n"


def _oracle(programme: Programme, failed: list[str], unknown: list[str]) -> dict[str, str]:
    planned, earned = programme.planned, sum(course.credits for course in programme.passed)
    transcript = {
        "passed": sorted(course.code for course in programme.passed),
        "open": failed,
        "unknown": unknown,
        "credits": earned,
    }
    core = sorted((-programme.earliest[course.code], course.code) for course in planned if course.core)
    total = sum(course.credits for course in planned)
    text = ["# Study plan", "", f"Courses: {len(planned)}", f"Credits planned: {total}"]
    text += [f"Credits in the end: {total + earned}", ""]
    text += ["| Semester | Term | Courses | Credits |", "| --- | --- | --- | --- |"]
    for n in range(1, SEMESTERS + 1):
        mine = [course for course in planned if course.semester == n]
        codes = ", ".join(course.code for course in mine)
        text.append(f"| {n} | {programme.term(n)} | {codes} | {sum(course.credits for course in mine)} |")
    return {
        "output/transcript.json": json.dumps(transcript, indent=2) + "\n",
        "output/earliest.csv": "course,earliest\n" + "".join(f"{code},{-n}\n" for n, code in core),
        "output/plan.csv": "semester,course,room,slot\n"
        + "".join(f"{c.semester},{c.code},{c.room},{c.slot}\n" for c in planned),
        "output/plan.md": "\n".join(text) + "\n",
    }


def _plan(rng: random.Random, rules: dict[str, object]) -> Plan:
    name = rng.choice(("plan.py", "scripts/study_plan.py", "work/planner.py"))
    source = script(__file__, **rules)
    steps = [
        look(rng.choice(("ls -l programme", "wc -l programme/*"))),
        read("programme/courses.yaml", "The catalogue, the rooms and the record."),
        read("programme/rooms.csv", beside=True),
        read("programme/transcript.csv", beside=True),
        write(name, source, "I'll build the plan semester by semester and start over in another order where it fails."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/transcript.json output/earliest.csv", "Is the record read correctly?"),
        verify("cat output/plan.csv output/plan.md", "And does the plan keep to the rules?", beside=True),
        verify("cut -d, -f1,4 output/plan.csv | sort | uniq -d", "No slot twice in a semester?"),
    ]  # fmt: skip
    slips = [
        Slip(1, read("programme/courses.yml"), "It is courses.yaml."),
        Slip(5, run(f"cd programme && python3 {name}"), "From the main folder."),
    ]
    lenient = changed(source, ('in "ABCD"', 'in "ABCDFW"'))
    terms = changed(source, ('return term(semester) in course["offered"]', "return True"))
    slots = changed(source, ("{code: found[code] for", "{code: (found[code][0], min(owner)) for"))
    flaws = [
        Flaw("failed_courses_taken_as_passed", {4: rewritten(steps[4], lenient)}, loss="large"),
        Flaw("terms_ignored", {4: rewritten(steps[4], terms)}, loss="small"),
        Flaw("one_slot_for_everything", {4: rewritten(steps[4], slots)}, loss="small"),
        Flaw("report_forgotten", {5: run(f"python3 {name} && rm output/plan.md", "Run it.")}, loss="small"),
        Flaw("analysis_without_plan", {5: run(f"python3 {name} && rm output/plan.*", "Run it.")}, loss="large"),
    ]
    return plan(steps, slips, flaws, "The plan with rooms and slots is in output/plan.csv; plan.md sums it up.")


FAMILY = Family(
    name="course_plan",
    bench_category="Planning & Knowledge",
    settings=(Setting("Planning and Knowledge Organization", "curriculum and content design"),),
    operations=(
        "read local files and extract relevant content",
        "filter, sort, and rank records",
        "write structured results to local files",
        "run scripts or command-line programs",
    ),
    difficulty=4,
    folder=Path(__file__).parent,
    draft=draft,
    protocol="reward_booleans",
    domains=("education", "research and laboratory", "public and non-profit"),
    skill_words=("course", "study", "curriculum", "planner", "schedule"),
)
