"""Cases of the tree: forks, edits, compaction, rings, missing parents (C06)."""

from __future__ import annotations

from benchmarks.conformance.case import Expected, case, lines_file, one_file
from benchmarks.conformance.session import Session


@case("C03", "fork with an abandoned branch")
def fork(s: Session) -> Expected:
    """Both ways are kept, apart; the one on which the session ended comes first."""
    s.user("go")
    way = s.assistant("which way?")
    s.user("left")
    s.assistant("went left")
    s.user("right", parent=way)
    s.assistant("went right")
    return Expected(
        files=one_file(s),
        views=[
            ["user: go", "say: which way?", "user: right", "say: went right"],
            ["user: go", "say: which way?", "user: left", "say: went left"],
        ],
        classes=["normal", "normal"],
        stated=[(5, "abandoned_branch")],
        ledger={"kept:header": 1, "kept:step": 6},
        tell=[4, 5],
        accepted=[[["user: go", "say: which way?", "user: right", "say: went right"]]],
    )


@case("C06", "compaction")
def compaction(s: Session) -> Expected:
    """A branch point: what the model saw after it, and before it; kept text is context, not a turn again."""
    s.user("start")
    s.assistant("old answer")
    kept = s.user("kept question")
    s.assistant("kept answer")
    s.add({"type": "compaction", "summary": "We started.", "firstKeptEntryId": kept, "tokensBefore": 9})
    s.user("after")
    s.assistant("new answer")
    before = ["user: start", "say: old answer", "user: kept question", "say: kept answer"]
    return Expected(
        files=one_file(s),
        views=[
            ["summary: We started.", "user: kept question", "say: kept answer", "user: after", "say: new answer"],
            before,
        ],
        messages=[
            ["summary: We started.", "user: kept question", "context say: kept answer", "user: after",
             "say: new answer"],
            before,
        ],
        classes=["normal", "normal"],
        stated=[(6, "compaction")],
        ledger={"kept:header": 1, "kept:step": 7},
        tell=[6],
    )  # fmt: skip


@case("C06", "compaction with an empty summary that names no entry")
def empty_compaction(s: Session) -> Expected:
    """The model lost the history: said, with what it did not see."""
    s.user("start")
    s.assistant("old answer")
    s.add({"type": "compaction", "summary": "", "firstKeptEntryId": "nowhere"})
    s.user("after")
    s.assistant("new answer")
    return Expected(
        files=one_file(s),
        views=[["user: after", "say: new answer"], ["user: start", "say: old answer"]],
        classes=["normal", "normal"],
        stated=[(4, "compaction"), (4, "compaction_empty_summary"), (4, "compaction_first_kept_missing")],
        ledger={"kept:compaction": 1, "kept:header": 1, "kept:step": 4},
        tell=[4],
    )


@case("C06", "two compactions with equal texts")
def equal_compactions(s: Session) -> Expected:
    """Told apart by their ids: each keeps the entry that it names."""
    s.user("one")
    first = s.assistant("answer one")
    s.add({"type": "compaction", "summary": "So far.", "firstKeptEntryId": first})
    s.user("two")
    second = s.assistant("answer two")
    s.add({"type": "compaction", "summary": "So far.", "firstKeptEntryId": second})
    s.user("three")
    s.assistant("answer three")
    return Expected(
        files=one_file(s),
        views=[
            ["summary: So far.", "say: answer two", "user: three", "say: answer three"],
            ["user: one", "say: answer one"],
            ["summary: So far.", "say: answer one", "user: two", "say: answer two"],
        ],
        messages=[
            ["summary: So far.", "context say: answer two", "user: three", "say: answer three"],
            ["user: one", "say: answer one"],
            ["summary: So far.", "context say: answer one", "user: two", "say: answer two"],
        ],
        classes=["normal", "normal", "normal"],
        stated=[(4, "compaction"), (7, "compaction")],
        ledger={"kept:header": 1, "kept:step": 8},
        tell=[4, 7],
    )


@case("-", "parents in a ring")
def parent_ring(s: Session) -> Expected:
    """The ring is opened at its first entry; nothing loops and nothing is lost."""
    s.message({"role": "user", "content": "a"}, "b", "a")
    s.message({"role": "assistant", "content": "b"}, "a", "b")
    s.user("more")
    s.assistant("end")
    return Expected(
        files=one_file(s),
        views=[["user: a", "say: b", "user: more", "say: end"]],
        stated=[(2, "parent_cycle")],
        ledger={"kept:header": 1, "kept:step": 4},
    )


@case("-", "header lost, an entry without its parent")
def header_lost(s: Session) -> Expected:
    """The chain is closed over a lost record in the middle, which is said; the session id comes from the file."""
    s.user("one")
    s.assistant("answer one")
    s.add({"type": "model_change", "provider": "p", "modelId": "m"})
    s.user("two")
    s.assistant("answer two")
    lines = [*s.lines()[1:3], *s.lines()[4:]]
    return Expected(
        files=lines_file(s, lines),
        views=[["user: one", "say: answer one", "user: two", "say: answer two"]],
        stated=[(1, "no_header"), (3, "parent_missing")],
        ledger={"kept:step": 4},
    )
