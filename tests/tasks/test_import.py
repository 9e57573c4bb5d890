"""Published tasks in and out: every format without loss, every spelling, nothing unsafe, verifiers unchanged."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import lake as lakes
from assets.grading import Grade, grade
from assets.profile import Profile
from assets.sandbox import Limits, open_sandbox
from assets.sandbox.folder import materialise
from assets.stage import Context
from assets.tasks import STAGE, TaskBundle, generate
from assets.tasks.exchange import FORMATS, export_tasks, import_tasks, recognised
from assets.tasks.exchange.contract import Imported, Refused, Source
from assets.tasks.exchange.effect import stored_tasks
from assets.tasks.propose import propose
from assets.workspaces import STAGE as WORKSPACES
from lake import Lake
from lake.errors import SourceError, UsageError
from tests.tasks import published

LIMITS = Limits(wall_s=30)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lakes.open(tmp_path / "lake")


def tree(folder: Path) -> dict[str, tuple[bytes, bool]]:
    """Every file below a folder with its content and whether it can be executed."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def take(lake: Lake, path: Path, **options: Any) -> dict[str, TaskBundle]:
    """Import what is at a path; the bundles by published id, from the lake."""
    report = import_tasks(lake, path, recognised(path), **options)
    assert report.refused == [], report.refused
    lake.build(STAGE.projection)
    return {
        str(stored.bundle.extra["published_id"]): stored.bundle for stored in stored_tasks(lake, lake.rows("tasks"))
    }


def read(path: Path, form: str | None = None) -> list[Imported | Refused]:
    """What a reader makes of a path."""
    chosen = FORMATS[form] if form else recognised(path)
    return list(chosen.read(Source(path, "set", "MIT")))


def defects(bundle: TaskBundle) -> list[str]:
    """Names of the known defects of a task."""
    return [entry["name"] for entry in bundle.extra["defects"]]


def graded(bundle: TaskBundle, outputs: Mapping[str, bytes], folder: Path) -> Grade:
    """The verdict on the inputs with outputs over them."""
    materialise({**bundle.inputs, **outputs}, folder)
    return grade(
        folder, bundle.reward, protocol=bundle.verifier_protocol, sandbox=open_sandbox("bubblewrap"), limits=LIMITS
    )


def test_a_clawgym_folder_comes_back_byte_for_byte(lake: Lake, tmp_path: Path) -> None:
    source = tmp_path / "set"
    published.clawgym_folder(source / "task_0001")
    published.clawgym_folder(source / "task_0002", published.BOOLEANS, rules=[published.RULE], odd=[1.0, {"é": None}])
    published.put(source / "task_0002", {"README.md": "kept", "reward/lib/helper.py": "X = 1\n"})
    (source / "task_0003").mkdir()  # no task
    bundles = take(lake, source)
    assert sorted(bundles) == ["task_0001", "task_0002"]
    first, second = bundles["task_0001"], bundles["task_0002"]
    assert first.task_id == "set-task_0001" and first.origin == "import:clawgym-folder" and first.route == "import"
    assert (first.verifier_protocol, second.verifier_protocol) == ("grade_floats", "reward_booleans")
    assert first.instruction == published.QUERY and first.expected_outputs == ("output/total.json",)
    assert defects(first) == [] and defects(second) == ["wrapper_average"]
    assert second.rubric is not None and second.rubric[0]["name"] == "clear" and first.rubric is None

    done = export_tasks(lake, tmp_path / "out", FORMATS["clawgym-folder"])
    (source / "task_0003").rmdir()
    assert done.tasks == 2 and tree(tmp_path / "out") == tree(source)


@pytest.mark.parametrize(
    "style", [{"indent": 4}, {"sort_keys": True}, {"separators": (",", ":")}, {"indent": 1}], ids=str
)
def test_an_entry_in_any_style_comes_back(lake: Lake, tmp_path: Path, style: dict[str, Any]) -> None:
    """What has no style of ours is kept as bytes: a carriage return, no end of line, a repeated key."""
    folder = published.clawgym_folder(tmp_path / "set/task_1")
    entry = json.loads((folder / "data_entry.json").read_text())
    for number, text in enumerate((json.dumps(entry, **style), json.dumps(entry, **style) + "\r\n")):
        (folder / "data_entry.json").write_bytes(text.encode())
        take(lake, tmp_path / "set", collection=f"set{number}")
        export_tasks(lake, tmp_path / f"out{number}", FORMATS["clawgym-folder"], collection=f"set{number}")
        assert tree(tmp_path / f"out{number}") == tree(tmp_path / "set")


