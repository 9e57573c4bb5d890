"""Harbor task folders: `task.toml`, `instruction.md`, `environment/`, `tests/`, `solution/`.

Belongs here: the layout, and as much of a Dockerfile as lays out files. No image is built: what a Dockerfile does
beyond WORKDIR, COPY and ADD of local files is a known defect of the task. Does not belong here: running `test.sh`.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from assets.grading.place import HARBOR, PLACE_FILE
from assets.tasks.bundle import TaskBundle
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
from assets.tasks.exchange.facts import defect, needs_packages, outputs_named
from assets.tasks.lint import missing_inputs
from lake.ids import sha256_hex

_HEAD, _TEXT, _DOCKERFILE = "task.toml", "instruction.md", "environment/Dockerfile"
_WORKDIR: Final = "/app"
"""Where the agent works when a Dockerfile names no folder."""
_TEST: Final = """#!/usr/bin/env bash
# Grades the workspace and leaves the score where the harness looks for it.
mkdir -p /logs/verifier
python3 - /tests/{entry} {workdir} <<'PYTHON'
import json
import pathlib
import runpy
import subprocess
import sys

check, workspace = sys.argv[1:]
grade = runpy.run_path(check).get("grade")
if callable(grade):
    values = {{name: float(value) for name, value in grade([], workspace).items()}}
    score = sum(values.values()) / len(values)
else:
    said = subprocess.run([sys.executable, check, workspace], check=True, capture_output=True, text=True).stdout
    score = float(json.loads(said.strip().splitlines()[-1])["reward"])
