"""Outputs of no worth: what each expected output would be for somebody who did not do the task.

Belongs here: outputs for the probes of `audits` and for the trials of a verifier while it is written (`routes`). Does
not belong here: what they may earn.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from assets.tasks.bundle import TaskBundle
from assets.tasks.formats import format_of

PLACEHOLDERS: Final = {
    "csv": b"id,value\n1,placeholder\n",
    "tsv": b"id\tvalue\n1\tplaceholder\n",
    "json": b'{"placeholder": true}\n',
    "jsonl": b'{"placeholder": true}\n',
    "yaml": b"placeholder: true\n",
    "toml": b"placeholder = true\n",
    "ini": b"[placeholder]\nvalue = 1\n",
    "md": b"# Placeholder\n\n- placeholder\n",
    "html": b"<!doctype html>\n<html><head><title>Placeholder</title></head><body><p>placeholder</p></body></html>\n",
    "xml": b"<placeholder/>\n",
    "py": b'"""Placeholder."""\n',
    "sh": b"#!/bin/sh\n# placeholder\n",
    "log": b"placeholder\n",
    "eml": b"Subject: placeholder\n\nplaceholder\n",
}
"""Well-formed and empty of content, by format; the plain word elsewhere."""


def output_paths(bundle: TaskBundle) -> list[str]:
    """A file for each expected output; below the folder where a folder is asked for."""
    return [f"{path}placeholder.txt" if path.endswith("/") else path for path in bundle.expected_outputs]


def zero_byte(bundle: TaskBundle) -> dict[str, bytes]:
    """Empty files."""
    return dict.fromkeys(output_paths(bundle), b"")


def placeholders(bundle: TaskBundle) -> dict[str, bytes]:
    """Files that parse and say nothing."""
    return {path: PLACEHOLDERS.get(format_of(path, b""), b"placeholder\n") for path in output_paths(bundle)}


def pasted_instruction(bundle: TaskBundle) -> dict[str, bytes]:
    """The instruction itself in every file."""
    text = bundle.instruction.encode("utf-8", "replace") + b"\n"
    return {PurePosixPath(path).as_posix(): text for path in output_paths(bundle)}
