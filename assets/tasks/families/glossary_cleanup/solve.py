"""Make the documents follow the glossary."""

import csv
import re
from collections import Counter
from pathlib import Path

with open("glossary/terms.csv", newline="", encoding="utf-8") as file:
    terms = {row["avoid"].lower(): row for row in csv.DictReader(file)}
longest = sorted(terms, key=len, reverse=True)
pattern = re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, longest)) + r")(?![\w-])", re.IGNORECASE)
protected = re.compile(r"(`[^`]*`|\]\([^)]*\))")

changes: Counter[tuple[str, str]] = Counter()
kept: list[tuple[str, int, str, str]] = []


def replacement(found: str) -> str:
    row = terms[found.lower()]
    use = row["use"]
    return use[0].upper() + use[1:] if row["case"] == "follow" and found[0].isupper() else use


def keep(path: str, number: int, text: str, reason: str) -> None:
    for match in pattern.finditer(text):
        if replacement(match[1]) != match[1]:
            kept.append((path, number, terms[match[1].lower()]["avoid"], reason))


def edit(path: str, text: str) -> str:
    def one(match: re.Match[str]) -> str:
        new = replacement(match[1])
        if new != match[1]:
            changes[path, terms[match[1].lower()]["avoid"]] += 1
        return new

    return pattern.sub(one, text)


for document in sorted(Path("docs").glob("*.md")):
    path = f"docs/{document.name}"
    lines = document.read_text("utf-8").split("\n")
    fence, front = "", lines[0] == "---"
    result = []
    for number, line in enumerate(lines, 1):
        if front:
            keep(path, number, line, "frontmatter")
            front = number == 1 or line != "---"
        elif fence or line[:3] in ("```", "~~~"):
            keep(path, number, line, "code")
            fence = "" if line[:3] == fence else fence or line[:3]
        elif line.startswith(">"):
            keep(path, number, line, "quote")
        else:
            pieces = protected.split(line)
            for i, piece in enumerate(pieces):
                if i % 2:
                    keep(path, number, piece, "code" if piece.startswith("`") else "link")
                else:
                    pieces[i] = edit(path, piece)
            line = "".join(pieces)
        result.append(line)
    document.write_text("\n".join(result), "utf-8")

Path("output").mkdir(exist_ok=True)
with open("output/changes.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["file", "avoid", "count"])
    writer.writerows([*key, count] for key, count in sorted(changes.items()))
with open("output/kept.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["file", "line", "avoid", "reason"])
    writer.writerows(sorted(kept))

found = {avoid for _, avoid in changes} | {row[2] for row in kept}
never = sorted(row["avoid"] for row in terms.values() if row["avoid"] not in found)
by_use: Counter[str] = Counter()
documents: Counter[str] = Counter()
for (_, avoid), count in changes.items():
    by_use[terms[avoid.lower()]["use"]] += count
    documents[terms[avoid.lower()]["use"]] += 1
lines = ["# Terms", "", f"Replaced: {by_use.total()}", f"Kept: {len(kept)}", f"Never found: {', '.join(never)}", ""]
lines += ["| Use | Replaced | Documents |", "| --- | --- | --- |"]
lines += [f"| {use} | {by_use[use]} | {documents[use]} |" for use in sorted(by_use, key=lambda u: (-by_use[u], u))]
Path("output/terms.md").write_text("\n".join(lines) + "\n", "utf-8")
