"""Small published tasks of every format, written by hand for the tests.

Belongs here: the files as their publishers would lay them out. Does not belong here: what is expected of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MOUNT = "/root/.openclaw/workspace"

WRAPPER = f"""#!/usr/bin/env bash
set -euo pipefail

python3 {MOUNT}/reward/check.py {MOUNT} | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(sum(float(v) for v in d.values()) / len(d))'
"""

FLOATS = """import json, sys
from pathlib import Path

def grade(transcript, workspace_path):
    out = Path(workspace_path) / "output/total.json"
    try:
        total = json.loads(out.read_text())["total"]
    except (OSError, ValueError, KeyError, TypeError):
        return {"there": float(out.is_file()), "total": 0.0}
    return {"there": 1.0, "total": float(total == 6)}

if __name__ == "__main__":
    print(json.dumps(grade([], sys.argv[1] if len(sys.argv) > 1 else ".")))
"""

BOOLEANS = f"""import json, os, sys

root = sys.argv[1] if len(sys.argv) > 1 else "{MOUNT}"
there = os.path.isfile(os.path.join(root, "output", "total.json"))
right = there and json.load(open(os.path.join(root, "output", "total.json"))) == {{"total": 6}}
beside = os.path.dirname(os.path.abspath(__file__)) == os.path.join(root, "reward")
print(json.dumps({{"reward": 0.5 * there + 0.5 * right if beside else 0.0, "there": there, "right": bool(right)}}))
"""

QUERY = "Add up the column x of input/numbers.csv and write the sum as `total` to output/total.json."
SCORES = {level: f"text of {level}" for level in ("0", "0.25", "0.5", "0.75", "1")}
RULE = {"name": "clear", "file_path": "output/total.json", "scores": SCORES}
INPUTS = {
    "input/numbers.csv": "x\n1\n2\n3\n",
    "input/nötes.md": "# Ünïcode\n\nquite a long line of text to be taken out\n",
}


def put(folder: Path, files: dict[str, str | bytes], executable: tuple[str, ...] = ()) -> Path:
    """Write files below a folder."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        place.chmod(0o755 if path in executable else 0o644)
    return folder


def clawgym_folder(folder: Path, check: str = FLOATS, **entry: Any) -> Path:
    """A ClawGym task folder."""
    data = {"task_id": folder.name, "user_query": QUERY, "metadata": {"category": "", "grading_type": "automated"}}
    data |= {"input_mount_dir": MOUNT, **entry}
    files: dict[str, str | bytes] = {f"input_files/{path}": text for path, text in INPUTS.items()}
    files |= {"reward/check.py": check, "reward/reward.sh": WRAPPER}
    files["data_entry.json"] = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return put(folder, files, ("reward/reward.sh",))


def row(check: str = FLOATS, **more: Any) -> dict[str, Any]:
    """A row of the published ClawGym-Task file."""
    files = [{"file_path": path, "content": text} for path, text in INPUTS.items()]
    files.insert(0, {"file_path": "reward/test.py", "content": check})
    return {
        "prompt": QUERY, "hook_code": f"python3 reward/test.py {MOUNT}", "input_files": files, "rule": None,
        "origin_template": "---\nid: task_17_sum\nname: Sum\n---\n", **more,
    }  # fmt: skip


def run_row(check: str = BOOLEANS, **more: Any) -> dict[str, Any]:
    """A `/run` payload of the persona route."""
    files = [{"file_path": path, "file_format": "csv", "content": text} for path, text in INPUTS.items()]
    files.append({"file_path": "reward/test.py", "file_format": "py", "content": check})
    return {
        "prompt": QUERY, "hook_code": f"python3 reward/test.py {MOUNT}", "hook_lang": "bash", "rules": [RULE],
        "category": "data analysis and calculation", "macro_category": "Analysis and Decision Support",
        "action": ["filter, sort, and rank records"], "input_files": files, **more,
    }  # fmt: skip


def write_rows(path: Path, rows: list[Any], **style: Any) -> Path:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps(row, **style) + "\n" for row in rows))
    return path


LEVELS = "".join(f"**Score {level}**: text of {level}\n" for level in ("1.0", "0.75", "0.5", "0.25", "0.0"))

PINCH = f"""---
id: task_30_sum
name: "Sum: a column"   # a comment, and a colon in quotes
category: data
grading_type: hybrid
timeout_seconds: 120
grading_weights:
  automated: 0.4
  llm_judge: 0.6
workspace_files:
  - path: "input/numbers.csv"
    content: |
      x
      1
      2
      3
  - source: notes.md
    dest: input/notes.md
---

# Sum

## Prompt

{QUERY}

## Expected Behavior

The agent adds.

```python
## no heading: it stands in a code block
```

## Grading Criteria

- [ ] the file is there

## Automated Checks

```python
{FLOATS}```

## LLM Judge Rubric

### Criterion 1: Clarity (Weight: 60%)

{LEVELS}
### Criterion 2: Care (Weight: 40%)

{LEVELS}"""

SESSIONS = """---
id: task_31_sessions
name: Sessions
category: memory
grading_type: llm_judge
timeout_seconds: 60
multi_session: true
sessions:
  - id: first
    prompt: |
      Save the word heron to memory/word.md.
  - new_session: true
    prompt: Which word is in memory/word.md?
workspace_files: []
---

## Prompt

See the sessions.

## LLM Judge Rubric

It should recall the word.
"""


def pinchbench(folder: Path) -> Path:
    """A PinchBench checkout with two tasks."""
    files: dict[str, str | bytes] = {"tasks/task_30_sum.md": PINCH, "tasks/task_31_sessions.md": SESSIONS}
    files |= {"tasks/TASK_TEMPLATE.md": "not a task", "assets/notes.md": "# Notes\n"}
    return put(folder, files)


TEST_SH = """#!/bin/bash
mkdir -p /logs/verifier
if python3 /tests/check.py; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; exit 1; fi
"""

HARBOR: dict[str, str | bytes] = {
    "task.toml": 'schema_version = "1.4"\n\n[task]\nname = "org/sum"\n\n[metadata]\ncategory = "data"\n',
    "instruction.md": "Add up the column x of /app/data/numbers.csv and write the sum to /app/answer.txt.\n",
    "environment/Dockerfile": "FROM python:3.12-slim\nRUN pip install pytest\nWORKDIR /app\nCOPY data/ ./data/\n",
    "environment/data/numbers.csv": "x\n1\n2\n3\n",
    "tests/test.sh": TEST_SH,
    "tests/check.py": 'assert open("/app/answer.txt").read().strip() == "6"\n',
    "solution/solve.sh": "#!/bin/bash\necho 6 > /app/answer.txt\n",
}


def harbor(folder: Path, **changes: str | bytes | None) -> Path:
    """A Harbor task folder; a change of null leaves a file out."""
    files = {**HARBOR, **changes}
    return put(folder, {p: c for p, c in files.items() if c is not None}, ("tests/test.sh", "solution/solve.sh"))
