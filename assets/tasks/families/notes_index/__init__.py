"""Family `notes_index`: a folder of notes becomes an index, a list of broken links and a page of topics.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

FOLDERS: Final = ("projects", "reading", "people", "how-to", "archive")
SUBJECTS: Final = (
    "boiler inspection", "bee hotel", "grant report", "night trains", "sourdough", "old maps", "rain garden",
    "choir tour", "label printer", "first aid", "tool library", "radio play", "winter tyres", "seed swap",
    "attic insulation", "museum visit", "river survey", "tax folder", "bike repair", "apple varieties",
)  # fmt: skip
ANGLES: Final = ("plan", "notes", "open questions", "summary", "checklist", "interview", "ideas")
TAGS: Final = ("garden", "money", "travel", "house", "community", "health", "music", "history")
SENTENCES: Final = (
    "Ask again in spring.", "The second offer was cheaper.", "See the pictures in the blue folder.",
    "Nobody has tried this yet.", "Keep the receipt.", "This needs two people and a dry day.",
)  # fmt: skip


@dataclass(frozen=True)
class Note:
    """One note as it is meant."""

    path: str
    title: str
    day: date | None
    tags: tuple[str, ...]
    status: str
    links: tuple[str, ...]
    """Targets, in order, with repeats."""
    form: str
    """full | untitled (block without title) | bare (no block)."""

    @property
    def stem(self) -> str:
        """What others link to."""
        return self.path.rsplit("/", 1)[1].removesuffix(".md")


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    notes = _notes(rng)
    inputs = {note.path: _text(rng, note) for note in notes}
    oracle = _oracle([n for n in notes if n.status != "archived"], {n.stem for n in notes})
    errand = "My notes have grown wild and I want an index of them that I can trust."
    text = told(__file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng, "notes/"))
    return Draft(text, inputs, oracle, {}, _plan(rng, notes))


def _notes(rng: random.Random) -> list[Note]:
    count = rng.randint(13, 17)
    subjects = rng.sample(SUBJECTS, count)
    titles = [f"{subject.capitalize()}: {rng.choice(ANGLES)}" for subject in subjects]
    stems = [subject.replace(" ", "-") for subject in subjects]
    days = [date(2025, 1, 1) + timedelta(days=rng.randint(0, 500)) for _ in range(count - 2)]
    days.append(days[0])
    broken = [f"{rng.choice(('old', 'lost', 'draft'))}-{stem}" for stem in rng.sample(stems, 4)]
    forms = ["bare", "bare", "untitled", *["full"] * (count - 3)]
    statuses = ["active", "active", "active", "archived", "archived", *rng.choices(("active", "draft"), k=count - 5)]
    notes = []
    for i, (title, stem) in enumerate(zip(titles, stems, strict=True)):
        folder = rng.choice(FOLDERS)
        links = rng.choices([s for s in stems if s != stem] + broken, k=rng.randint(0, 4))
        if 5 <= i < 8:
            links += [broken[i - 5], stems[3], broken[i - 5]]
        bare = forms[i] == "bare"
        day = None if bare or i == 8 else days[i % len(days)]
        tags = () if bare or i == 9 else tuple(rng.sample(TAGS, rng.randint(1, 3)))
        notes.append(Note(f"notes/{folder}/{stem}.md", title, day, tags, statuses[i], tuple(links), forms[i]))
    return sorted(notes, key=lambda n: n.path)


def _text(rng: random.Random, note: Note) -> str:
    lines: list[str] = []
    if note.form != "bare":
        fields = [f"title: {note.title}"] if note.form == "full" else []
        fields += [f"date: {note.day}"] if note.day else []
        shown = [rng.choice((tag, tag.title(), tag.upper(), f" {tag}")) for tag in note.tags]
        if shown and rng.random() < 0.3:
            shown.append(note.tags[0])
        fields += [f"tags: {', '.join(shown)}", f"status: {note.status}"]
        lines += ["---", *rng.sample(fields, len(fields)), "---"]
    heading = note.title if note.form != "full" or rng.random() < 0.7 else "Working copy"
    lines += ["", f"# {heading}", ""]
    for target in note.links:
        shown_as = rng.choice((f"[[{target}]]", f"[[{target}|{target.replace('-', ' ')}]]"))
        lines.append(f"{rng.choice(SENTENCES)} {rng.choice(('See', 'Compare', 'More in'))} {shown_as}.")
    lines += [rng.choice(SENTENCES), "[not a link](https://example.org/page)", ""]
    return "\n".join(lines)


def _oracle(notes: list[Note], stems: set[str]) -> dict[str, str]:
    """Outputs from the notes as they are meant."""
    newest = sorted(notes, key=lambda n: (-(n.day.toordinal() if n.day else 0), n.path))
    index = [
        {"path": n.path, "title": n.title, "date": str(n.day) if n.day else None, "tags": sorted(n.tags),
         "links": len(n.links)}
        for n in newest
    ]  # fmt: skip
    broken = sorted({(n.path, target) for n in notes for target in n.links if target not in stems})
    topics = ["# Topics", ""]
    for tag in sorted({tag for n in notes for tag in n.tags}):
        topics += [f"## {tag}", "", *(f"- {title}" for title in sorted(n.title for n in notes if tag in n.tags)), ""]
    topics.append(f"Notes without a tag: {sum(not n.tags for n in notes)}")
    return {
        "output/index.json": json.dumps(index, indent=2, ensure_ascii=False) + "\n",
        "output/broken_links.csv": "source,target\n" + "".join(f"{source},{target}\n" for source, target in broken),
        "output/TOPICS.md": "\n".join(topics) + "\n",
    }


def _plan(rng: random.Random, notes: list[Note]) -> Plan:
    name = rng.choice(("scripts/index_notes.py", "index_notes.py", "tools/notes.py"))
    source = script(__file__)
    bare = next(n for n in notes if n.form == "bare")
    untitled = next(n for n in notes if n.form == "untitled")
    steps = [
        look("find notes -name '*.md' | sort", "Let me see all the notes."),
        read(notes[0].path, "A look at a few of them."),
        read(bare.path, beside=True),
        read(untitled.path, beside=True),
        run("grep -rhoE '\\[\\[[^]]+\\]\\]' notes | sort | uniq -c | sort -rn | head -20;"
            " grep -rh '^status:' notes | sort | uniq -c",
            "Which links and which states are there?", phase="explore"),
        write(name, source, "The forms are clear: full block, block without title, no block."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/TOPICS.md output/broken_links.csv", "Check topics and broken links."),
        verify("tail -n +2 output/broken_links.csv | cut -d, -f2 | sort -u"
               " | while read t; do find notes -name \"$t.md\"; done | wc -l",
               "None of the targets may exist as a file.", beside=True),
        read("output/index.json", "And the index.", phase="check"),
    ]  # fmt: skip
    slips = [
        Slip(1, read("notes/index.md"), "There is no such note; I'll take real ones from the list."),
        Slip(6, run("python3 index.py"), f"I saved it as {name}."),
    ]
    with_archived = changed(source, ('    if meta.get("status") == "archived":\n        continue\n', ""))
    no_alias = changed(source, ('link.split("|")[0] for link in links', "link for link in links"))
    case = changed(source, ("t.strip().lower() for t in meta", "t.strip() for t in meta"))
    flaws = [
        Flaw("archived_included", {5: rewritten(steps[5], with_archived)}, loss="large"),
        Flaw("shown_texts_not_cut", {5: rewritten(steps[5], no_alias)}, loss="small"),
        Flaw("tags_in_any_case", {5: rewritten(steps[5], case)}, loss="small"),
        Flaw("no_topics", {6: run(f"python3 {name} && rm output/TOPICS.md", "Run it.")}, loss="small"),
    ]
    return plan(steps, slips, flaws, "The index, the broken links and the topics are in output/.")


FAMILY = Family(
    name="notes_index",
    bench_category="Planning & Knowledge",
    settings=(
        Setting("Information Retrieval and Collection", "knowledge retrieval and grounding"),
        Setting("Information Retrieval and Collection", "information search and lookup"),
    ),
    operations=(
        "inspect files and directories",
        "extract structured data from files or web content",
        "filter, sort, and rank records",
        "write structured results to local files",
    ),
    difficulty=1,
    folder=Path(__file__).parent,
    draft=draft,
    protocol="reward_booleans",
    domains=("research and laboratory", "education", "media and publishing", "public and non-profit"),
    skill_words=("notes", "vault", "vaults", "markdown"),
)
