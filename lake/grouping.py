"""The contract of a projection by groups: tables whose rows each follow from one group of inputs.

A group is what is worked on together (an attempt with its logs, a foreign session). A build makes only the groups
whose inputs changed, and writes only their rows. What groups may know of each other is one thing: who was the first
to hold something (`Claims`). Belongs here: the contract. Does not belong here: running it (`incremental`), any stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from lake.ids import Json

if TYPE_CHECKING:
    from lake.projection import View

GROUP: Final = "group_id"
"""Bookkeeping column of every table made by groups."""

_CHUNK_BYTES: Final = 16 * 1024 * 1024
_CHUNK_GROUPS: Final = 256

Rows = dict[str, list[dict[str, Json]]]
"""Rows by table."""


@dataclass(frozen=True)
class Group:
    """One group as the log describes it now, before anything of it is read."""

    group_id: str
    """20 hex digits."""
    place: str
    """Where it stands among all: of two groups that hold the same thing, the one with the lower place is the first."""
    inputs: str
    """Digest over all its rows follow from, `place` included."""
    size: int
    """Bytes read to make it, about."""
    material: Any = field(default=None, compare=False, repr=False)
    """What the projection wants to find again when it makes it."""


class Claims(Protocol):
    """Who was the first to hold something, over all groups."""

    def look_up(self, identities: Iterable[str]) -> None:
        """Say which identities the next groups will claim, so that they are read at once."""

    def claim(self, group: Group, held: Sequence[tuple[str, str]]) -> dict[str, str]:
        """State what a group holds, as (holder, identity), and learn the first holder of each of these identities.

        Of several holders in one group the first in this order counts. Called once a group, in the order given.
        """


Made = list[tuple[Group, Rows]]
"""Groups of a chunk with their rows."""


@dataclass(frozen=True)
class Grouping:
    """The part of a projection that works by groups."""

    outputs: tuple[str, ...]
    """Tables made by group. The first key column of each holds values of one group only."""
    state: str
    """Table of the groups themselves: their inputs, and sums of their rows."""
    claims: str
    """Table of what groups hold: columns holder (the first one in the group) and identity."""
    plan: Callable[[View], Sequence[Group]]
    """All groups there are, by place. Cheap: it reads descriptions, not records."""
    make: Callable[[View, Sequence[Sequence[Group]], Claims], Iterator[Made]]
    """Makes groups, chunk by chunk, each in the order given."""

    @property
    def tables(self) -> tuple[str, ...]:
        """Every table with a group column."""
        return (*self.outputs, self.claims)


def chunks(groups: Iterable[Group]) -> list[list[Group]]:
    """Groups in lists that are held in memory together: about 16 MiB of input, or one larger group."""
    found: list[list[Group]] = []
    size = 0
    for group in groups:
        if not found or len(found[-1]) == _CHUNK_GROUPS or size + group.size > _CHUNK_BYTES:
            found.append([])
            size = 0
        found[-1].append(group)
        size += group.size
    return found


def by_table(names: Iterable[str]) -> Rows:
    """No rows yet."""
    return {name: [] for name in names}