pathlib.Path("/logs/verifier/reward.txt").write_text(f"{{score}}\\n")
PYTHON
"""


class Harbor:
    """A folder a task."""

    name = "harbor"
    appends = False

    def recognises(self, path: Path) -> bool:
        """A task folder, or a folder that holds one."""
        return path.is_dir() and next(folders_holding(path, _HEAD), None) is not None

    def read(self, source: Source) -> Iterator[Imported | Refused]:
        """The task folders, in the order of their names."""
        for folder in folders_holding(source.path, _HEAD):
            try:
                yield self._read_one(folder, source)
            except (RefusedError, OSError) as error:
                yield Refused(folder.name, str(error))

    def write(self, stored: Stored) -> dict[str, File]:
        """The folder of a task; for one of another origin with a Dockerfile and a `test.sh` of ours."""
        bundle, extra = stored.bundle, stored.bundle.extra
        if extra.get("format") == self.name:
            executable = set(extra["executable"])
            files = {p: File(stored.blobs[sha], p in executable) for p, sha in extra["files"].items()}
            return {f"{extra['folder']}/{path}": file for path, file in files.items()}
        entry = next((name for name in ("check.py", "test.py") if name in bundle.reward), None)
        if entry is None:
            raise RefusedError("its verifier is no Python, so no test.sh can be written for it")
        return {f"{slug(bundle.task_id)}/{path}": file for path, file in sorted(_written(bundle, entry).items())}

    def _read_one(self, folder: Path, source: Source) -> Imported:
        files = read_tree(folder)
        head = _toml(files)
        instruction = _text(files, _TEXT)
        if "tests/test.sh" not in files:
            raise RefusedError("there is no tests/test.sh")
        dockerfile = files[_DOCKERFILE].data.decode("utf-8", "replace") if _DOCKERFILE in files else ""
        workdir, inputs, defects = laid_out(dockerfile, {p: f.data for p, f in files.items()})
        # The place of the tests is part of the verifier: it says where they find the workspace.
        reward = {p.removeprefix("tests/"): f.data for p, f in files.items() if p.startswith("tests/")}
        reward[PLACE_FILE] = json.dumps({"workspace": workdir}).encode()
        command = needs_packages(files["tests/test.sh"].data)
        if command:
            defects.append(defect("needs_network", f"tests/test.sh calls {command}, and there is no network"))
        name = str(head.get("task", {}).get("name") or folder.name)
        metadata = head.get("metadata", {})
        extra: dict[str, Any] = {
            "format": self.name,
            "published_id": name,
            "folder": folder.name,
            "files": {path: sha256_hex(file.data) for path, file in files.items()},
            "executable": [path for path, file in files.items() if file.executable],
            "category": metadata.get("category"),
            "timeout_s": head.get("verifier", {}).get("timeout_sec"),
        }
        bundle = TaskBundle(
            task_id=f"{source.collection}-{slug(folder.name)}",
            instruction=instruction,
            inputs=inputs,
            reward=reward,
            verifier_protocol=HARBOR,
            origin=f"import:{self.name}",
            route="import",
            licence=source.licence,
            expected_outputs=tuple(
                path for path in outputs_named(instruction.replace(workdir.rstrip("/") + "/", ""), inputs)
            ),
        )
        defects += [
            defect("missing_input", f"the instruction names {p}, which is absent") for p in missing_inputs(bundle)
        ]
        whole = {f"{folder.name}/{path}": file for path, file in files.items()}
        blobs = tuple(file.data for file in files.values())
        return Imported(replace(bundle, extra={**extra, "defects": defects}), whole, blobs)


def laid_out(dockerfile: str, files: Mapping[str, bytes]) -> tuple[str, dict[str, bytes], list[Mapping[str, str]]]:
    """Working folder, its files, and what of the Dockerfile was not followed.

    Args:
        files: of the task folder; those below `environment/` are the build context.
    """
    context = {p.removeprefix("environment/"): d for p, d in files.items() if p.startswith("environment/")}
    workdir, inputs = PurePosixPath(_WORKDIR), {}
    copied: list[tuple[str, bytes]] = []
    undone: list[str] = []
    joined = re.sub(r"\\\s*\n", " ", dockerfile)
    for line in (line.strip() for line in joined.splitlines()):
        word, _, rest = line.partition(" ")
        match word.upper():
            case "WORKDIR":
                workdir = workdir / rest.strip().strip("\"'")
            case "COPY" | "ADD":
                found = _copied(rest, context, workdir)
                copied += found or []
                if found is None:
                    undone.append(line)
            case "RUN" | "ENTRYPOINT" | "CMD" | "VOLUME" | "USER":
                undone.append(line)
            case _:
                continue
    if workdir == PurePosixPath("/") or len(workdir.parts) < 2 or str(workdir).startswith(_SYSTEM):
        raise RefusedError(f"its working folder {workdir} is one of the system, which a sandbox shares")
    for path, data in copied:
        if PurePosixPath(path).is_relative_to(workdir):
            inputs[safe_path(str(PurePosixPath(path).relative_to(workdir)))] = data
        else:
            undone.append(f"a file at {path}, outside the working folder")
    if "FROM" not in joined.upper() and not context:
        return str(workdir), inputs, []
    return str(workdir), inputs, [defect("image_not_built", line) for line in undone[:5]]


_SYSTEM: Final = ("/usr", "/bin", "/etc", "/lib", "/proc", "/dev", "/sys", "/sbin", "/opt/clawgym", "/tests", "/logs")


def _copied(rest: str, context: Mapping[str, bytes], workdir: PurePosixPath) -> list[tuple[str, bytes]] | None:
    """Absolute paths with contents; null where it is no plain copy of files of the context."""
    try:
        words = json.loads(rest) if rest.strip().startswith("[") else shlex.split(rest)
    except ValueError:
        return None
    if any(str(word).startswith("--from") for word in words):
        return None
    words = [str(word) for word in words if not str(word).startswith("--")]
    if len(words) < 2:
        return None
    *sources, target = words
    found: list[tuple[str, bytes]] = []
    into = target.endswith("/") or len(sources) > 1 or target in (".", "./")
    for source in sources:
        name = source.strip("./") if source in (".", "./") else source.removeprefix("./").rstrip("/")
        below = {p: d for p, d in context.items() if p != "Dockerfile" and (not name or p.startswith(name + "/"))}
        if name in context:
            place = workdir / target / PurePosixPath(name).name if into else workdir / target
            found.append((str(place), context[name]))
        elif below:
            cut = len(name) + 1 if name else 0
            found += [(str(workdir / target / path[cut:]), data) for path, data in below.items()]
        else:
            return None
    return found


def _toml(files: Mapping[str, File]) -> dict[str, Any]:
    try:
        head = tomllib.loads(_text(files, _HEAD))
    except tomllib.TOMLDecodeError as error:
        raise RefusedError(f"{_HEAD} is no TOML: {error}") from error
    if head.get("steps"):
        raise RefusedError(f"it has {len(head['steps'])} steps; only tasks of one step are taken")
    for name in ("task", "metadata", "verifier"):
        if not isinstance(head.get(name, {}), dict):
            raise RefusedError(f"{name} of {_HEAD} is no table")
    return head


def _text(files: Mapping[str, File], name: str) -> str:
    if name not in files:
        raise RefusedError(f"there is no {name}")
    try:
        text = files[name].data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedError(f"{name} is no UTF-8 text: {error}") from error
    if not text.strip():
        raise RefusedError(f"{name} is empty")
    return text


def _written(bundle: TaskBundle, entry: str) -> dict[str, File]:
    workdir = "/workspace"
    lines = ["FROM python:3.12-slim", "RUN pip install --no-cache-dir pyyaml", f"WORKDIR {workdir}"]
    files = {f"environment/workspace/{path}": File(data) for path, data in bundle.inputs.items()}
    if files:
        lines.append("COPY workspace/ ./")
    files |= {f"tests/{p}": File(d) for p, d in bundle.reward.items() if p != "reward.sh"}
    files["tests/test.sh"] = File(_TEST.format(entry=entry, workdir=workdir).encode(), executable=True)
    files[_DOCKERFILE] = File(("\n".join(lines) + "\n").encode())
    files[_TEXT] = File((bundle.instruction.rstrip("\n") + "\n").encode("utf-8", "backslashreplace"))
    metadata = {
        "origin": bundle.origin, "licence": bundle.licence, "category": bundle.bench_category or "",
        "difficulty": bundle.difficulty or 0,
    }  # fmt: skip
    head = (
        'schema_version = "1.4"\n\n[task]\nname = ' + json.dumps(f"clawgym/{slug(bundle.task_id)}") + "\n\n[metadata]\n"
    )
    head += "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in metadata.items())
    head += (
        '\n[agent]\ntimeout_sec = 900.0\n\n[verifier]\ntimeout_sec = 120.0\n\n[environment]\nnetwork_mode = "none"\n'
    )
    files[_HEAD] = File(head.encode())
    if bundle.oracle is not None:
        files |= {f"solution/files/{path}": File(data) for path, data in bundle.oracle.items()}
        script = f'#!/usr/bin/env bash\nset -euo pipefail\ncp -R "$(dirname "$0")/files/." {workdir}/\n'
        files["solution/solve.sh"] = File(script.encode(), executable=True)
    return files
