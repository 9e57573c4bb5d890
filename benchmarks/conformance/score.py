"""The judgement: what a reader made of a case against what is right.

Everybody is judged by the views and by whether it told what it did; we also by every finding, every fate, every byte
(`ours`). Does not belong here: running anybody.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from benchmarks.conformance.case import Case, Expected, Outcome

Score = Literal["right", "wrong", "silent", "throws"]


class Judgement(NamedTuple):
    """A score and why."""

    score: Score
    """right | wrong (it said something, yet the view is not right) | silent (wrong or untold) | throws."""
    why: str


def judge(case: Case, outcome: Outcome, *, own: bool = False) -> Judgement:
    """Right when the view is right and what had to be told was told.

    Args:
        case: the case.
        outcome: what a reader made of it.
        own: whether it is this project's, which has to give the very view that is expected.
    """
    if outcome.error is not None:
        return Judgement("throws", outcome.error)
    expected = case.expected
    told = not expected.tell or any(line is None or line in expected.tell for line, _ in outcome.stated)
    why = _difference(expected, outcome, own)
    if why is None:
        return Judgement("right", "") if told else Judgement("silent", "right view, but nothing was said")
    return Judgement("wrong" if told and outcome.stated else "silent", why)


def _difference(expected: Expected, outcome: Outcome, own: bool) -> str | None:
    """The first difference from what is right, in words; None when there is none."""
    right = [_plain(views) for views in (expected.views, *(() if own else expected.accepted))]
    if outcome.views not in right:
        return _first(right[0], outcome.views)
    for name in ("tokens", "models", "failed"):
        wanted, found = getattr(expected, name), getattr(outcome, name)
        if wanted is not None and found != list(wanted):
            return f"{name} {found} for {list(wanted)}"
    return None


def _plain(views: object) -> list[list[str]]:
    assert isinstance(views, (list, tuple))
    return [list(view) for view in views]


def _first(wanted: list[list[str]], found: list[list[str]]) -> str:
    if len(wanted) != len(found):
        return f"{len(found)} trajectories for {len(wanted)}"
    for right, view in zip(wanted, found, strict=True):
        for number in range(max(len(right), len(view))):
            one = right[number] if number < len(right) else None
            other = view[number] if number < len(view) else None
            if one != other:
                return f"event {number} is {_short(other)} for {_short(one)}"
    return "equal"


def _short(event: str | None) -> str:
    return "missing" if event is None else repr(event if len(event) <= 60 else event[:57] + "…")
