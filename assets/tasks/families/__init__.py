"""The procedural task families: a folder each, with the generator, `check.py` (verifier) and `solve.py` (reference).

Belongs here: the registry. A new family is a new folder with a `FAMILY` in it; it appears here by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from assets.tasks.family import Family
from lake.errors import UsageError


@lru_cache(maxsize=1)
def families() -> dict[str, Family]:
    """All families by name, sorted."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg:
            family: Family = importlib.import_module(f"{__name__}.{module.name}").FAMILY
            found[family.name] = family
    return dict(sorted(found.items()))


def chosen(names: tuple[str, ...]) -> list[Family]:
    """Families by name; all when none is named.

    Raises:
        UsageError: there is no such family.
    """
    known = families()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"no task family {unknown[0]!r}; there are: {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())


__all__ = ["chosen", "families"]