def test_rows_of_both_forms_come_back_line_for_line(lake: Lake, tmp_path: Path) -> None:
    rows = [published.row(), published.row(published.BOOLEANS, origin_template="no id", rule=[published.RULE])]
    path = published.write_rows(tmp_path / "syn_task.jsonl", rows, ensure_ascii=False)
    with path.open("a") as lines:
        lines.write(
            json.dumps(published.row(origin_template="id: 'odd'"), indent=None, sort_keys=True, separators=(", ", ":"))
        )
    payloads = published.write_rows(tmp_path / "run.jsonl", [published.run_row(record_index=7)])
    bundles = {**take(lake, path), **take(lake, payloads)}
    assert sorted(bundles) == ["odd", "record_7", "task_00001", "task_17_sum"]
    assert {FORMATS[str(b.extra["format"])].name for b in bundles.values()} == {"clawgym-jsonl", "clawgym-run"}
    payload = bundles["record_7"]
    assert payload.scenario_category == "Analysis and Decision Support" and payload.operations
    assert payload.scenario_subcategory == "data analysis and calculation" and payload.rubric is not None
    assert sorted(payload.reward) == ["test.py"] and sorted(payload.inputs) == sorted(published.INPUTS)
    for name, original in (("clawgym-jsonl", path), ("clawgym-run", payloads)):
        export_tasks(lake, tmp_path / name, FORMATS[name], collection=original.stem)
        assert (tmp_path / name / original.name).read_bytes() == original.read_bytes()


