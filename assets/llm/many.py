"""Many pieces of work at a time in one loop; the first error of ours ends them all, as itself and not in a group.

Belongs here: that. Does not belong here: how many calls are on their way (`client.py` bounds them).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from lake.errors import ClawGymError

T = TypeVar("T")


async def all_of(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Results in order.

    Raises:
        ClawGymError: what one of them raised; the others are cancelled.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except BaseExceptionGroup as errors:
        ours, _ = errors.split(ClawGymError)
        if ours is None:
            raise
        raise _first(ours) from errors
    return [task.result() for task in tasks]


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
