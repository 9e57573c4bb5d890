"""Verifier of `glossary_cleanup`: walks each document character by character, with the place it is in."""

from __future__ import annotations

from pathlib import Path

from assets.tasks.prelude import (
    ORIGINALS,
    check,
    is_int,
    labelled,
    md_table,
    original,
    original_csv,
    output,
    output_csv,
    section,
    share,
)

TERMS = sorted(original_csv("glossary/terms.csv"), key=lambda row: -len(row["avoid"]))
DOCUMENTS = sorted(path for path in ORIGINALS if path.startswith("docs/"))
Kept = tuple[str, int, str, str]
CHANGES: dict[tuple[str, str], int] = {}
KEPT: list[Kept] = []


def inside(character: str) -> bool:
    return character.isalnum() or character in "-_"


def term_at(line: str, at: int) -> dict[str, str] | None:
    """The longest term that stands as a whole at a place of a line."""
    if at and inside(line[at - 1]):
        return None
    for row in TERMS:
        end = at + len(row["avoid"])
        if line[at:end].lower() == row["avoid"].lower() and not (end < len(line) and inside(line[end])):
            return row
    return None


def written(row: dict[str, str], found: str) -> str:
    if row["case"] == "follow" and found[:1].isupper():
        return row["use"][:1].upper() + row["use"][1:]
    return row["use"]


def places(lines: list[str]) -> list[str]:
    """Why a whole line is kept, or nothing."""
    found, fence = [], ""
    last = lines.index("---", 1) if lines[0] == "---" else -1
    for number, line in enumerate(lines):
        mark = line[:3] if line[:3] in ("```", "~~~") else ""
        if number <= last:
            found.append("frontmatter")
        elif fence or mark:
            found.append("code")
            fence = "" if fence and mark == fence else fence or mark
        else:
            found.append("quote" if line.startswith(">") else "")
    return found


def spans(line: str) -> list[str]:
    """Why a character of an ordinary line is kept, or nothing."""
    found = [""] * len(line)
    at = 0
    while at < len(line):
        if line[at] == "`" and "`" in line[at + 1 :]:
            end = line.index("`", at + 1)
            found[at : end + 1] = ["code"] * (end + 1 - at)
        elif line.startswith("](", at) and ")" in line[at:]:
            end = line.index(")", at)
            found[at : end + 1] = ["link"] * (end + 1 - at)
        else:
            end = at
        at = end + 1
    return found


def rewritten(path: str) -> list[str]:
    """Lines of a document as they must be; notes what changes and what is kept."""
    lines = original(path).split("\n")
    result = []
    for number, (line, place) in enumerate(zip(lines, places(lines), strict=True), 1):
        why, new, at = spans(line), "", 0
        while at < len(line):
            row = term_at(line, at)
            if row is None:
                new, at = new + line[at], at + 1
                continue
            found = line[at : at + len(row["avoid"])]
            wanted, reason = written(row, found), place or why[at]
            if wanted != found and reason:
                KEPT.append((path, number, row["avoid"], reason))
            elif wanted != found:
                CHANGES[path, row["avoid"]] = CHANGES.get((path, row["avoid"]), 0) + 1
            new, at = new + (found if reason else wanted), at + len(found)
        result.append(new)
    return result


WANTED = {path: rewritten(path) for path in DOCUMENTS}


def solid(lines: list[str]) -> list[str]:
    """Lines that are not blank, without blanks at their ends."""
    return [line.rstrip() for line in lines if line.strip()]


def pairs(workspace: Path) -> list[tuple[str, str, str]]:
    """Each line before, as it must be and as found; documents that have lost or gained lines count as unfound."""
    result = []
    for path in DOCUMENTS:
        before, wanted = solid(original(path).split("\n")), solid(WANTED[path])
        found = solid(output(workspace, path).splitlines())
        if len(found) != len(wanted):
            found = [""] * len(wanted)
        result += list(zip(before, wanted, found, strict=True))
    return result


@check
def lines_to_change_changed(workspace: Path) -> float:
    due = [(wanted, found) for before, wanted, found in pairs(workspace) if before != wanted]
    return share(sum(wanted == found for wanted, found in due), len(due))


@check
def other_lines_kept(workspace: Path) -> float:
    """Only beside changed lines: leaving all as it is earns nothing."""
    rest = [found for before, wanted, found in pairs(workspace) if before == wanted == found]
    same = sum(before == wanted for before, wanted, _ in pairs(workspace))
    return len(rest) == same and lines_to_change_changed(workspace) >= 0.5


@check
def documents_exact(workspace: Path) -> float:
    due = [path for path in DOCUMENTS if WANTED[path] != original(path).split("\n")]
    right = sum(solid(output(workspace, path).splitlines()) == solid(WANTED[path]) for path in due)
    return share(right, len(due))


@check
def all_documents_exact(workspace: Path) -> float:
    return all(wanted == found for _, wanted, found in pairs(workspace))


def changes(workspace: Path) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in output_csv(workspace, "output/changes.csv", ["file", "avoid", "count"])]


@check
def changes_counted(workspace: Path) -> float:
    found = changes(workspace)
    right = sum(CHANGES.get((path, avoid)) is not None and is_int(n, CHANGES[path, avoid]) for path, avoid, n in found)
    return share(right, max(len(found), len(CHANGES)))


@check
def changes_in_order(workspace: Path) -> float:
    return [row[:2] for row in changes(workspace)] == sorted(CHANGES)


def kept(workspace: Path) -> list[Kept]:
    found = output_csv(workspace, "output/kept.csv", ["file", "line", "avoid", "reason"])
    return [(row["file"], int(row["line"]), row["avoid"], row["reason"]) for row in found]


@check
def kept_found(workspace: Path) -> float:
    """File, line and term of what is kept."""
    found = {row[:3] for row in kept(workspace)}
    wanted = {row[:3] for row in KEPT}
    return share(len(found & wanted), max(len(found), len(wanted)))


@check
def kept_exact(workspace: Path) -> float:
    return kept(workspace) == sorted(KEPT)


def terms(workspace: Path) -> str:
    return section(output(workspace, "output/terms.md"), "Terms")


@check
def totals_right(workspace: Path) -> float:
    text = terms(workspace)
    return is_int(labelled(text, "Replaced"), sum(CHANGES.values())) and is_int(labelled(text, "Kept"), len(KEPT))


@check
def never_found_named(workspace: Path) -> float:
    met = {avoid for _, avoid in CHANGES} | {row[2] for row in KEPT}
    never = sorted(row["avoid"] for row in TERMS if row["avoid"] not in met)
    return labelled(terms(workspace), "Never found") == ", ".join(never)


@check
def table_right(workspace: Path) -> float:
    use = {row["avoid"]: row["use"] for row in TERMS}
    figures: dict[str, list[int]] = {}
    for (_, avoid), count in CHANGES.items():
        total = figures.setdefault(use[avoid], [0, 0])
        total[0] += count
        total[1] += 1
    wanted = sorted((-total, name, documents) for name, (total, documents) in figures.items())
    found = md_table(terms(workspace), ["Use", "Replaced", "Documents"])
    return found == [[name, str(-total), str(documents)] for total, name, documents in wanted]
