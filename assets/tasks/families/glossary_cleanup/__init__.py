"""Family `glossary_cleanup`: documents are made to follow a glossary, in place, but not in code, quotes and links.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

FOLLOW: Final = {
    "whitelist": "allowlist", "blacklist": "blocklist", "e-mail": "email", "slave": "replica", "dummy": "placeholder",
    "sanity check": "quick check", "web site": "website", "data base": "database", "user name": "username",
    "back end": "backend", "drop-down": "menu", "man hours": "person hours", "end user": "customer",
}  # fmt: skip
FIXED: Final = {"postgres": "PostgreSQL", "github": "GitHub", "javascript": "JavaScript", "api": "API"}
MASTER: Final = {"master": "primary", "master branch": "main branch"}
NEAR: Final = ("master-key", "masters", "Mastery", "remaster")
"""Words with a term inside that is none."""
SENTENCES: Final = (
    "The @ is checked twice a day.", "Ask before you change the @ of another team.", "Every @ needs an owner.",
    "We moved the @ last spring, and nobody noticed.", "@ problems are reported on the same day.",
    "@ and @ are looked at together.", "A @ without a note is not accepted.", "Nobody touches the @ on a Friday.",
    "**@** first, everything else later.", "What counts as @ is decided by the desk (see the @).",
    "Is it the @? Then call us.", "Two of 14 teams had no @ in 2025.",
)  # fmt: skip
QUOTES: Final = ("> The @ was down all night.", "> @ is what we called it then.")
CODES: Final = ("Run `sync @ 3` twice.", "The setting `@` has 2 values.")
LINKS: Final = ("See [the @ page](pages/@.md) for more.", "All about the [@](https://wiki.example/@?v=2) is there.")
FENCED: Final = ("load @", 'name = "@"', "# @ comes first", "> @ in a log")
TITLES: Final = ("handbook", "onboarding", "releases", "support", "backups", "access", "monitoring", "style")


@dataclass(frozen=True)
class Term:
    """A row of the glossary."""

    avoid: str
    use: str
    fixed: bool

    def seen(self, rng: random.Random, begins: bool) -> tuple[str, str]:
        """The term as a text has it, and what should stand there."""
        found = self.avoid if rng.random() < 0.8 and not begins else self.avoid[0].upper() + self.avoid[1:]
        if self.fixed:
            return found, self.use
        return found, self.use[0].upper() + self.use[1:] if found[0].isupper() else self.use


@dataclass
class Document:
    """A document before and after, with what happens to its terms."""

    path: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    changes: Counter[str] = field(default_factory=Counter)
    kept: list[tuple[str, int, str, str]] = field(default_factory=list)

    def add(self, rng: random.Random, template: str, terms: list[Term], reason: str = "") -> None:
        """A line with a term in each `@`; with a reason, all of them are kept."""
        old, new = template, template
        for term in terms[: template.count("@")]:
            found, wanted = term.seen(rng, not old.partition("@")[0].strip("*> "))
            if reason:
                self.kept.append((self.path, len(self.before) + 1, term.avoid, reason))
            else:
                self.changes[term.avoid] += 1
            old, new = old.replace("@", found, 1), new.replace("@", found if reason else wanted, 1)
        self.before.append(old)
        self.after.append(new)

    def link(self, rng: random.Random, template: str, term: Term) -> None:
        """A link: its text follows the glossary, its target is kept."""
        found, wanted = term.seen(rng, begins=False)
        self.changes[term.avoid] += 1
        self.kept.append((self.path, len(self.before) + 1, term.avoid, "link"))
        self.before.append(template.replace("@", found, 1).replace("@", term.avoid, 1))
        self.after.append(template.replace("@", wanted, 1).replace("@", term.avoid, 1))


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    terms = [Term(avoid, use, False) for avoid, use in [*rng.sample(sorted(FOLLOW.items()), 9), *MASTER.items()]]
    terms += [Term(avoid, use, True) for avoid, use in rng.sample(sorted(FIXED.items()), 3)]
    never = rng.sample(terms[:8], 2)
    used = [term for term in terms if term not in never]
    documents = [_document(rng, f"docs/{name}.md", used) for name in sorted(rng.sample(TITLES, 5))]
    rows = [f"{t.avoid},{t.use},{'fixed' if t.fixed else 'follow'}" for t in terms]
    inputs = {document.path: "\n".join(document.before) + "\n" for document in documents}
    inputs["glossary/terms.csv"] = "avoid,use,case\n" + "".join(f"{row}\n" for row in rng.sample(rows, len(rows)))
    errand = "Our documents must follow the new glossary before they are translated."
    closing = rng.choice(("The glossary itself stays as it is.", "Please leave the folder glossary/ alone."))
    text = told(__file__, opening=opening(rng, persona, errand), closing=closing, near=rng.choice(NEAR))
    oracle = _oracle(documents, used, sorted(term.avoid for term in never))
    return Draft(text, inputs, oracle, {}, _plan(rng, documents), tuple(document.path for document in documents))


def _document(rng: random.Random, path: str, terms: list[Term]) -> Document:
    """A document with terms in prose and in every place where they are kept."""
    found = Document(path)
    plain = [term for term in terms if " " not in term.avoid]

    def some(count: int = 2) -> list[Term]:
        return rng.sample(terms, count)

    if rng.random() < 0.6:
        found.add(rng, "---", [])
        found.add(rng, "title: All about the @", some(1), "frontmatter")
        found.add(rng, f"reviewed: 2026-0{rng.randint(1, 9)}-14", [])
        found.add(rng, "---", [])
        found.add(rng, "", [])
    found.add(rng, f"# {path[5:-3].title()} and the @", some(1))
    found.add(rng, "", [])
    blocks = ["prose", "prose", "bullets", "quote", "code", "link", "fence", "near"]
    rng.shuffle(blocks)
    for block in blocks:
        if block in ("prose", "bullets"):
            for _ in range(rng.randint(2, 3)):
                found.add(rng, ("- " if block == "bullets" else "") + rng.choice(SENTENCES), some())
        elif block == "quote":
            found.add(rng, rng.choice(QUOTES), some(1), "quote")
        elif block == "code":
            found.add(rng, rng.choice(CODES), some(1), "code")
        elif block == "link":
            found.link(rng, rng.choice(LINKS), rng.choice(plain))
        elif block == "near":
            right = rng.choice([term for term in terms if term.fixed])
            found.add(rng, f"The {rng.choice(NEAR)} and {right.use} are right as they are.", [])
        else:
            _fence(rng, found, terms)
        found.add(rng, "", [])
    found.before.pop()
    found.after.pop()
    return found


def _fence(rng: random.Random, found: Document, terms: list[Term]) -> None:
    """A fenced block, sometimes with the marks of the other kind inside."""
    mark, other = rng.choice((("```", "~~~"), ("~~~", "```")))
    found.add(rng, f"{mark}{rng.choice(('', 'text', 'sh'))}", [])
    for template in rng.sample(FENCED, 2):
        found.add(rng, template, rng.sample(terms, 1), "code")
    if rng.random() < 0.5:
        found.add(rng, other, [])
        found.add(rng, rng.choice(FENCED), rng.sample(terms, 1), "code")
    found.add(rng, mark, [])


def _oracle(documents: list[Document], terms: list[Term], never: list[str]) -> dict[str, str]:
    """Outputs from the documents as they are meant."""
    oracle = {document.path: "\n".join(document.after) + "\n" for document in documents}
    changes = [(d.path, avoid, count) for d in documents for avoid, count in sorted(d.changes.items())]
    kept = sorted(row for document in documents for row in document.kept)
    met = {avoid for _, avoid, _ in changes} | {row[2] for row in kept}
    never = sorted([*never, *(term.avoid for term in terms if term.avoid not in met)])
    figures = []
    for term in terms:
        counts = [count for _, avoid, count in changes if avoid == term.avoid]
        figures += [(-sum(counts), term.use, len(counts))] if counts else []
    report = ["# Terms", "", f"Replaced: {sum(count for _, _, count in changes)}", f"Kept: {len(kept)}"]
    report += [f"Never found: {', '.join(never)}", "", "| Use | Replaced | Documents |", "| --- | --- | --- |"]
    report += [f"| {use} | {-total} | {count} |" for total, use, count in sorted(figures)]
    return oracle | {
        "output/changes.csv": "file,avoid,count\n" + "".join(f"{p},{a},{n}\n" for p, a, n in changes),
        "output/kept.csv": "file,line,avoid,reason\n" + "".join(f"{p},{n},{a},{r}\n" for p, n, a, r in kept),
        "output/terms.md": "\n".join(report) + "\n",
    }


def _plan(rng: random.Random, documents: list[Document]) -> Plan:
    name = rng.choice(("apply_glossary.py", "scripts/terms.py", "work/glossary.py"))
    source = script(__file__)
    steps = [
        look(rng.choice(("ls docs glossary", "wc -l docs/*.md glossary/*"))),
        read("glossary/terms.csv", "The terms, and one document to see its markup."),
        read(rng.choice(documents).path, beside=True),
        run(
            "grep -nE '^(---|```|~~~|>)|`|\\]\\(' docs/*.md | head -60",
            "Where is text that must stay?",
            phase="explore",
        ),
        write(name, source, "I'll write a small script that knows the protected places."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/kept.csv output/terms.md", "Is what was kept rightly kept?"),
        verify("grep -nE 'primary|main branch' docs/*.md | head -20", "The pair that could be mixed up."),
    ]
    slips = [
        Slip(1, read("glossary/terms.json"), "It is a CSV file."),
        Slip(5, run(f"python3 docs/{name}"), f"The script is {name}."),
    ]
    everywhere = changed(
        source,
        ('elif fence or line[:3] in ("```", "~~~"):', "elif False:"),
        ('elif line.startswith(">"):', "elif False:"),
        ("if i % 2:", "if False:"),
    )
    shortest = changed(source, ("key=len, reverse=True", "key=len"))
    inside = changed(source, ('r"(?<![\\w-])("', 'r"("'), ('r")(?![\\w-])"', 'r")"'))
    lower = changed(source, (' if row["case"] == "follow" and found[0].isupper() else use', " if False else use"))
    flaws = [
        Flaw("protected_places_edited", {4: rewritten(steps[4], everywhere)}, loss="large"),
        Flaw("parts_of_words_replaced", {4: rewritten(steps[4], inside)}, loss="large"),
        Flaw("capitals_lost", {4: rewritten(steps[4], lower)}, loss="small"),
        Flaw("summary_forgotten", {5: run(f"python3 {name} && rm output/terms.md", "Run it.")}, loss="small"),
        Flaw("records_forgotten_shorter_first", {4: rewritten(steps[4], shortest),
             5: run(f"python3 {name} && rm -r output", "Run it.")}, loss="large"),
    ]  # fmt: skip
    return plan(steps, slips, flaws, "The documents follow the glossary; what stayed and why is in output/kept.csv.")


FAMILY = Family(
    name="glossary_cleanup",
    bench_category="Content & Domain Support",
    settings=(Setting("Content and External Communication", "general content writing"),),
    operations=(
        "read local files and extract relevant content",
        "edit or rewrite existing local documents",
        "rewrite messages for tone, clarity, or brevity",
        "write structured results to local files",
    ),
    difficulty=3,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("media and publishing", "education", "public and non-profit", "software engineering"),
    skill_words=("writing", "editing", "terminology", "docs"),
)
