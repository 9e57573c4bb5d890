"""Resource preparation: what a draft and its input files must be before anything is built on them.

Belongs here: findings in words that a model can act on. Does not belong here: asking again (`making.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Final

from assets.tasks.formats import format_of, parse_problem
from assets.tasks.lint import WORDS, named_paths
from assets.tasks.routes.answers import InputFiles, TaskDraft

FILE_LIMIT: Final = 60_000
"""Longest input file. Bytes."""
FILES: Final = 20
_MEDIA: Final = re.compile(
    r"\b(screenshots?|photos?|photographs?|images?|videos?|audio|podcasts? recording|png|jpe?g|gif|mp[34]|wav|ocr|"
    r"voice memos?|webcam|pdf)\b",
    re.IGNORECASE,
)


def draft_problems(task: TaskDraft) -> list[str]:
    """What is wrong with a draft on its face."""
    found = []
    words = len(task.instruction.split())
    if not WORDS[0] <= words <= WORDS[1]:
        found.append(f"the instruction has {words} words; it needs {WORDS[0]} to {WORDS[1]}")
    if not task.outputs:
        found.append("no output is asked for; the work is judged by files below output/")
    if len(task.inputs) > FILES:
        found.append(f"there are {len(task.inputs)} inputs; at most {FILES}")
    inputs, outputs = [item.path for item in task.inputs], [item.path for item in task.outputs]
    found += [f"{path} is listed {n} times" for path, n in Counter([*inputs, *outputs]).items() if n > 1]
    for folder, paths in (("input/", inputs), ("output/", outputs)):
        for path in paths:
            if not path.startswith(folder) or not _plain(path):
                found.append(f"the path {path!r} is not a plain one below {folder} with a suffix")
            elif path not in task.instruction:
                found.append(f"the instruction does not name {path}")
    there = set(inputs) | set(outputs)
    found += [
        f"the instruction names {path}, which is neither an input nor an output"
        for path in sorted(named_paths(task.instruction) - there)
        if path.startswith(("input/", "output/"))
    ]
    if media := sorted({match.lower() for match in _MEDIA.findall(task.instruction)}):
        found.append(f"the task speaks of {', '.join(media)}: it must do with text files")
    return found


def prepared(task: TaskDraft, answer: InputFiles) -> tuple[dict[str, bytes], list[str]]:
    """The workspace that the files make, and what is wrong with it: missing, unasked, empty, too long, unreadable."""
    files: dict[str, bytes] = {}
    found = []
    wanted = {item.path for item in task.inputs}
    for item in answer.files:
        if item.path not in wanted:
            found.append(f"{item.path} was not asked for")
        elif item.path in files:
            found.append(f"{item.path} is given twice")
        else:
            files[item.path] = _ended(item.content)
    found += [f"{path} is missing" for path in sorted(wanted - set(files))]
    for path, content in sorted(files.items()):
        found += _file_problems(path, content)
    return files, found


def _file_problems(path: str, content: bytes) -> list[str]:
    if not content.strip():
        return [f"{path} is empty"]
    if len(content) > FILE_LIMIT:
        return [f"{path} has {len(content)} bytes; at most {FILE_LIMIT}"]
    parses, why = parse_problem(format_of(path, content), content)
    return [f"{path} does not parse: {why}"] if parses is False else []


def _ended(text: str) -> bytes:
    return (text if text.endswith("\n") or not text else text + "\n").encode("utf-8", "replace")


def _plain(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return (
        bool(re.fullmatch(r"[\w./-]+\.[A-Za-z]\w{0,5}", path))
        and PurePosixPath(path).as_posix() == path
        and all(part not in ("..", ".") and not part.startswith(".") for part in parts)
    )
