"""Variables from a `.env` file, for every program of the project; what the environment holds already wins.

Belongs here: finding and reading the file. Does not belong here: what a variable means (`settings.py`, the stages).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from dotenv import load_dotenv

FILE_VARIABLE: Final = "CLAWGYM_ENV_FILE"
"""Names another file; none is read where it is set and empty."""
_PROJECT: Final = Path(__file__).resolve().parent.parent


def load_environment() -> Path | None:
    """Read `.env` of the current folder, else of the project's; values are taken as they stand, `$` included.

    Returns:
        The file that was read; null when there is none.
    """
    named = os.environ.get(FILE_VARIABLE)
    candidates = [Path.cwd() / ".env", _PROJECT / ".env"] if named is None else [Path(named)] if named else []
    found = next((path for path in candidates if path.is_file()), None)
    if found is not None:
        load_dotenv(found, override=False, interpolate=False)
    return found
