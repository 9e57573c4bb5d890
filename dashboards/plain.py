"""Text of others, shown as the characters it is.

Agents, skills and logs write what they like, so nothing of theirs may reach Streamlit where it reads Markdown or HTML.
Belongs here: the ways such text is shown, and numbers in words. Does not belong here: where the text comes from.
"""

from __future__ import annotations

import json
import re
from typing import Any

import streamlit as st

from dashboards.connection import Row

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
TALL = 420
"""Height in pixels above which a block scrolls."""


def escape(text: object) -> str:
    """Text for the places where Streamlit reads Markdown (labels, captions): every sign escaped, on one line."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(str(text).split()))


def block(text: str, *, language: str | None = None, whole: int | None = None, tall: int = TALL) -> None:
    """A block of text, as it is but for outer blank lines and an indentation common to all lines.

    Args:
        text: what to show.
        language: for colours only.
        whole: length of the whole text, where `text` is its beginning. Characters.
        tall: height above which it scrolls. Pixels.
    """
    lines = text.count("\n") + len(text) // 110
    st.code(text, language=language, wrap_lines=True, height=tall if lines * 23 > tall else "content")
    if whole is not None and whole > len(text):
        st.caption(f"The first {len(text):,} of {whole:,} characters.")


def say_masked(count: int) -> None:
    """Say that secrets were masked in what stands above, where any were."""
    if count:
        st.caption(f"n = {count} secrets masked here; the lake keeps the bytes as they were.")


def arguments(text: str) -> str:
    """The JSON arguments of a call laid out for reading: one name a line, long texts under their name.

    What is not a JSON object (malformed, or cut) is given back as it is.
    """
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict):
        return text
    lines: list[str] = []
    for name, item in value.items():
        shown = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        lines.append(f"{name}:\n{shown}" if "\n" in shown else f"{name}: {shown}")
    return "\n".join(lines) or "(no arguments)"


def language_of(path: str) -> str | None:
    """Language for colouring a file, by its ending."""
    known = {
        "py": "python", "json": "json", "jsonl": "json", "md": "markdown", "yaml": "yaml", "yml": "yaml", "sh": "bash",
        "toml": "toml", "ini": "ini", "html": "html", "xml": "xml", "sql": "sql", "js": "javascript",
    }  # fmt: skip
    return known.get(path.rsplit(".", 1)[-1].lower()) if "." in path else None


def number(value: float | None, digits: int = 2) -> str:
    """A number for reading; a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, int) or (float(value).is_integer() and abs(value) >= 1000):
        return f"{int(value):,}"
    return f"{value:,.{digits}f}"


def share(part: int, whole: int) -> str:
    """A share with its denominator, e.g. `75 % of 16`; a dash where the denominator is 0."""
    return f"{100 * part / whole:.0f} % of {whole:,}" if whole else "– (n = 0)"


def interval(row: Row, digits: int = 3) -> str:
    """`mean (low to high)` of a row, or the mean alone where there is no interval."""
    if row["mean"] is None:
        return "–"
    if row["low"] is None:
        return number(row["mean"], digits)
    return f"{number(row['mean'], digits)} ({number(row['low'], digits)} to {number(row['high'], digits)})"


def size(value: int | None) -> str:
    """A number of bytes for reading."""
    if value is None:
        return "–"
    amount = float(value)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:,.0f} {unit}" if unit == "B" else f"{amount:,.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} GiB"


def facts(pairs: dict[str, Any]) -> None:
    """Names and values, one pair a line; values are text of others."""
    lines = [f"{escape(name)}: **{escape(value)}**" for name, value in pairs.items() if value not in (None, "")]
    st.markdown("  \n".join(lines))
