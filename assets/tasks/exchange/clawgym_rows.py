"""ClawGym tasks as JSON lines: the published ClawGym-Task file, `/run` payloads, single-file items of the skill route.

Belongs here: rows, both ways. The two forms are read alike, as their spellings are mixed in the wild; they differ in
how a task of another origin is written. Does not belong here: what the fields mean (`clawgym.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from assets.tasks.exchange.clawgym import MOUNT, bundle_of, identity_of, renamed, text_of
from assets.tasks.exchange.contract import File, Imported, Refused, RefusedError, Source, Stored, safe_path
from assets.tasks.exchange.document import rebuilt, skeleton_of
from lake.ids import dumps, sha256_hex

_REWARD: Final = "reward/"
_TEST: Final = "test.py"


@dataclass(frozen=True)
class ClawgymRows:
    """A line a task."""

    name: str
    """clawgym-jsonl (`rule`, `origin_template`) or clawgym-run (`rules`, `category`, `action`)."""
    appends: bool = True

    def recognises(self, path: Path) -> bool:
        """A file of JSON lines whose first row has a task text and input files; which form by its keys."""
        if path.suffix not in (".jsonl", ".json", ".ndjson") or not path.is_file():
            return False
        with path.open("rb") as lines:
            first = next((line for line in lines if line.strip()), b"")
        try:
            row = json.loads(first)
        except ValueError:
            return False
        if not isinstance(row, dict) or not ("input_files" in row or "reward_files" in row):
            return False
        published = "origin_template" in row or "rule" in row
        return published == (self.name == "clawgym-jsonl")

    def read(self, source: Source) -> Iterator[Imported | Refused]:
        """The rows, in their order. Empty lines are left out (and not written again)."""
        seen: set[str] = set()
        with source.path.open("rb") as lines:
            for number, line in enumerate(lines):
                if not line.strip():
                    continue
                try:
                    read = self._read_one(line, number, source)
                    if read.bundle.task_id in seen:
                        raise RefusedError(f"a row before it has the id {read.bundle.extra['published_id']} too")
                    seen.add(read.bundle.task_id)
                    yield read
                except RefusedError as error:
                    yield Refused(f"{source.path.name}:{number + 1}", str(error))

    def write(self, stored: Stored) -> dict[str, File]:
        """One line, below the name of its file."""
        bundle, extra = stored.bundle, stored.bundle.extra
        if extra.get("format") == self.name:
            if extra["row"] is None:
                return {extra["file"]: File(stored.blobs[extra["line"]])}
            return {
                extra["file"]: File(rebuilt(extra["row"], _texts(bundle.instruction, bundle.inputs, bundle.reward)))
            }
        return {"tasks.jsonl": File((dumps(self._row(stored)) + "\n").encode("utf-8", "backslashreplace"))}

    def _read_one(self, line: bytes, number: int, source: Source) -> Imported:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RefusedError(f"it is no JSON: {error}") from error
        if not isinstance(row, dict):
            raise RefusedError(f"it is a JSON {type(row).__name__}, not an object")
        inputs, reward = _files(row)
        skeleton = skeleton_of(line, row, _texts(text_of(row), inputs, reward))
        extra: dict[str, Any] = {
            "file": source.path.name,
            "row": skeleton,
            "line": None if skeleton else sha256_hex(line),
            "hook_code": row.get("hook_code") if isinstance(row.get("hook_code"), str) else None,
        }
        bundle = bundle_of(
            row, name=identity_of(row) or f"task_{number:05d}", form=self.name, source=source, inputs=inputs,
            reward=reward, extra=extra,
        )  # fmt: skip
        return Imported(bundle, {source.path.name: File(line)}, () if skeleton else (line,))

    def _row(self, stored: Stored) -> dict[str, Any]:
        bundle = stored.bundle
        files = [_file(path, data) for path, data in sorted(bundle.inputs.items())]
        reward = renamed(bundle.reward, _TEST)
        files += [_file(_REWARD + path, data) for path, data in sorted(reward.items()) if path != "reward.sh"]
        rules = None if bundle.rubric is None else [dict(rule) for rule in bundle.rubric]
        row: dict[str, Any] = {"prompt": bundle.instruction, "hook_code": f"python3 {_REWARD}{_TEST} {MOUNT}"}
        if self.name == "clawgym-jsonl":
            template = f"---\nid: {bundle.task_id}\n---\n"
            return {**row, "input_files": files, "rule": rules, "origin_template": template}
        row |= {"hook_lang": "bash", "rules": rules, "input_files": files, "task_id": bundle.task_id}
        if bundle.scenario_subcategory:
            row["category"] = bundle.scenario_subcategory
        if bundle.scenario_category:
            row["macro_category"] = bundle.scenario_category
        return row | ({"action": list(bundle.operations)} if bundle.operations else {})


def _files(row: Mapping[str, Any]) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Input files and verifier package; reward files may stand among the inputs or in a list of their own."""
    inputs: dict[str, bytes] = {}
    reward: dict[str, bytes] = {}
    for field in ("input_files", "reward_files"):
        listed = row.get(field) or []
        if not isinstance(listed, list):
            raise RefusedError(f"{field} is a {type(listed).__name__}, not a list")
        for entry in listed:
            if not isinstance(entry, Mapping) or not isinstance(entry.get("content"), str):
                raise RefusedError(f"{field} holds an entry without file_path and content")
            path = safe_path(entry.get("file_path"))
            below = field == "reward_files" or path.startswith(_REWARD)
            target, path = (reward, path.removeprefix(_REWARD)) if below else (inputs, path)
            if path in target:
                raise RefusedError(f"the file {path} is given twice")
            target[path] = str(entry["content"]).encode("utf-8", "surrogatepass")
    return inputs, reward


def _texts(instruction: str, inputs: Mapping[str, bytes], reward: Mapping[str, bytes]) -> dict[str, str]:
    found = {"instruction": instruction}
    for kind, files in (("input", inputs), ("reward", reward)):
        for path, data in files.items():
            found[f"{kind}:{path}"] = data.decode("utf-8", "surrogatepass")
    return found


def _file(path: str, data: bytes) -> dict[str, str]:
    try:
        content = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedError(f"{path} is no UTF-8 text, which this format needs: {error}") from error
    suffix = path.rsplit(".", 1)[-1] if "." in path.rsplit("/", 1)[-1] else "txt"
    return {"file_path": path, "file_format": suffix, "content": content}
