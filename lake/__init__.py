"""The lake: an append-only log of events, raw records and blobs in Delta, and tables computed from it.

Belongs here: log, schema, store, projections, replay, SQL engine. Does not belong here: Dagster, torch, Streamlit,
or what any stage means.
"""

from lake.lake import Lake
from lake.opening import open  # noqa: A004 - lake.open() is the public name
from lake.projection import Built, Projection, View, rows_table
from lake.reader import Event, Reader

__all__ = ["Built", "Event", "Lake", "Projection", "Reader", "View", "open", "rows_table"]
