"""Generated pages: `python -m clawgym_dag.docs` writes them, `--check` fails where one is not what it would write.

Belongs here: docs/commands.md from the command line itself, and the check of every generated page. Does not belong
here: docs/tables.md's text (`lake/docs.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from clawgym_dag.cli.framework import EXIT_CODES, Command
from clawgym_dag.cli.main import root
from lake import docs as table_docs

COMMANDS_PAGE = Path(__file__).resolve().parent.parent / "docs" / "commands.md"

PAGES: dict[Path, Callable[[], str]] = {}
"""Every generated page and what writes it; filled at the end of this module."""


def commands_page() -> str:
    """The page of commands, from their own help."""
    lines = [
        "# Commands",
        "",
        "Written from the command line itself by `python -m clawgym_dag.docs`; do not edit.",
        "",
        "| exit code | means |",
        "|---|---|",
        *(f"| {code} | {text} |" for code, text in EXIT_CODES.items()),
        "",
    ]
    for path, command in commands(root):
        lines += command_lines(path, command)
    return "\n".join(lines).rstrip() + "\n"


def commands(group: click.Group, prefix: str = "clawgym") -> Iterator[tuple[str, Command]]:
    """Every command below a group with its full name, in the order of the help."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")
        elif isinstance(command, Command):
            yield f"{prefix} {name}", command


def command_lines(path: str, command: Command) -> list[str]:
    """The section of one command."""
    context = click.Context(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context))
    text = "\n".join(line.strip() for line in (command.help or "").strip().splitlines())
    options = [
        f"| `{', '.join(p.opts)}{'' if p.is_flag else ' ' + (p.metavar or p.type.name.upper())}` | {cell(p)} |"
        for p in command.params
        if isinstance(p, click.Option)
    ]
    codes = ", ".join(str(code) for code in command.codes)
    return [
        f"## {path}",
        "",
        f"`{path} {usage}`",
        "",
        text,
        "",
        "| option | |",
        "|---|---|",
        *options,
        "",
        "```console",
        *(f"$ {example}" for example in command.examples),
        "```",
        "",
        f"Exit codes: {codes}.",
        "",
    ]


def cell(option: click.Option) -> str:
    """What an option does, with its choices and default."""
    parts = [(option.help or "").replace("|", "\\|")]
    if isinstance(option.type, click.Choice):
        parts.append("One of " + ", ".join(f"`{choice}`" for choice in option.type.choices) + ".")
    if option.show_default and option.default is not None:
        parts.append(f"Default `{option.default}`.")
    return " ".join(part for part in parts if part)


def outdated() -> list[Path]:
    """Generated pages that are not what they would be written as."""
    return [page for page, text in PAGES.items() if not page.is_file() or page.read_text(encoding="utf-8") != text()]


def main(arguments: list[str]) -> int:
    """Write the pages, or check them."""
    if arguments == ["--check"]:
        wrong = outdated()
        for page in wrong:
            print(f"{page.name} is not what `python -m clawgym_dag.docs` writes; run it and commit the page")
        return 1 if wrong else 0
    for page, text in PAGES.items():
        page.write_text(text(), encoding="utf-8")
    return 0


PAGES.update({COMMANDS_PAGE: commands_page, table_docs.PAGE: table_docs.page})

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
