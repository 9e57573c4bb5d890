"""Index the notes: fields, links, topics."""

import csv
import json
import re
from pathlib import Path
from typing import Any

files = sorted(Path("notes").rglob("*.md"), key=lambda p: p.as_posix())
known = {f.stem for f in files}

notes: list[dict[str, Any]] = []
for file in files:
    lines = file.read_text().split("\n")
    meta: dict[str, str] = {}
    if lines[0] == "---":
        end = lines.index("---", 1)
        for line in lines[1:end]:
            key, _, value = line.partition(":")
            meta[key.strip()] = value.strip()
        lines = lines[end + 1 :]
    if meta.get("status") == "archived":
        continue
    heading = next((line[2:].strip() for line in lines if line.startswith("# ")), "")
    links = re.findall(r"\[\[(.+?)\]\]", "\n".join(lines))
    notes.append(
        {
            "path": file.as_posix(),
            "title": meta.get("title") or heading,
            "date": meta.get("date") or None,
            "tags": sorted({t.strip().lower() for t in meta.get("tags", "").split(",") if t.strip()}),
            "targets": [link.split("|")[0] for link in links],
        }
    )

dated = sorted((n for n in notes if n["date"]), key=lambda n: str(n["path"]))
dated.sort(key=lambda n: str(n["date"]), reverse=True)
undated = [n for n in notes if not n["date"]]
index = [
    {"path": n["path"], "title": n["title"], "date": n["date"], "tags": n["tags"], "links": len(n["targets"])}
    for n in dated + undated
]
Path("output").mkdir(exist_ok=True)
Path("output/index.json").write_text(json.dumps(index, indent=2, ensure_ascii=False) + "\n")

broken = sorted({(n["path"], target) for n in notes for target in n["targets"] if target not in known})
with open("output/broken_links.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["source", "target"])
    writer.writerows(broken)

out = ["# Topics", ""]
for tag in sorted({t for n in notes for t in n["tags"]}):
    out += [f"## {tag}", ""]
    out += [f"- {title}" for title in sorted(n["title"] for n in notes if tag in n["tags"])]
    out.append("")
out.append(f"Notes without a tag: {sum(1 for n in notes if not n['tags'])}")
Path("output/TOPICS.md").write_text("\n".join(out) + "\n")
print(len(notes), "notes,", len(broken), "broken links")
