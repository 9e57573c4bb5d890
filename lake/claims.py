"""Who was the first to hold something, when only some groups are made: the stored claims of the others, and fresh ones.

Belongs here: the index, and which further groups a change of it disturbs. Does not belong here: what is claimed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import pyarrow as pa

from lake.grouping import Group
from lake.reader import Reader

Standing = tuple[str, str]
"""(place of the group, its holder): the lowest place is the first."""

_STORED: Final = "select identity, group_id, holder from {table} semi join wanted using ({column})"


class Index:
    """Implements `lake.grouping.Claims`."""

    def __init__(self, reader: Reader, table: str, places: Mapping[str, str], todo: AbstractSet[str]) -> None:
        """Args:
        reader: the state of the lake the table is read from.
        table: the table of claims.
        places: place by group as of the last build; empty where all is made anew, and then nothing is read.
        todo: groups that are made now or are gone: what the table says of them is past.
        """
        self._reader, self._table, self._places, self._todo = reader, table, places, todo
        self._first: dict[str, Standing] = {}
        """First holder of each identity known so far: of the stored ones looked up, and of all claims made now."""
        self._known: set[str] = set()
        self._claimed: set[str] = set()
        """Identities claimed now."""

    def look_up(self, identities: Iterable[str]) -> None:
        """See `Claims.look_up`."""
        new = set(identities) - self._known
        if not self._places or not new:
            return
        self._known |= new
        for identity, standing, group in self._stored("identity", new):
            if group not in self._todo:
                self._lower(identity, standing)

    def claim(self, group: Group, held: Sequence[tuple[str, str]]) -> dict[str, str]:
        """See `Claims.claim`."""
        for holder, identity in held:
            self._lower(identity, (group.place, holder))
        if self._places:
            self._claimed.update(identity for _, identity in held)
        return {identity: self._first[identity][1] for _, identity in held}

    def _lower(self, identity: str, standing: Standing) -> None:
        first = self._first.get(identity)
        if first is None or standing[0] < first[0]:
            self._first[identity] = standing

    def _stored(self, column: str, wanted: Iterable[str]) -> list[tuple[str, Standing, str]]:
        cursor = self._reader.cursor([self._table])
        cursor.register("wanted", pa.table({column: pa.array(sorted(wanted), pa.string())}))
        rows = cursor.execute(_STORED.format(table=self._table, column=column)).fetchall()
        return [(identity, (self._places[group], holder), group) for identity, group, holder in rows]

    def disturbed(self) -> set[str]:
        """Groups that were not made now, and hold something whose first holder is another one than before.

        To be asked once all groups to be made have claimed.
        """
        if not self._places:
            return set()
        past = {identity for identity, _, _ in self._stored("group_id", self._todo)}
        self.look_up(past)
        before: dict[str, Standing] = {}
        holders: dict[str, set[str]] = defaultdict(set)
        for identity, standing, group in self._stored("identity", past | self._claimed):
            before[identity] = min(standing, before.get(identity, standing))
            if group not in self._todo:
                holders[identity].add(group)
        return {
            group
            for identity, groups in holders.items()
            if self._first[identity][1] != before[identity][1]
            for group in groups
        }
