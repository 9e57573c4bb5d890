"""Profiles: a TOML file each, read into `assets.profile.Profile`.

Belongs here: the files and their loader. Does not belong here: the names and limits of settings (`assets/profile.py`).
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from assets.profile import Profile
from lake.errors import UsageError

FOLDER: Final = Path(__file__).resolve().parent


def available() -> list[str]:
    """Names of the profiles that come with the project."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def profile_path(name: str) -> Path:
    """The file of a profile: a name of `available`, or a path ending in .toml.

    Raises:
        UsageError: there is no such profile.
    """
    path = Path(name).expanduser() if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file():
        raise UsageError(f"no profile {name!r}; there are {', '.join(available())}, or give the path of a .toml file")
    return path


def load_profile(name: str = "demo", overrides: str = "") -> Profile:
    """Read a profile.

    Args:
        name: a name of `available`, or a path ending in .toml.
        overrides: TOML text whose keys replace those of the file, e.g. `rollouts.repeats = 2`.

    Raises:
        UsageError: no such profile, no TOML, an unknown key or a value out of its limits; the message says where.
    """
    path = profile_path(name)
    settings = _merged(_parsed(path.read_text(encoding="utf-8"), str(path)), _parsed(overrides, "overrides"))
    try:
        return Profile.model_validate({"name": path.stem, **settings})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        what = _unknown(first["loc"]) if first["type"] == "extra_forbidden" else first["msg"]
        raise UsageError(f"profile {name}: {where}: {what}; the settings are listed in assets/profile.py") from error


def _unknown(place: tuple[int | str, ...]) -> str:
    """That there is no such setting, and the one that was meant, if any looks like it."""
    fields = Profile.model_fields
    for part in place[:-1]:
        section = fields[str(part)].annotation if str(part) in fields else None
        fields = getattr(section, "model_fields", {})
    close = difflib.get_close_matches(str(place[-1]), fields, 1)
    meant = ".".join([*map(str, place[:-1]), close[0]]) if close else None
    return f"there is no such setting; did you mean {meant}" if meant else "there is no such setting"


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is not TOML: {error}") from error


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        known = result.get(key)
        result[key] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return result
