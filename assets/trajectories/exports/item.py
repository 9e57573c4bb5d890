"""What a format is given: one trajectory with its steps, calls and everything known around it; and JSON that holds.

Belongs here: the types, and reading and writing JSON values. Does not belong here: queries (`selection`), any format.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from lake.ids import Json

Row = Mapping[str, Any]
"""A row by column name."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LINE_END: Final = re.compile("[\u0085\u2028\u2029]")
_IMAGE: Final = re.compile(r"\[image [^\],]{1,80}, \d+ bytes, sha256 [0-9a-f]{64}\]")
"""What stands in a text for an image, whose bytes nothing masks."""
_NEVER_HELD: Final = ("steps_not_in_messages", "images", "token_ids")
"""What no format is given: partial turns, and bytes and ids that could show what is masked in the text."""


@dataclass(frozen=True)
class Item:
    """One trajectory."""

    row: Row
    """Columns of `trajectories`, and those `sql/trajectories/export_rows.sql` adds."""
    steps: list[Row]
    """Rows of `steps`, in order."""
    calls: list[Row]
    """Rows of `tool_calls`, by (step, call_index)."""
    exact_calls: int = 0
    """Model calls with exact token ids, which no format may hold: they spell out what was masked."""

    @property
    def trajectory_id(self) -> str:
        """Its id."""
        return str(self.row["trajectory_id"])

    @cached_property
    def messages(self) -> list[dict[str, Json]]:
        """The linear conversation."""
        return list(read_json(self.row["messages"]))

    @cached_property
    def tools(self) -> list[Json]:
        """Schemas of the tools served; empty where not recorded."""
        return list(read_json(self.row["tools"])) if self.row["tools"] is not None else []

    @property
    def has_answer(self) -> bool:
        """Whether there is anything to learn from: an answer that is not only context (`weight` 0)."""
        return any(message["role"] == "assistant" and message.get("weight") != 0 for message in self.messages)

    @property
    def agent(self) -> tuple[str | None, str | None]:
        """Name and version of the agent software: what the log says, else what the attempt was planned with."""
        stated = self.row.get("harness") or self.row["attempt_harness"]
        if stated is None:
            return "openclaw" if str(self.row["source_kind"]).startswith("openclaw") else None, None
        name, _, version = str(stated).replace("@", " ").rpartition(" ")
        if not name or not (version[0].isdigit() or version == "unknown"):
            return str(stated), None
        return name, None if version == "unknown" else version

    @property
    def agent_label(self) -> str | None:
        """The same as `name@version`, or what is known of it."""
        name, version = self.agent
        return f"{name}@{version}" if version is not None else name

    @cached_property
    def spoken(self) -> list[Row]:
        """Steps that stand in the conversation."""
        return [step for step in self.steps if step["in_messages"] is not False]

    @property
    def system(self) -> str | None:
        """The system prompt, where it was served but is no step of the log."""
        first = self.messages[0] if self.messages else None
        if first is None or first["role"] != "system" or (self.spoken and self.spoken[0]["role"] == "system"):
            return None
        return str(first["content"])

    @cached_property
    def calls_of(self) -> dict[int, list[Row]]:
        """Calls by the step that makes them."""
        found: dict[int, list[Row]] = {}
        for call in self.calls:
            found.setdefault(call["step"], []).append(call)
        return found

    @cached_property
    def answered(self) -> dict[int, Row]:
        """Calls by the step that answers them."""
        return {call["result_step"]: call for call in self.calls if call["result_step"] is not None}


@dataclass(frozen=True)
class Child:
    """A trajectory of a session that another session started."""

    trajectory_id: str
    session_id: str
    session_key: str | None
    known_by: str


@dataclass(frozen=True)
class About:
    """What a format knows of the export as a whole."""

    snapshot_id: str
    filters: Mapping[str, Json]
    """Those that were given."""
    arguments: Literal["string", "object"] = "string"
    """Tool-call arguments as JSON text or as an object, where the format allows both."""
    atif_version: str = "1.7"
    single_file: bool = True
    """One JSON Lines file rather than a folder, where the format allows both."""
    children: Mapping[tuple[str, str], list[Child]] = field(default_factory=dict)
    """By (home, session id) of the parent."""
    parents: Mapping[str, str] = field(default_factory=dict)
    """Session id of the parent, by trajectory id of the child."""


@dataclass
class Tally:
    """Counts while a format writes."""

    trajectories: int = 0
    """Chosen by the filters."""
    exported: int = 0
    not_held: Counter[str] = field(default_factory=Counter)
    """What the form cannot hold, or not as the tables do, by what."""

    def expect(self, *names: str) -> None:
        """Names that are reported even when nothing was lost."""
        for name in (*_NEVER_HELD, *names):
            self.not_held[name] += 0

    def leave_out(self, why: str) -> None:
        """Count a chosen item that is not exported."""
        self.trajectories += 1
        self.not_held[why] += 1

    def take(self, item: Item) -> None:
        """Count an item that is exported, and what no format holds of it."""
        self.trajectories += 1
        self.exported += 1
        self.not_held["steps_not_in_messages"] += len(item.steps) - len(item.spoken)
        self.not_held["images"] += sum(len(_IMAGE.findall(step["text"])) for step in item.spoken)
        self.not_held["token_ids"] += item.exact_calls


Writer = Callable[[Iterable[Item], Path, About, Tally], None]
"""A format: writes the items to a path that is not there yet (a file or a folder), and counts."""


def read_json(text: str) -> Json:
    """A JSON value of the tables. Numbers no JSON holds (NaN, infinities, 1e999) come back as their text."""
    return json.loads(text, parse_constant=str, parse_float=_finite)


def _finite(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


def to_json(value: Json) -> str:
    """JSON text without spaces, in the value's own order: always UTF-8, and one line to whoever reads it.

    U+0085, U+2028 and U+2029 are escaped: readers that split lines by Unicode's rules would cut the record there.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text if text.isascii() else _LINE_END.sub(lambda found: f"\\u{ord(found[0]):04x}", to_text(text))


def to_text(value: str) -> str:
    """Text that UTF-8 can hold: U+FFFD for half of a character."""
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def write_lines(lines: Iterable[Json], to: Path) -> None:
    """JSON Lines."""
    with to.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(to_json(line) + "\n")
