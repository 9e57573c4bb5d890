"""Usage of a turn as a format's metrics: tokens as the tables have them, cached tokens and cost from the native record.

Does not belong here: prompt and completion tokens, which cleaning derives (`assets/trajectories/steps`).
"""

from __future__ import annotations

import math

from assets.trajectories.exports.item import Row, read_json
from lake.ids import Json


def metrics_of(step: Row) -> dict[str, Json]:
    """ATIF's metrics of a step: what is unknown is left out; the native record is in `extra`.

    A cost of 0 for tokens is that of a model whose price the agent did not know: unknown, not free.
    """
    native = read_json(step["usage"]) if step["usage"] is not None else None
    if not isinstance(native, dict):
        return {}
    found: dict[str, Json] = {"prompt_tokens": step["input_tokens"], "completion_tokens": step["output_tokens"]}
    cached = _cached(native)
    prompt = step["input_tokens"]
    found["cached_tokens"] = cached if cached is not None and prompt is not None and cached <= prompt else None
    found["cost_usd"] = _cost(native)
    found["extra"] = {"usage": native}
    return {name: value for name, value in found.items() if value is not None}


def _cached(native: dict[str, Json]) -> int | None:
    details = native.get("prompt_tokens_details")
    stated = [native.get(name) for name in ("cacheRead", "cache_read_input_tokens", "cached_tokens")]
    stated.append(details.get("cached_tokens") if isinstance(details, dict) else None)
    return next((value for value in stated if type(value) is int and value >= 0), None)


def _cost(native: dict[str, Json]) -> float | None:
    stated = native.get("cost")
    value = stated.get("total") if isinstance(stated, dict) else native.get("cost_usd")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        return None
    return float(value)
