"""Sessions that are no OpenClaw transcripts, put into its records so that one cleaner cleans them all.

Singular modules hold what they share; each other module is one source kind: its documents to conversations. Does not
belong here: cleaning (`clean`), and recognising files (`assets/logs/readers`).
"""

from __future__ import annotations

from assets.trajectories.formats.source import FORMATS, clean_source

__all__ = ["FORMATS", "clean_source"]
