"""Implementations of `Reader`, one a format. `READERS` is the order in which a file is offered to them."""

from assets.logs.reader import Reader
from assets.logs.readers.database import DatabaseReader
from assets.logs.readers.documents import DocumentReader
from assets.logs.readers.jsonl import JsonlReader

READERS: tuple[Reader, ...] = (DatabaseReader(), DocumentReader(), JsonlReader())

__all__ = ["READERS"]
