"""ClawGym task folders: `data_entry.json`, `input_files/`, `reward/`.

Belongs here: the layout of a folder, both ways. Does not belong here: what the fields mean (`clawgym.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from assets.tasks.exchange.clawgym import MOUNT, OWN_WRAPPER, bundle_of, renamed, text_of
from assets.tasks.exchange.contract import (
    File,
    Imported,
    Refused,
    RefusedError,
    Source,
    Stored,
    folders_holding,
    read_tree,
    safe_path,
    slug,
)
from assets.tasks.exchange.document import pretty, rebuilt, skeleton_of
from lake.ids import sha256_hex

ENTRY: Final = "data_entry.json"
_INPUTS, _REWARD = "input_files/", "reward/"


class ClawgymFolder:
    """A folder a task, as in `RL/data` of ClawGym-Agents and the bundles of the skill route."""

    name = "clawgym-folder"
    appends = False

    def recognises(self, path: Path) -> bool:
        """A task folder, or a folder that holds one."""
        return path.is_dir() and next(folders_holding(path, ENTRY), None) is not None

    def read(self, source: Source) -> Iterator[Imported | Refused]:
        """The task folders, in the order of their names."""
        for folder in folders_holding(source.path, ENTRY):
            try:
                yield self._read_one(folder, source)
            except RefusedError as error:
                yield Refused(folder.name, str(error))
            except OSError as error:
                yield Refused(folder.name, f"it cannot be read: {error}")

    def write(self, stored: Stored) -> dict[str, File]:
        """The folder of a task; for one of another origin with a wrapper of ours."""
        bundle, extra = stored.bundle, stored.bundle.extra
        own = extra.get("format") == self.name
        name = str(extra["folder"]) if own else slug(bundle.task_id)
        files = {_INPUTS + path: File(data) for path, data in bundle.inputs.items()}
        reward = bundle.reward if own else renamed(bundle.reward, "check.py")
        files |= {_REWARD + path: File(data) for path, data in reward.items()}
        if own:
            skeleton = extra["entry"]
            kept = {path: stored.blobs[sha] for path, sha in extra["kept"].items()}
            files |= {path: File(data) for path, data in kept.items()}
            if skeleton is not None:
                files[ENTRY] = File(rebuilt(skeleton, {"instruction": bundle.instruction}))
            executable = set(extra["executable"])
            return {f"{name}/{p}": replace(f, executable=p in executable) for p, f in sorted(files.items())}
        files.setdefault(f"{_REWARD}reward.sh", File(OWN_WRAPPER, executable=True))
        files[ENTRY] = File(pretty(_entry(stored, name)))
        return {f"{name}/{path}": file for path, file in sorted(files.items())}

    def _read_one(self, folder: Path, source: Source) -> Imported:
        files = read_tree(folder)
        raw = files[ENTRY].data
        try:
            entry = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise RefusedError(f"{ENTRY} is no JSON: {error}") from error
        if not isinstance(entry, dict):
            raise RefusedError(f"{ENTRY} is a JSON {type(entry).__name__}, not an object")
        inputs = {safe_path(p.removeprefix(_INPUTS)): f.data for p, f in files.items() if p.startswith(_INPUTS)}
        reward = {p.removeprefix(_REWARD): f.data for p, f in files.items() if p.startswith(_REWARD)}
        skeleton = skeleton_of(raw, entry, {"instruction": text_of(entry)})
        kept = {p: f.data for p, f in files.items() if not p.startswith((_INPUTS, _REWARD)) and p != ENTRY}
        if skeleton is None:
            kept[ENTRY] = raw
        extra = {
            "folder": folder.name,
            "entry": skeleton,
            "executable": [path for path, file in files.items() if file.executable],
            "kept": {path: sha256_hex(data) for path, data in kept.items()},
        }
        bundle = bundle_of(
            entry, name=folder.name, form=self.name, source=source, inputs=inputs, reward=reward, extra=extra
        )
        whole = {f"{folder.name}/{path}": file for path, file in files.items()}
        return Imported(bundle, whole, tuple(kept.values()))


def _entry(stored: Stored, name: str) -> dict[str, Any]:
    bundle = stored.bundle
    metadata: dict[str, Any] = {
        "category": bundle.bench_category or bundle.scenario_subcategory or "",
        "grading_type": "automated" if bundle.rubric is None else "hybrid",
    }
    if bundle.difficulty is not None:
        metadata["difficulty"] = bundle.difficulty
    entry: dict[str, Any] = {"task_id": name, "user_query": bundle.instruction, "metadata": metadata}
    if bundle.rubric is not None:
        entry["rules"] = [dict(rule) for rule in bundle.rubric]
    if bundle.inputs:
        entry["input_mount_dir"] = MOUNT
    return entry
