"""What a verifier said, made into checks and scores, or into an error with one plain line.

Belongs here: the protocols, functions over what a verifier printed or left. A value outside [0, 1], not finite,
repeated or of a wrong type is an error, never a 0. Does not belong here: running a verifier (`verify.py`).
"""

from __future__ import annotations

import json
import math
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class SaidError(Exception):
    """The verifier broke its protocol; the text says how."""


@dataclass(frozen=True)
class Said:
    """A protocol-conforming answer."""

    checks: dict[str, float]
    """Named checks in the verifier's order, in [0, 1]; without `reward`."""
    reward: float | None
    """The verifier's own reward, where its protocol has one."""
    wrapped: bool = True
    """Whether the original runs it behind a reward.sh."""

    @property
    def score_code(self) -> float:
        """The verifier's own reward, else the mean of the checks."""
        return self.reward if self.reward is not None else math.fsum(self.checks.values()) / len(self.checks)

    @property
    def wrapper_score(self) -> float | None:
        """What the original reward.sh prints: the mean of all values, an own `reward` counted among its booleans."""
        if not self.wrapped:
            return None
        values = [*self.checks.values(), *([] if self.reward is None else [self.reward])]
        return math.fsum(values) / len(values)


def read_grade_floats(stdout: bytes) -> Said:
    """The runner's line: pairs of check name and number.

    Raises:
        SaidError: no check, a repeated one, a value that is no finite number in [0, 1].
    """
    pairs: list[tuple[str, Any]] = [(name, value) for name, value in json.loads(stdout)]
    if not pairs:
        raise SaidError("grade() gave no check")
    checks: dict[str, float] = {}
    for name, value in pairs:
        if isinstance(value, dict):
            raise SaidError(f"check {name!r} is a {value['not']}, not a number")
        checks[name] = _unit(f"check {name!r}", value)
    return Said(checks, None)


def read_reward_booleans(stdout: bytes) -> Said:
    """The last line of stdout: a JSON object whose first key is `reward`, in [0, 1], and whose others are booleans.

    Raises:
        SaidError: anything else, text after the object included.
    """
    lines = stdout.decode("utf-8", "replace").rstrip().splitlines()
    if not lines:
        raise SaidError("nothing on stdout; its last line must be a JSON object")
    try:
        value = json.loads(lines[-1], object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise SaidError(f"the last line of stdout is no JSON object: {_short(lines[-1])} ({error})") from error
    if not isinstance(value, dict):
        raise SaidError(f"the last line of stdout is a JSON {type(value).__name__}, not an object")
    names = list(value)
    if not names or names[0] != "reward":
        raise SaidError(f"the first key is {names[0]!r}, not 'reward'" if names else "the JSON object is empty")
    if isinstance(value["reward"], bool) or not isinstance(value["reward"], (int, float)):
        raise SaidError(f"reward is {_short(json.dumps(value['reward']))}, not a number")
    reward = _unit("reward", value["reward"])
    for name in names[1:]:
        if not isinstance(value[name], bool):
            raise SaidError(f"check {name!r} is {_short(json.dumps(value[name]))}, not a boolean")
    return Said({name: float(value[name]) for name in names[1:]}, reward)


def read_harbor(logs: Path) -> Said:
    """`reward.json` (an object of numbers; its `reward`, else their mean), else `reward.txt` (one number).

    Raises:
        SaidError: neither is there as a plain, small file, or it says something else.
    """
    text = _small(logs / "reward.json")
    if text is not None:
        try:
            value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise SaidError(f"reward.json is no JSON: {_short(text)} ({error})") from error
        if not isinstance(value, dict) or not value:
            raise SaidError(f"reward.json is no object of numbers: {_short(text)}")
        values = {}
        for name, given in value.items():
            if isinstance(given, bool) or not isinstance(given, (int, float)):
                raise SaidError(f"{name!r} of reward.json is {_short(json.dumps(given))}, not a number")
            values[name] = _unit(f"{name!r} of reward.json", given)
        reward = values.pop("reward", None)
        return Said(values, reward, wrapped=False)
    text = _small(logs / "reward.txt")
    if text is None:
        raise SaidError("the verifier left no reward.txt and no reward.json")
    try:
        number = float(text)
    except ValueError as error:
        raise SaidError(f"reward.txt is no number: {_short(' '.join(text.split()))!r}") from error
    return Said({}, _unit("reward.txt", number), wrapped=False)


def _small(path: Path, limit: int = 64 * 1024) -> str | None:
    """The text of a file that a verifier wrote; null where there is none. Links and special files are not opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SaidError(f"{path.name} is no plain file: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SaidError(f"{path.name} is no plain file")
        data = os.read(descriptor, limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise SaidError(f"{path.name} has more than {limit} bytes")
    return data.decode("utf-8", "replace").strip()


def _unit(what: str, value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SaidError(f"{what} is {number}, not a finite number")
    if not 0.0 <= number <= 1.0:
        raise SaidError(f"{what} is {number:g}, outside 0 to 1")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SaidError(f"key {repeated[0]!r} is repeated")
    return dict(pairs)


def _no_constant(name: str) -> float:
    raise SaidError(f"{name} is not JSON")


def _short(text: str, length: int = 80) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


READERS = {"grade_floats": read_grade_floats, "reward_booleans": read_reward_booleans}
"""Reader by protocol."""
