"""A dataset folder for Hugging Face `datasets`: Parquet shards by split, and a card that says where they come from.

`messages` has one shape in every row; tool-call arguments and tool schemas are JSON text, because Arrow would merge
their keys and fill them with nulls. A task's split is the split here, so that nothing held out is loaded as training
data. Does not belong here: uploading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from assets.trajectories.exports.card import Contents, card
from assets.trajectories.exports.item import About, Item, Tally, to_json, to_text
from assets.trajectories.exports.shards import Shards
from assets.trajectories.exports.trl import trainable
from lake.ids import Json

_TEXT: Final = pa.large_string()
_CALL: Final = pa.struct(
    [("id", pa.string()), ("type", pa.string()), ("function", pa.struct([("name", pa.string()), ("arguments", _TEXT)]))]
)
_MESSAGE: Final = pa.struct(
    [
        ("role", pa.string()),
        ("content", _TEXT),
        ("tool_calls", pa.list_(_CALL)),
        ("tool_call_id", pa.string()),
        ("weight", pa.int32()),
    ]
)
COLUMNS: Final = (
    ("trajectory_id", pa.string(), "Digest of its source and branch"),
    ("session_id", pa.string(), "What the agent logged"),
    ("attempt_id", pa.string(), "Attempt; null for logs of others"),
    ("task_id", pa.string(), "Task"),
    ("task_version", pa.string(), "Version of the task"),
    ("family", pa.string(), "Family the task was made by"),
    ("policy", pa.string(), "What answered: scripted teacher, checkpoint or model"),
    ("model", pa.string(), "Model the log names"),
    ("harness", pa.string(), "Agent software and version"),
    ("class", pa.string(), "How it ended: normal, aborted, failed, truncated, …"),
    ("ending", pa.string(), "How the attempt ended"),
    ("counted", pa.bool_(), "The one attempt of its rollout that counts"),
    ("verdict_status", pa.string(), "scored, or why there is no score"),
    ("score_code", pa.float64(), "Score of the code verifier, 0 to 1; null unless scored"),
    ("score", pa.float64(), "Whole score, 0 to 1; null unless known"),
    ("turns", pa.int32(), "Answers of the agent"),
    ("tool_calls", pa.int32(), "Tool calls"),
    ("tool_errors", pa.int32(), "Tool results that are errors"),
    ("input_tokens", pa.int64(), "As the provider stated"),
    ("output_tokens", pa.int64(), "As the provider stated"),
    ("licence", pa.string(), "Licence of the task; null for logs of others"),
    (
        "messages",
        pa.list_(_MESSAGE),
        "Chat messages; arguments are JSON text; `weight` 0: context only, not to train on",
    ),
    ("tools", _TEXT, "JSON list of tool schemas; `[]` where not recorded"),
)
"""Name, type and meaning."""
SCHEMA: Final = pa.schema([(name, kind) for name, kind, _ in COLUMNS])
_GROUP_ROWS: Final = 100
_FILE_BYTES: Final = 512 * 2**20
_SPLITS: Final = ("train", "validation", "test", "bench")
_UNASSIGNED: Final = "unassigned"


def write(items: Iterable[Item], to: Path, about: About, tally: Tally) -> None:
    """See `Writer`."""
    to.mkdir()
    contents = Contents(Counter(), Counter(), Counter())
    shards: dict[str, Shards] = {}
    try:
        for item in trainable(items, tally):
            split = _split(item)
            contents.add(split, item)
            if split not in shards:
                shards[split] = Shards(to / "data", f"{split}-", SCHEMA, group_rows=_GROUP_ROWS, file_bytes=_FILE_BYTES)
            shards[split].add(row_of(item), len(item.row["messages"]) + len(item.row["tools"] or ""))
    finally:
        for one in shards.values():
            one.close()
    for split, one in shards.items():
        for number, path in enumerate(one.paths):
            path.rename(path.with_name(f"{split}-{number:05d}-of-{len(one.paths):05d}.parquet"))
    splits = [split for split in (*_SPLITS, _UNASSIGNED) if split in shards]
    text = card(about, tally, contents, splits, [(name, str(kind), said) for name, kind, said in COLUMNS])
    (to / "README.md").write_text(text, encoding="utf-8", newline="\n")


def row_of(item: Item) -> dict[str, Any]:
    """A trajectory as a row."""
    found: dict[str, Any] = {name: item.row.get(name) for name in SCHEMA.names}
    found["harness"] = item.agent_label
    found["messages"] = [_message(message) for message in item.messages]
    found["tools"] = to_json(item.tools)
    return found


def _message(message: dict[str, Json]) -> dict[str, Json]:
    calls = message.get("tool_calls")
    return {
        **message,
        "content": to_text(message["content"]),
        "tool_calls": None if calls is None else [_call(call) for call in calls],
    }


def _call(call: dict[str, Json]) -> dict[str, Json]:
    function = call["function"]
    return {**call, "function": {"name": to_text(function["name"]), "arguments": to_text(function["arguments"])}}


def _split(item: Item) -> str:
    """The split of the task, suites of the bench together; `unassigned` for what has none, as logs of others."""
    split = str(item.row["task_split"] or _UNASSIGNED).split(":")[0]
    return split if split in _SPLITS else _UNASSIGNED