SPELLINGS: dict[str, dict[str, Any]] = {
    "question": {"question": published.QUERY, "prompt": None},
    "user_query": {"user_query": published.QUERY, "prompt": None},
    "rules": {"rule": [published.RULE]},
    "metadata": {"metadata": {"rule": [published.RULE], "difficulty": 4, "primary_skill_id": "sums"}},
    "old": {"rule": [{"name": "clear", "target_file": "output/total.json", "rule": "It is clear."}]},
    "reward_files": {
        "input_files": [],
        "reward_files": [{"file_path": "check.py", "content": published.FLOATS}],
    },
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_understood(tmp_path: Path, spelling: str) -> None:
    path = published.write_rows(tmp_path / "rows.jsonl", [published.row(**SPELLINGS[spelling])])
    (found,) = read(path)
    assert isinstance(found, Imported)
    bundle = found.bundle
    assert bundle.instruction == published.QUERY and bundle.verifier_protocol == "grade_floats"
    if spelling in ("rules", "metadata", "old"):
        assert bundle.rubric is not None and set(bundle.rubric[0]["scores"]) == set(published.SCORES)
        assert bundle.rubric[0]["file_path"] == "output/total.json"
    if spelling == "metadata":
        assert bundle.difficulty == 4 and bundle.skill_ids == ("sums",)


UNSAFE = [
    "/etc/passwd", "../up.txt", "input/../../up.txt", "C:\\x", "a\\b", "~/x", "", "x\0y", ".", "n" * 300, None, 7,
    "reward/../../up.txt", "reward//../..",
]  # fmt: skip


@pytest.mark.parametrize("path", UNSAFE, ids=lambda path: str(path)[:12])
def test_an_unsafe_path_is_refused_and_the_next_task_taken(tmp_path: Path, path: Any) -> None:
    bad = published.row()
    bad["input_files"].append({"file_path": path, "content": "x"})
    rows = published.write_rows(tmp_path / "rows.jsonl", [bad, published.row(origin_template="id: good")])
    refused, good = read(rows)
    assert isinstance(refused, Refused) and "file_path" in refused.reason and "\n" not in refused.reason
    assert isinstance(good, Imported)


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "list": ([1], "not an object"),
    "no text": (published.row(prompt=" "), "no task text"),
    "no verifier": (published.row(input_files=[]), "no verifier"),
    "no Python": (published.row("def ("), "no Python"),
    "files": (published.row(input_files={"a": 1}), "not a list"),
    "content": (published.row(input_files=[{"file_path": "a", "content": None}]), "without file_path and content"),
    "rule": (published.row(rule=[{**published.RULE, "file_path": "/etc/passwd"}]), "file_path"),
    "twice": (
        published.row(input_files=[{"file_path": n, "content": "x"} for n in ("a", "./a")]), "given twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_is_refused_with_its_reason(tmp_path: Path, name: str) -> None:
    bad, reason = BAD_ROWS[name]
    path = published.write_rows(tmp_path / "rows.jsonl", [published.row(), bad])
    good, refused = read(path, "clawgym-jsonl")
    assert isinstance(good, Imported) and isinstance(refused, Refused)
    assert refused.source == "rows.jsonl:2" and reason in refused.reason


def test_links_out_of_a_task_folder_are_refused(tmp_path: Path) -> None:
    folder = published.clawgym_folder(tmp_path / "set/task_1")
    (folder / "input_files/secret").symlink_to("/etc/passwd")
    (refused,) = read(tmp_path / "set")
    assert isinstance(refused, Refused) and "link" in refused.reason


def test_pinchbench_comes_back_and_means_what_it_says(lake: Lake, tmp_path: Path) -> None:
    source = published.pinchbench(tmp_path / "pinch")
    bundles = take(lake, source, licence="MIT")
    one, two = bundles["task_30_sum"], bundles["task_31_sessions"]
    assert one.inputs == {"input/numbers.csv": b"x\n1\n2\n3\n", "input/notes.md": b"# Notes\n"}
    assert one.instruction == published.QUERY and one.verifier_protocol == "grade_floats" and one.licence == "MIT"
    assert one.rubric is not None and [(r["name"], r["weight"]) for r in one.rubric] == [
        ("Clarity", 0.6),
        ("Care", 0.4),
    ]
    assert one.extra["weights"] == {"automated": 0.4, "llm_judge": 0.6} and defects(one) == []
    assert two.verifier_protocol == "judge_only" and two.rubric is None
    assert two.extra["sessions"][1] == {"id": "2", "prompt": "Which word is in memory/word.md?", "new_session": True}
    assert two.instruction.count("memory/word.md") == 2
    assert defects(two) == ["multi_session", "rubric_unreadable"]

    export_tasks(lake, tmp_path / "out", FORMATS["pinchbench"])
    (source / "tasks/TASK_TEMPLATE.md").unlink()
    assert tree(tmp_path / "out") == tree(source)
    solved = graded(one, {"output/total.json": b'{"total": 6}'}, tmp_path / "w")
    assert (solved.status, solved.score_code, solved.wrapper_score) == ("scored", 1.0, 1.0)
    nothing = graded(two, {}, tmp_path / "v")
    assert (nothing.status, nothing.score_code) == ("not_gradable", None) and "judge" in (nothing.detail or "")


BAD_PINCH = {
    "no front matter": ("## Prompt\n\nx\n", "no front matter"),
    "broken YAML": (published.PINCH.replace("category: data", "category: [data"), "no YAML"),
    "no prompt": (published.PINCH.replace("## Prompt", "## Prompts"), "no section Prompt"),
    "unsafe": (published.PINCH.replace("dest: input/notes.md", "dest: ../notes.md"), "leaves the workspace"),
    "unsafe source": (published.PINCH.replace("source: notes.md", "source: /etc/passwd"), "not relative"),
    "no grade": (published.PINCH.replace("def grade(", "def other("), "no grade(transcript"),
    "nothing to grade by": (published.SESSIONS.split("## LLM")[0], "neither a verifier nor a rubric"),
}


@pytest.mark.parametrize("name", BAD_PINCH)
def test_a_bad_pinchbench_file_is_refused(tmp_path: Path, name: str) -> None:
    text, reason = BAD_PINCH[name]
    published.put(tmp_path / "pinch", {"tasks/task_01.md": text, "assets/notes.md": "x"})
    (refused,) = read(tmp_path / "pinch")
    assert isinstance(refused, Refused) and reason in refused.reason


def test_what_pinchbench_tasks_lack_is_said(tmp_path: Path) -> None:
    text = published.PINCH.replace("out = Path", "said = len(transcript)\n    out = Path").replace(
        "notes.md\n    dest", "no.md\n    dest"
    )
    published.put(tmp_path / "pinch", {"tasks/task_01.md": text})
    (found,) = read(tmp_path / "pinch")
    assert isinstance(found, Imported) and defects(found.bundle) == ["reads_transcript", "missing_input"]


def test_a_harbor_folder_comes_back_and_its_tests_run_where_they_expect(lake: Lake, tmp_path: Path) -> None:
    source = tmp_path / "harbor"
    published.harbor(source / "sum")
    bundle = take(lake, source)["org/sum"]
    assert bundle.inputs == {"data/numbers.csv": b"x\n1\n2\n3\n"} and bundle.verifier_protocol == "harbor"
    assert bundle.expected_outputs == ("answer.txt",) and defects(bundle) == ["image_not_built"]
    export_tasks(lake, tmp_path / "out", FORMATS["harbor"])
    assert tree(tmp_path / "out") == tree(source)
    solved, unsolved = graded(bundle, {"answer.txt": b"6\n"}, tmp_path / "w"), graded(bundle, {}, tmp_path / "v")
    assert (solved.status, solved.score_code, solved.wrapper_score) == ("scored", 1.0, None)
    assert (unsolved.status, unsolved.score_code) == ("scored", 0.0)


BAD_HARBOR: dict[str, tuple[dict[str, Any], str]] = {
    "no tests": ({"tests/test.sh": None}, "no tests/test.sh"),
    "no text": ({"instruction.md": None}, "no instruction.md"),
    "no TOML": ({"task.toml": "[task"}, "no TOML"),
    "steps": ({"task.toml": "[[steps]]\nname = 'a'\n"}, "1 steps"),
    "system folder": ({"environment/Dockerfile": "FROM x\nWORKDIR /usr/src\n"}, "/usr/src"),
    "root": ({"environment/Dockerfile": "FROM x\nWORKDIR /\n"}, "working folder /"),
}


@pytest.mark.parametrize("name", BAD_HARBOR)
def test_a_bad_harbor_folder_is_refused(tmp_path: Path, name: str) -> None:
    changes, reason = BAD_HARBOR[name]
    published.harbor(tmp_path / "set/sum", **changes)
    (refused,) = read(tmp_path / "set", "harbor") if name != "no TOML" else read(tmp_path / "set")
    assert isinstance(refused, Refused) and reason in refused.reason


DOCKERFILES = {
    "COPY . .": {"data/numbers.csv"},
    "COPY data/numbers.csv ./in/": {"in/numbers.csv"},
    "COPY data/numbers.csv here.csv": {"here.csv"},
    'COPY ["data", "/app/d"]': {"d/numbers.csv"},
    "ADD --chown=1 data /app/": {"numbers.csv"},
    "COPY data \\\n  more/": {"more/numbers.csv"},
}


@pytest.mark.parametrize("line", DOCKERFILES)
def test_copied_files_are_laid_out(tmp_path: Path, line: str) -> None:
    published.harbor(tmp_path / "sum", **{"environment/Dockerfile": f"FROM x\nWORKDIR /app\n{line}\n"})
    (found,) = read(tmp_path / "sum", "harbor")
    assert isinstance(found, Imported) and set(found.bundle.inputs) == DOCKERFILES[line], found
    assert defects(found.bundle)[:1] in ([], ["missing_input"])


def test_what_a_dockerfile_does_beyond_copying_is_a_defect(tmp_path: Path) -> None:
    lines = "FROM x\nWORKDIR /app\nCOPY --from=build /x /app/x\nCOPY data /srv/\nADD https://x.org/x /app/\nRUN make\n"
    published.harbor(tmp_path / "sum", **{"environment/Dockerfile": lines, "tests/test.sh": "uvx pytest\n"})
    (found,) = read(tmp_path / "sum", "harbor")
    assert isinstance(found, Imported) and found.bundle.inputs == {}
    assert defects(found.bundle) == ["image_not_built"] * 4 + ["needs_network"]


def test_clawgym_verifiers_run_unchanged_beside_the_workspace(tmp_path: Path) -> None:
    """The script pays only where it finds itself in `reward/` of the workspace, whatever the agent left there."""
    folder = published.clawgym_folder(tmp_path / "set/task_1", published.BOOLEANS)
    (found,) = read(tmp_path / "set")
    assert isinstance(found, Imported) and (folder / "reward/check.py").read_bytes() == found.bundle.reward["check.py"]
    outputs = {
        "output/total.json": b'{"total": 6}',
        "reward/check.py": b"print(1)",
        "reward/json.py": b"raise SystemExit",
    }
    solved = graded(found.bundle, outputs, tmp_path / "w")
    assert (solved.score_code, solved.wrapper_score) == (1.0, 1.0), solved
    half = graded(found.bundle, {"output/total.json": b"{}", "reward": b"a file in the way"}, tmp_path / "v")
    assert half.score_code == 0.5 and half.wrapper_score == pytest.approx((0.5 + 1 + 0) / 3)
    (tmp_path / "u").mkdir()
    (tmp_path / "u/reward").symlink_to("/etc")
    assert graded(found.bundle, {}, tmp_path / "u").score_code == 0.0


def test_the_same_task_is_imported_once_and_a_changed_one_again(lake: Lake, tmp_path: Path) -> None:
    folder = published.clawgym_folder(tmp_path / "set/task_1")
    form = FORMATS["clawgym-folder"]
    first = import_tasks(lake, tmp_path / "set", form, licence="MIT")
    again = import_tasks(lake, tmp_path / "set", form, licence="MIT")
    assert (first.proposed, first.found, again.proposed, again.found) == (1, 0, 0, 1)
    (folder / "reward/check.py").write_text(published.FLOATS + "# repaired\n")
    assert import_tasks(lake, tmp_path / "set", form, limit=1).proposed == 1
    lake.build(STAGE.projection)
    assert len(lake.rows("tasks")) == 2
    export_tasks(lake, tmp_path / "out", form)
    assert tree(tmp_path / "out") == tree(tmp_path / "set")  # the latest version


def test_imported_tasks_pass_the_checks_of_the_stages(lake: Lake, tmp_path: Path) -> None:
    """Their defects are data: a missing input blocks nothing that is ours."""
    published.clawgym_folder(tmp_path / "set/task_1", user_query="Short. Read input/gone.log, write output/x.csv")
    published.put(tmp_path / "set/task_1/input_files", {"input/a.json": "{broken", "input/numbers.csv": "a,b\n1\n"})
    bundle = take(lake, tmp_path / "set")["task_1"]
    assert defects(bundle) == ["missing_input"]
    context = Context(lake, Profile())
    assert WORKSPACES.effect is not None
    WORKSPACES.effect(context)
    lake.commit()
    lake.build(WORKSPACES.projection)
    for check in (*STAGE.checks, *WORKSPACES.checks):
        assert check.run(lake).passed, check.name


def test_an_unknown_place_and_a_full_folder_are_wrong_use(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        recognised(tmp_path / "no")
    with pytest.raises(SourceError, match="no tasks of a known format"):
        recognised(published.put(tmp_path / "x", {"a.txt": "x"}))
    with pytest.raises(UsageError, match="not an empty folder"):
        export_tasks(lake, tmp_path / "x", FORMATS["harbor"])
    with pytest.raises(UsageError, match="not in the lake"):
        export_tasks(lake, tmp_path / "new", FORMATS["harbor"], task_ids=["none"])
    with pytest.raises(UsageError, match="no task was imported"):
        export_tasks(lake, tmp_path / "new", FORMATS["harbor"], collection="none")
    with pytest.raises(UsageError, match="split"):
        import_tasks(lake, tmp_path / "x", FORMATS["harbor"], split="tests")


@pytest.mark.parametrize("form", FORMATS)
def test_a_family_task_leaves_in_every_format_and_scores_the_same(lake: Lake, tmp_path: Path, form: str) -> None:
    """Written as another format, read again: the reference solution earns 1, the untouched workspace 0."""
    bundle = next(b for b in generate(n=1) if b.verifier_protocol == "grade_floats" and b.oracle)
    with lake.spool("tests") as spool:
        propose(spool, bundle)
    lake.commit()
    lake.build(STAGE.projection)
    done = export_tasks(lake, tmp_path / "out", FORMATS[form])
    assert done.tasks == 1 and done.refused == []
    place = tmp_path / "out"
    (found,) = read(place if form not in ("clawgym-jsonl", "clawgym-run") else place / "tasks.jsonl", form)
    assert isinstance(found, Imported) and found.bundle.inputs == bundle.inputs
    assert found.bundle.instruction.strip() == bundle.instruction.strip()
    assert graded(found.bundle, bundle.oracle or {}, tmp_path / "w").score_code == 1.0
    assert graded(found.bundle, {}, tmp_path / "v").score_code == 0.0


def test_readers_survive_damage(tmp_path: Path) -> None:
    """Bytes changed at random: each task is taken or refused, never an exception."""
    rng = random.Random(5)
    makers: dict[str, Callable[[Path], Path]] = {
        "clawgym-folder": lambda at: published.clawgym_folder(at / "t"),
        "pinchbench": published.pinchbench,
        "harbor": lambda at: published.harbor(at / "t"),
        "clawgym-run": lambda at: published.write_rows(published.put(at, {}) / "r.jsonl", [published.run_row()]),
    }
    outcomes = []
    for number in range(120):
        form = list(makers)[number % len(makers)]
        place = tmp_path / str(number)
        place.mkdir()
        made = makers[form](place)
        files = sorted(path for path in place.rglob("*") if path.is_file())
        for _ in range(rng.randint(1, 3)):
            victim = rng.choice(files)
            data = bytearray(victim.read_bytes())
            at = rng.randrange(len(data) + 1)
            data[at : at + rng.randint(0, 40)] = rng.choice([b"", b"\xff\x00", b'"', b"{", b"---\n", b"null", b"\n"])
            victim.write_bytes(bytes(data))
        outcomes += [type(item).__name__ for item in read(made if made.is_file() else place, form)]
    assert {"Imported", "Refused"} <= set(outcomes)
