"""PinchBench tasks: Markdown with front matter, files below `assets/`.

Belongs here: front matter, sections, rubric text, both ways. A file is written back as it was read: its YAML has no
one spelling. Does not belong here: running `grade` (`assets/grading`), the judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from assets.grading.place import JUDGE_ONLY
from assets.tasks.bundle import TaskBundle
from assets.tasks.exchange.clawgym import LEVELS
from assets.tasks.exchange.contract import File, Imported, Refused, RefusedError, Source, Stored, safe_path, slug
from assets.tasks.exchange.facts import defect, outputs_named, protocol_of, reads_transcript
from assets.tasks.lint import missing_inputs
from lake.ids import sha256_hex

_FRONT: Final = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)(.*)\Z", re.DOTALL)
_FENCE: Final = re.compile(r"^(`{3,}|~{3,})")
_CODE: Final = re.compile(r"```(?:python|py)[ \t]*\r?\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_CRITERION: Final = re.compile(
    r"^#{3,4}\s*(?:Criterion\s*\d+\s*[:.-]\s*)?(.+?)\s*(?:\(\s*Weight:?\s*([\d.]+)\s*%?\s*\))?\s*$", re.MULTILINE
)
_LEVEL: Final = re.compile(
    r"^\s*(?:[-*]\s+)?\**\s*(?:Score\s+)?([01](?:\.\d+)?)\s*\**\s*[:\u2013-]\s*\**\s*(.+)$", re.MULTILINE
)


class PinchBench:
    """A Markdown file a task."""

    name = "pinchbench"
    appends = False

    def recognises(self, path: Path) -> bool:
        """A task file, or a folder that holds `task_*.md` (itself or in `tasks/`)."""
        return next(_task_files(path), None) is not None

    def read(self, source: Source) -> Iterator[Imported | Refused]:
        """The task files, in the order of their names."""
        for path in _task_files(source.path):
            try:
                yield self._read_one(path, source)
            except (RefusedError, OSError) as error:
                yield Refused(path.name, str(error))

    def write(self, stored: Stored) -> dict[str, File]:
        """`tasks/<file>` and what it takes from `assets/`."""
        bundle, extra = stored.bundle, stored.bundle.extra
        if extra.get("format") == self.name:
            assets = {f"assets/{path}": File(stored.blobs[sha]) for path, sha in extra["assets"].items()}
            return {f"tasks/{extra['file']}": File(stored.blobs[extra["markdown"]]), **assets}
        if bundle.verifier_protocol != "grade_floats":
            raise RefusedError(f"its verifier is a script ({bundle.verifier_protocol}), this format needs grade()")
        if set(bundle.reward) - {"reward.sh"} != {"check.py"}:
            raise RefusedError("its verifier needs further files, this format has one Python block")
        return _written(bundle)

    def _read_one(self, path: Path, source: Source) -> Imported:
        raw = path.read_bytes()
        front, sections = _parsed(raw)
        inputs, assets, missing = _inputs(front, path)
        instruction, sessions = _instruction(front, sections)
        code = _CODE.search(sections.get("Automated Checks", ""))
        rubric_text = sections.get("LLM Judge Rubric") or ""
        rubric = rubric_of(rubric_text)
        reward, protocol, defects = _verifier(code[1] if code else None, rubric_text, sections)
        if front.get("grading_type") in ("automated", "hybrid") and protocol == JUDGE_ONLY:
            defects.append(
                defect("no_verifier", f"grading_type is {front['grading_type']}, but there is no Python block")
            )
        if sessions:
            defects.append(defect("multi_session", f"{len(sessions)} prompts in turn, given here as one instruction"))
        defects += [defect("missing_input", f"workspace file {name} is absent") for name in missing.values()]
        if rubric is None and rubric_text:
            defects.append(defect("rubric_unreadable", "the rubric's criteria do not have five score texts each"))
        name = str(front.get("id") or path.stem)
        extra: dict[str, Any] = {
            "format": self.name,
            "published_id": name,
            "file": path.name,
            "markdown": sha256_hex(raw),
            "assets": {p: sha256_hex(data) for p, data in assets.items()},
            "category": front.get("category"),
            "grading_type": front.get("grading_type"),
            "weights": front.get("grading_weights"),
            "timeout_s": front.get("timeout_seconds"),
            "sessions": sessions,
        }
        bundle = TaskBundle(
            task_id=f"{source.collection}-{slug(name)}",
            instruction=instruction,
            inputs=inputs,
            reward=reward,
            verifier_protocol=protocol,
            origin=f"import:{self.name}",
            route="import",
            licence=source.licence,
            rubric=rubric,
            expected_outputs=outputs_named(instruction, [*inputs, *missing]),
        )
        defects += [
            defect("missing_input", f"the instruction names {p}, which is absent") for p in missing_inputs(bundle)
        ]
        files = {f"tasks/{path.name}": File(raw), **{f"assets/{p}": File(data) for p, data in assets.items()}}
        return Imported(replace(bundle, extra={**extra, "defects": defects}), files, (raw, *assets.values()))


def _task_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        if path.suffix == ".md" and path.read_bytes()[:3] in (b"---", b"\xef\xbb\xbf"):
            yield path
        return
    for folder in (path, path / "tasks"):
        if folder.is_dir():
            yield from sorted(found for found in folder.glob("task_*.md") if found.is_file())


def _parsed(raw: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    """Front matter and sections by heading; a heading inside a code block is none."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedError(f"it is no UTF-8 text: {error}") from error
    found = _FRONT.match(text)
    if found is None:
        raise RefusedError("there is no front matter between two lines of ---")
    try:
        front = yaml.safe_load(found[1])
    except yaml.YAMLError as error:
        raise RefusedError(f"the front matter is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(front, dict):
        raise RefusedError("the front matter is no mapping")
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    fence: str | None = None
    for line in found[2].splitlines():
        mark = _FENCE.match(line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and fence is not None and line.strip() == fence:
            fence = None
        heading = re.match(r"^##\s+(.+?)\s*#*\s*$", line) if fence is None else None
        if heading:
            current = sections.setdefault(heading[1], [])
        else:
            current.append(line)
    return front, {name: "\n".join(lines).strip("\n") for name, lines in sections.items()}


def _inputs(front: Mapping[str, Any], path: Path) -> tuple[dict[str, bytes], dict[str, bytes], dict[str, str]]:
    """Workspace files, the assets they come from, and the absent ones with their sources."""
    inputs: dict[str, bytes] = {}
    assets: dict[str, bytes] = {}
    missing: dict[str, str] = {}
    above = next((folder for folder in (path.parent, path.parent.parent) if (folder / "assets").is_dir()), path.parent)
    for entry in front.get("workspace_files") or []:
        given = {"source": entry} if isinstance(entry, str) else entry
        if not isinstance(given, Mapping):
            raise RefusedError(f"workspace_files holds {entry!r}")
        if "content" in given:
            inputs[safe_path(given.get("path") or given.get("dest"))] = str(given["content"]).encode("utf-8")
            continue
        name = safe_path(given.get("source"))
        place = above / "assets" / name
        if place.is_symlink() or not place.is_file():
            missing[safe_path(given.get("dest") or given.get("path") or Path(name).name)] = name
            continue
        assets[name] = place.read_bytes()
        inputs[safe_path(given.get("dest") or given.get("path") or Path(name).name)] = assets[name]
    return inputs, assets, missing


def _instruction(front: Mapping[str, Any], sections: Mapping[str, str]) -> tuple[str, list[dict[str, Any]]]:
    """The instruction, and the sessions of a task that has several."""
    sessions = front.get("sessions") or []
    if not isinstance(sessions, list):
        raise RefusedError(f"sessions is a {type(sessions).__name__}, not a list")
    found = []
    for number, session in enumerate(sessions, 1):
        given = {"prompt": session} if isinstance(session, str) else session
        if not isinstance(given, Mapping) or not isinstance(given.get("prompt"), str):
            raise RefusedError(f"session {number} has no prompt")
        found.append(
            {
                "id": str(given.get("id") or number),
                "prompt": given["prompt"].strip(),
                "new_session": bool(given.get("new_session")),
            }
        )
    if found:
        return "\n\n".join(str(session["prompt"]) for session in found), found
    prompt = sections.get("Prompt", "").strip()
    if not prompt:
        raise RefusedError("there is no section Prompt")
    return prompt, []


def _verifier(
    code: str | None, rubric_text: str, sections: Mapping[str, str]
) -> tuple[dict[str, bytes], str, list[Mapping[str, str]]]:
    """Verifier package, protocol, defects. Without code the package is the text a judge gets."""
    if code is None:
        text = rubric_text or sections.get("Grading Criteria", "")
        if not text:
            raise RefusedError("there is neither a verifier nor a rubric")
        return {"rubric.md": text.encode("utf-8")}, JUDGE_ONLY, []
    check = code.encode("utf-8")
    protocol = protocol_of(check)
    if protocol != "grade_floats":
        raise RefusedError("Automated Checks defines no grade(transcript, workspace_path)")
    if reads_transcript(check):
        return (
            {"check.py": check},
            protocol,
            [defect("reads_transcript", "grade() uses the transcript, which is empty here")],
        )
    return {"check.py": check}, protocol, []


def rubric_of(text: str) -> tuple[Mapping[str, Any], ...] | None:
    """Rules with five levels and weights, or null where the text does not have them."""
    heads = list(_CRITERION.finditer(text))
    rules = []
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends[: len(heads)], strict=True):
        part = text[head.end() : end]
        scores = {f"{float(level):g}": said.strip() for level, said in _LEVEL.findall(part)}
        if set(scores) != set(LEVELS):
            return None
        rule: dict[str, Any] = {"name": head[1].strip(), "file_path": "", "scores": scores}
        if head[2]:
            rule["weight"] = float(head[2]) / (100 if float(head[2]) > 1 else 1)
        rules.append(rule)
    return tuple(rules) or None


def _written(bundle: TaskBundle) -> dict[str, File]:
    name = f"task_{slug(bundle.task_id)}"
    files: dict[str, File] = {}
    listed: list[dict[str, str]] = []
    for path, data in sorted(bundle.inputs.items()):
        try:
            listed.append({"path": path, "content": data.decode("utf-8")})
        except UnicodeDecodeError:
            listed.append({"source": f"{name}/{path}", "dest": path})
            files[f"assets/{name}/{path}"] = File(data)
    front: dict[str, Any] = {
        "id": name,
        "name": bundle.task_id,
        "category": bundle.bench_category or "general",
        "grading_type": "automated" if bundle.rubric is None else "hybrid",
        "timeout_seconds": 300,
        "workspace_files": listed,
    }
    if bundle.rubric is not None:
        front["grading_weights"] = {"automated": 0.7, "llm_judge": 0.3}
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=10_000)
    check = bundle.reward["check.py"].decode("utf-8")
    if re.search(r"^```", check, re.MULTILINE) or re.search(r"^#{1,2}\s", bundle.instruction, re.MULTILINE):
        raise RefusedError("its verifier or instruction has lines that this format takes for its own headings")
    parts = [f"---\n{head}---\n", f"## Prompt\n\n{bundle.instruction.strip()}\n"]
    parts += [f"## Automated Checks\n\n```python\n{check.rstrip(chr(10))}\n```\n"]
    if bundle.rubric is not None:
        parts.append("## LLM Judge Rubric\n\n" + "\n".join(map(_rule_text, bundle.rubric)))
    files[f"tasks/{name}.md"] = File("\n".join(parts).encode("utf-8"))
    return files


def _rule_text(rule: Mapping[str, Any]) -> str:
    weight = f" (Weight: {float(rule['weight']) * 100:g}%)" if "weight" in rule else ""
    levels = "".join(
        f"**Score {float(level):.2f}**: {' '.join(str(rule['scores'][level]).split())}\n" for level in reversed(LEVELS)
    )
    return f"### {' '.join(str(rule['name']).split())}{weight}\n\n{levels}"
