"""Short constructors for plans: steps, slips and script variants.

Belongs here: what makes a family's reference route short to write. Does not belong here: the plan's form (`plan.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assets.tasks.plan import Flaw, Phase, Plan, Slip, Step
from assets.tasks.verifier import with_constants
from lake.errors import StageError


def script(family_file: str, **constants: object) -> str:
    """Text of the family's `solve.py`, with its upper-case constants filled in."""
    return with_constants(Path(family_file).with_name("solve.py").read_text("utf-8"), constants)


def read(path: str, say: str = "", *, beside: bool = False, phase: Phase = "read") -> Step:
    """Read a file; `beside`: in the same message as the step before."""
    return Step("read", {"path": path}, phase, say, beside)


def write(path: str, content: str, say: str = "", *, beside: bool = False) -> Step:
    """Write a file."""
    return Step("write", {"path": path, "content": content}, "write", say, beside)


def edit(path: str, pairs: Sequence[tuple[str, str]], say: str = "", *, beside: bool = False) -> Step:
    """Replace exact texts in a file."""
    edits = [{"oldText": old, "newText": new} for old, new in pairs]
    return Step("edit", {"path": path, "edits": edits}, "edit", say, beside)


def run(command: str, say: str = "", *, phase: Phase = "run", beside: bool = False) -> Step:
    """Run a command in the workspace."""
    return Step("exec", {"command": command}, phase, say, beside)


def look(command: str, say: str = "") -> Step:
    """Explore by a command."""
    return run(command, say, phase="explore")


def verify(command: str, say: str = "", *, beside: bool = False) -> Step:
    """Check a product by a command."""
    return run(command, say, phase="check", beside=beside)


def changed(text: str, *pairs: tuple[str, str]) -> str:
    """The text with each old piece, which must occur exactly once, replaced.

    Raises:
        StageError: a piece occurs never or more than once; the family and its script disagree.
    """
    for old, new in pairs:
        if text.count(old) != 1:
            raise StageError(f"{old!r} occurs {text.count(old)} times in a text that a flaw changes; mend the family")
        text = text.replace(old, new)
    return text


def rewritten(step: Step, content: str) -> Step:
    """A write step with other content."""
    return write(str(step.arguments["path"]), content, step.say, beside=step.with_previous)


def plan(steps: Sequence[Step], slips: Sequence[Slip], flaws: Sequence[Flaw], closing: str) -> Plan:
    """A plan, with the rules that can be seen without running it.

    Raises:
        StageError: an index points outside the steps, or the first step claims a step before it.
    """
    count = len(steps)
    indices = [slip.before for slip in slips] + [i for flaw in flaws for i in (*flaw.replace, *flaw.drop)]
    if any(not 0 <= i < count for i in indices) or steps[0].with_previous:
        raise StageError(f"a plan of {count} steps has slips or flaws at {sorted(indices)}; mend the family")
    inside = [slip.before for slip in slips if steps[slip.before].with_previous]
    if inside:
        raise StageError(f"slips at {inside} would tear calls of one message apart; move them before its first call")
    return Plan(tuple(steps), tuple(slips), tuple(flaws), closing)
