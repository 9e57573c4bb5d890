"""The error model: one class per boundary that can be crossed badly.

Every message says what happened, with the value, and what to do next. A bad rollout, verifier or record is data
(an event or a diagnostic), not one of these.
"""

from __future__ import annotations


class ClawGymError(Exception):
    """Base of all errors this project raises on purpose; `exit_code` is what the command line returns."""

    exit_code: int = 1


class UsageError(ClawGymError):
    """The caller asked for something that cannot be: unknown name, impossible combination."""

    exit_code = 2


class SetupError(ClawGymError):
    """Something the machine must have is missing: Node, OpenClaw, bubblewrap, namespaces, a port."""

    exit_code = 3


class LakeError(ClawGymError):
    """The lake folder cannot be used: foreign, corrupt, or of a newer format."""

    exit_code = 4


class LogError(LakeError):
    """An append broke a rule of the log: gap in a stream, payload too large, closed spool."""


class ReplayError(LakeError):
    """A rebuilt table differs from the live one, or a replay tried an effect."""

    exit_code = 5


class SourceError(ClawGymError):
    """A source of logs cannot be read at all: missing, unreadable database, unknown content."""

    exit_code = 6


class StageError(ClawGymError):
    """A stage cannot go on: nothing accepted, too few valid rollouts, model artefact missing."""

    exit_code = 7
