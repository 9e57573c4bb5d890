"""The composition root: the only package that knows every stage, Dagster and the command line.

Belongs here: definitions, resources, jobs, profiles, the command line, set-up. Does not belong here: what a stage does.
`dagster … -m clawgym_dag` finds `defs` here; it is made when asked for, so that `clawgym sql` does not load Dagster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import dagster as dg

__all__ = ["defs"]


def __getattr__(name: str) -> dg.Definitions:
    if name != "defs":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from clawgym_dag.definitions import defs

    return defs


def __dir__() -> list[str]:
    return [*globals(), "defs"]
