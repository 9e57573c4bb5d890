"""The shape every command has: help with examples and exit codes, common options, one-line errors.

Belongs here: click classes and decorators. Does not belong here: any command.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from lake.errors import ClawGymError, LakeError, ReplayError, SetupError, SourceError, StageError, UsageError

EXIT_CODES: Final[dict[int, str]] = {
    0: "done",
    1: "unexpected error",
    UsageError.exit_code: "wrong use: unknown name, bad option, impossible combination",
    SetupError.exit_code: "the machine lacks something: Node, OpenClaw, bubblewrap, namespaces, a port",
    LakeError.exit_code: "the lake cannot be used: foreign, corrupt, newer format",
    ReplayError.exit_code: "a rebuilt table differs from the live one",
    SourceError.exit_code: "a source of logs cannot be read at all",
    StageError.exit_code: "a stage cannot go on, or a blocking check failed",
    130: "interrupted; nothing is lost, run it again to go on",
}
"""Every exit code there is."""

ALWAYS: Final = (0, 2, 130)
"""Codes any command may return."""


class Command(click.Command):
    """A command whose help ends with tested examples and its exit codes."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), codes: Sequence[int] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.codes = tuple(sorted({*ALWAYS, LakeError.exit_code, *codes}))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and exit codes."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), EXIT_CODES[code]) for code in self.codes])


def command(
    group: click.Group, name: str, *, examples: Sequence[str], codes: Sequence[int] = ()
) -> Callable[[Callable[..., Any]], click.Command]:
    """Register a function as the command `name` of a group.

    Args:
        examples: whole command lines, each of which works after `clawgym demo`.
        codes: exit codes beyond 0, 2, 4 and 130.
    """
    return group.command(name, cls=Command, examples=examples, codes=codes)


_Decorated = Callable[[Callable[..., Any]], Callable[..., Any]]


def lake_option() -> _Decorated:
    """`--lake`: which lake."""
    return click.option(
        "--lake",
        "lake_path",
        metavar="PATH",
        help="The lake's folder; CLAWGYM_LAKE, else ./data/lake, where not given.",
    )


def json_option() -> _Decorated:
    """`--json`: machine-readable output."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def as_of_option() -> _Decorated:
    """`--as-of`: read the past."""
    return click.option("--as-of", metavar="SNAPSHOT|TIME", help="Read the lake as it was: a snapshot id or UTC time.")


def limit_option(default: int = 50) -> _Decorated:
    """`--limit`: rows shown."""
    return click.option("--limit", type=click.IntRange(1), default=default, show_default=True, help="Rows shown.")


def profile_options() -> _Decorated:
    """`--profile` and `--set`: the settings of a run."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function = click.option(
            "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting, e.g. rollouts.repeats=2."
        )(function)
        return click.option(
            "--profile", default="demo", show_default=True, help="A profile's name, or the path of a .toml file."
        )(function)

    return decorate


def exit_code_of(error: BaseException) -> int:
    """What the process returns for an error."""
    if isinstance(error, ClawGymError):
        return error.exit_code
    return UsageError.exit_code if isinstance(error, click.UsageError) else 1


def overrides_toml(settings: Sequence[str]) -> str:
    """`KEY=VALUE` options as TOML; a value that is no TOML is taken as a string.

    Raises:
        UsageError: there is no `=`.
    """
    lines: list[str] = []
    for setting in settings:
        key, sign, value = setting.partition("=")
        if not sign or not key.strip():
            raise UsageError(f"--set {setting!r} is not KEY=VALUE, e.g. --set rollouts.repeats=2")
        try:
            tomllib.loads(f"value = {value}")
        except tomllib.TOMLDecodeError:
            value = json.dumps(value)
        lines.append(f"{key.strip()} = {value}")
    return "\n".join(lines)
