"""The published failures, each end to end through a lake: ours is right on all, and would not be if it were not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.conformance import peers
from benchmarks.conformance.case import Case, Outcome
from benchmarks.conformance.cases import CASES
from benchmarks.conformance.elsewhere import ELSEWHERE
from benchmarks.conformance.ours import run
from benchmarks.conformance.peers import ROOT, outcome
from benchmarks.conformance.report import PAGE, RESULTS, page, results
from benchmarks.conformance.score import Judgement, judge


@pytest.fixture(scope="module")
def judgements(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Judgement]:
    return run(CASES, tmp_path_factory.mktemp("conformance"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ours_is_right(case: Case, judgements: dict[str, Judgement]) -> None:
    assert judgements[case.name] == Judgement("right", "")


def test_every_published_case_of_recorded_sessions_is_among_them() -> None:
    assert {case.of for case in CASES} >= {f"C{number:02d}" for number in (*range(1, 16), 26)}
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_case_is_right_for_nothing_or_for_the_lines_as_they_stand(case: Case) -> None:
    """A reader that gives nothing, or that tells nothing where something must be told, is not right."""
    assert judge(case, Outcome()).score == "silent"
    assert judge(case, Outcome(error="boom")).score == "throws"
    if case.expected.tell:
        views = [list(view) for view in case.expected.views]
        tokens = None if case.expected.tokens is None else list(case.expected.tokens)
        untold = Outcome(views=views, tokens=tokens)
        assert judge(case, untold).score == "silent"
        untold.stated = [(case.expected.tell[0], "said")]
        assert judge(case, untold).score == "right"
        untold.stated = [(10_000, "of another line")]
        assert judge(case, untold).score == "silent"


def test_the_page_is_made_of_the_committed_results() -> None:
    found = json.loads(RESULTS.read_text())
    assert PAGE.read_text() == page(found), "run make conformance"
    assert {row["case"] for row in found["cases"]} == {case.name for case in CASES}
    assert {row["ours"] for row in found["cases"]} == {"right"}
    assert all(row["agent_trajectory"] in ("right", "wrong", "silent", "throws") for row in found["cases"])


def test_the_other_published_cases_name_tests_that_exist() -> None:
    assert [other.of for other in ELSEWHERE] == [f"C{number}" for number in range(16, 26)]
    for other in ELSEWHERE:
        assert other.tests or other.open
        for name in other.tests:
            file, function = name.split("::")
            assert f"def {function}(" in (ROOT / "tests" / file).read_text(), name


def test_parts_of_a_peer_become_events() -> None:
    parts = [
        {"kind": "user", "text": "go"}, {"kind": "say", "text": "", "tokens": [1, 2], "model": "m"},
        {"kind": "call", "id": "x", "name": "exec", "arguments": '{"b":1,"a":"[image png]"}'},
        {"kind": "result", "id": "x", "text": "see [image: png]", "failed": True},
        {"kind": "result", "id": "y", "text": "?"},
    ]  # fmt: skip
    found = outcome({"trajectories": [parts], "stated": [[3, "orphan"]], "error": None})
    assert found.views == [
        ["user: go", 'call 0 exec {"a":"[image png]","b":1}', "result 0: see [image]", "result of no call: ?"]
    ]
    assert (found.tokens, found.failed, found.stated) == ([(1, 2)], [True, False], [(3, "orphan")])


def test_a_peer_that_cannot_run_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(peers, "ENVIRONMENTS", tmp_path)
    with pytest.raises(peers.PeerUnavailableError, match=r"needs Python 9\.9 or later"):
        peers.run(peers.Peer("nobody", "nobody", "1", (9, 9)), CASES)
    broken = peers.Peer("nobody", "nobody", "1", (3, 11))
    (tmp_path / "nobody-1" / "bin").mkdir(parents=True)
    (tmp_path / "nobody-1" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "nobody-1" / "complete").touch()
    with pytest.raises(peers.PeerUnavailableError, match="can't open file") as raised:
        peers.run(broken, CASES[:1])  # there is no runner of that name
    assert str(ROOT / "benchmarks") not in str(raised.value)
    right = {case.name: Judgement("right", "") for case in CASES}
    found = results(CASES, right, {"agent_trajectory": "no network", "harbor": right})
    assert {row["agent_trajectory"] for row in found["cases"]} == {None}
    assert "`agent-trajectory` 0.4.3 was not run: no network." in page(found)
