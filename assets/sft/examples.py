"""Examples as conversations, for those who train on them.

Belongs here: reading rows of `sft_examples` back. Does not belong here: the filter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from lake import Lake
from lake.ids import Json
from training.chat import Conversation


def read_examples(lake: Lake, split: str) -> list[dict[str, Json]]:
    """The examples of a split, by example id."""
    rows = (row for row in lake.rows("sft_examples") if row["split"] == split)
    return sorted(rows, key=lambda row: str(row["example_id"]))


def conversation_of(example: Mapping[str, Json]) -> Conversation:
    """Messages and tools of an example."""
    return Conversation(json.loads(example["messages"]), json.loads(example["tools"]))
