"""The root of the command line and its error model: one line on stderr, a documented exit code.

Belongs here: the root group, errors, interruption. Does not belong here: any command.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from clawgym_dag.cli import COMMANDS
from clawgym_dag.cli.framework import EXIT_CODES, exit_code_of
from lake.environment import load_environment
from lake.errors import ClawGymError


class Root(click.Group):
    """The root group: commands in the order of the loop, exit codes at the end of its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order they were added."""
        return list(self.commands)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the exit codes."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), text) for code, text in EXIT_CODES.items()])


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="clawgym-lakehouse", prog_name="clawgym")
def root() -> None:
    """ClawGym lakehouse: tasks, agent runs, trajectories, training sets, models and scores, all in one lake."""


for _command in COMMANDS:
    root.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    load_environment()
    try:
        result = root.main(args=given, prog_name="clawgym", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (KeyboardInterrupt, click.Abort):
        again = " ".join(["clawgym", *given])
        click.echo(f"clawgym: interrupted; nothing is lost, run `{again}` to go on", err=True)
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else error.format_message())
        return exit_code_of(error)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "clawgym"
        click.echo(f"clawgym: {one_line(error.format_message())} See `{where} --help`.", err=True)
        return exit_code_of(error)
    except BrokenPipeError:
        # The reader (head, less) has gone: that is how it says it has seen enough.
        sys.stderr.close()
        return 0
    except (ClawGymError, click.ClickException) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        click.echo(f"clawgym: {one_line(text)}", err=True)
        return exit_code_of(error)


def one_line(text: str) -> str:
    """Text with its line breaks as spaces."""
    return " ".join(text.split())
