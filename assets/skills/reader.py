"""Reads skill folders: the bundled ones of OpenClaw and any folder holding folders with a SKILL.md.

Belongs here: finding, reading, cutting, and the traits that make a text suspicious. A folder that cannot be read is a
`SkillSource` with an error. Does not belong here: annotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from assets.skills.front_matter import read_front_matter
from assets.skills.skill import TEXT_LIMIT, SkillSource
from lake.errors import SetupError
from lake.ids import digest

BUNDLED: Final = "openclaw-bundled"
MAIN: Final = "SKILL.md"
_TEXT_SUFFIXES: Final = frozenset(
    (".md", ".markdown", ".txt", ".rst", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".csv", ".tsv",
     ".xml", ".html", ".css", ".py", ".sh", ".js", ".mjs", ".ts", ".rb", ".sql", ".lobster")
)  # fmt: skip
_FILE_LIMIT: Final = 2_000_000
"""Larger neighbours of SKILL.md are left out. Bytes."""
_FILES_LIMIT: Final = 400
"""Files of one skill that are looked at."""

_INVISIBLE: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad\u180e]|[\U000e0000-\U000e007f]")
_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_TO_ANNOTATOR: Final = re.compile(
    r"(ignore|disregard|forget)\s+(all\s+|any\s+)?(the\s+|your\s+)?(previous|prior|above|earlier)"
    r"\s+(instructions?|prompts?|rules?)"
    r"|\b(annotator|reviewer|classifier|language model|llm|ai model|grader)s?\b[^.\n]{0,60}"
    r"\b(must|should|please|always|has to|have to)\b"
    r"|\b(mark|label|annotate|classify|rate)\s+(this|the)\s+skill\b"
    r"|\bset\s+(auth_required|has_risk|text_only_compatible|synthesizable)\b",
    re.IGNORECASE,
)
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)


def find_bundled(root: Path | None = None) -> Path:
    """Folder of the skills that ship with the project-local OpenClaw.

    Raises:
        SetupError: OpenClaw is not installed there.
    """
    openclaw = (root or Path(__file__).resolve().parents[2]) / ".openclaw" / "node_modules" / "openclaw"
    skills = openclaw / "skills"
    if not skills.is_dir():
        raise SetupError(
            f"the skills that ship with OpenClaw are not in {skills}; "
            "run `make demo`, which installs it, or name folders in [skills] sources"
        )
    return skills


def read_source(source: str, known: Mapping[str, str]) -> Iterator[SkillSource]:
    """Read every skill of a source, sorted by folder name.

    Args:
        source: `openclaw-bundled` or a folder that holds skill folders (or is one itself).
        known: skill_id → source of what the log holds; a folder whose slug belongs to another source gets a suffix.

    Raises:
        SetupError: the source is not there.
    """
    if source == BUNDLED:
        root, label, licence = find_bundled(), BUNDLED, "MIT"
    else:
        root, label, licence = Path(source).expanduser(), f"folder:{Path(source).name}", "unstated"
        if not root.is_dir():
            raise SetupError(f"skills source {source!r} is not a folder; give `openclaw-bundled` or an existing folder")
    folders = [root] if (root / MAIN).is_file() else sorted(p for p in root.iterdir() if p.is_dir())
    taken: dict[str, str] = {}
    for folder in folders:
        if not (folder / MAIN).exists() and not any(folder.glob("[Ss][Kk][Ii][Ll][Ll].[Mm][Dd]")):
            continue
        skill_id = slug(folder.name)
        if known.get(skill_id, label) != label or skill_id in taken:
            skill_id = f"{skill_id}-{digest(label, folder.name, length=6)}"
        taken[skill_id] = folder.name
        yield read_skill(folder, skill_id, label, licence)


def slug(name: str) -> str:
    """Lower-case letters, digits and single dashes; `skill` when nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "skill"


def read_skill(folder: Path, skill_id: str, source: str, licence: str) -> SkillSource:
    """Read one skill folder; what makes it unusable is stated in `error`."""
    main = next((p for p in sorted(folder.iterdir()) if p.name.lower() == MAIN.lower()), folder / MAIN)

    def broken(reason: str) -> SkillSource:
        text = f"{folder.name}\n{reason}"
        return SkillSource(skill_id, source, folder.name, text, False, skill_id, "", "", {}, (), licence, reason)

    try:
        raw = main.read_bytes()
    except OSError as error:
        return broken(f"{main.name} cannot be read: {error.strerror}")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return broken(f"{main.name} is not UTF-8 (byte {error.start}: 0x{raw[error.start]:02x})")
    if not text.strip():
        return broken(f"{main.name} is empty")
    front = read_front_matter(text)
    if not front.body.strip() and not front.meta.get("description"):
        return broken(f"{main.name} has neither a description nor a body")
    full = text + "".join(f"\n\n===== {name} =====\n{content}" for name, content in _neighbours(folder, main))
    cut = full[:TEXT_LIMIT]
    flags = [*front.flags, *suspicious(cut)]
    if len(full) > TEXT_LIMIT:
        flags.append("truncated")
    return SkillSource(
        skill_id=skill_id,
        source=source,
        folder=folder.name,
        text=cut,
        truncated=len(full) > TEXT_LIMIT,
        name=str(front.meta.get("name") or skill_id),
        description=visible(str(front.meta.get("description") or "")),
        body=visible(front.body),
        meta=front.meta,
        flags=tuple(sorted(set(flags))),
        licence=str(front.meta.get("license") or front.meta.get("licence") or licence),
    )


def _neighbours(folder: Path, main: Path) -> Iterator[tuple[str, str]]:
    """README.md first, then the other text files by path; links and binary files are left out."""
    files = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink() and p != main]
    files.sort(key=lambda p: (p.parent != folder or p.name.lower() != "readme.md", p.relative_to(folder).as_posix()))
    for path in files[:_FILES_LIMIT]:
        if path.suffix.lower() not in _TEXT_SUFFIXES or path.stat().st_size > _FILE_LIMIT:
            continue
        try:
            yield path.relative_to(folder).as_posix(), path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue


def visible(text: str) -> str:
    """The text without characters that show nothing and without HTML comments."""
    return _BIDI.sub("", _INVISIBLE.sub("", _COMMENT.sub("", text)))


def suspicious(text: str) -> list[str]:
    """Traits a reviewer wants to know of: hidden characters, and sentences addressed to whoever annotates."""
    found = []
    if _INVISIBLE.search(text.lstrip("\ufeff")):
        found.append("zero_width_text")
    if _BIDI.search(text):
        found.append("bidi_control")
    plain = _BIDI.sub("", _INVISIBLE.sub("", text))
    if _TO_ANNOTATOR.search(plain):
        found.append("instruction_to_annotator")
    if any(_TO_ANNOTATOR.search(comment) for comment in _COMMENT.findall(plain)):
        found.append("hidden_instruction")
    return found
