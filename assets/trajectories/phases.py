"""What a tool call does in the workflow: explore, read, write, edit, run or check; and on what.

A shell command is judged by its simple commands and redirections; the one that does most decides
(edit > write > run > check > read > explore). Does not belong here: whether the call succeeded.
"""

from __future__ import annotations

import re
from typing import Final

from lake.ids import Json

_TOOLS: Final[dict[str, str]] = {
    "read": "read", "web_fetch": "read", "browser": "read", "image": "read", "pdf": "read",
    "memory_get": "read", "sessions_history": "read",
    "list": "explore", "ls": "explore", "find": "explore", "grep": "explore", "glob": "explore",
    "web_search": "explore", "memory_search": "explore", "sessions_list": "explore", "tool_search": "explore",
    "write": "write", "edit": "edit", "apply_patch": "edit", "process": "run", "sessions_spawn": "run", "cron": "run",
}  # fmt: skip
_PROGRAMS: Final[dict[str, str]] = {
    **dict.fromkeys(
        ("ls", "find", "tree", "pwd", "du", "df", "stat", "file", "which", "whereis", "type", "env", "printenv", "id",
         "uname", "whoami", "date", "fd", "locate", "ps"),
        "explore",
    ),
    **dict.fromkeys(
        ("cat", "head", "tail", "less", "more", "grep", "egrep", "fgrep", "rg", "awk", "gawk", "jq", "yq", "cut",
         "sort", "uniq", "column", "nl", "tac", "xxd", "hexdump", "od", "strings", "sed", "tr", "paste",
         "join", "comm", "zcat"),
        "read",
    ),
    **dict.fromkeys(
        ("tee", "touch", "mkdir", "cp", "mv", "rm", "rmdir", "ln", "install", "dd", "truncate", "chmod", "chown",
         "rsync", "unzip", "zip", "gzip", "gunzip"),
        "write",
    ),
    **dict.fromkeys(("patch",), "edit"),
    **dict.fromkeys(
        ("pytest", "diff", "cmp", "test", "[", "[[", "wc", "md5sum", "sha1sum", "sha256sum", "xmllint", "yamllint",
         "jsonlint", "csvlint", "shellcheck", "ruff", "mypy", "flake8", "eslint", "tsc"),
        "check",
    ),
    **dict.fromkeys(("cd", "echo", "printf", "export", "set", "true", ":", "sleep", "exit", "source", ".",
         "for", "while", "until", "case", "esac", "done", "fi", "else", "elif", "function", "{", "}"), ""),
}  # fmt: skip
"""Program to phase; empty for those that do nothing by themselves. All others run something."""

_RANK: Final = ("edit", "write", "run", "check", "read", "explore")
_HEREDOC: Final = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1([^\n]*)\n.*?(?:\n[ \t]*\2[ \t]*(?=\n|\Z)|\Z)", re.DOTALL)
_TOKEN: Final = re.compile(
    r"(?P<end>&&|\|\||;|\||&(?!>)|\n|\(|\))|(?P<redirect>(?:\d|&)?>>?(?:&\d)?)|"
    r"(?P<word>(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|[^\s;&|<>()'\"\\])+)|<<?<?|\s+|.",
    re.DOTALL,
)
_SYNTAX: Final = re.compile(r"[^\w ./=:,@%+~?*#^!\[\]{}$-]")
"""What a command of plain words does not hold; a line end is among it."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_WRAPPERS: Final = frozenset(
    {"sudo", "env", "time", "nohup", "timeout", "xargs", "command", "exec", "then", "do", "if", "!"}
)
_PATH_KEYS: Final = ("path", "file_path", "filePath", "file", "filename", "url", "query", "pattern", "command")
_MAX_COMMAND: Final = 20_000
"""Longer commands are judged by their beginning. Characters."""


def classify(tool: str, arguments: dict[str, Json], cwd: str | None) -> tuple[str, str | None]:
    """Phase and target of a call.

    Args:
        tool: its name.
        arguments: its arguments.
        cwd: the session's folder, cut off in front of paths below it.

    Returns:
        The phase (explore | read | write | edit | run | check | other) and the file path, or for a command its first
        program.
    """
    if tool in ("exec", "bash", "shell", "system.run"):
        command = arguments.get("command", arguments.get("cmd"))
        return classify_command(command) if isinstance(command, str) else ("run", None)
    phase = _TOOLS.get(tool, "other")
    for key in _PATH_KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return phase, _relative(value, cwd)[:400]
    if tool == "apply_patch" and isinstance(arguments.get("input"), str):
        named = re.search(r"\*\*\* (?:Update|Add|Delete) File: (.+)", arguments["input"])
        return phase, _relative(named[1].strip(), cwd)[:400] if named else None
    return phase, None


def _relative(path: str, cwd: str | None) -> str:
    if cwd and path.startswith(cwd.rstrip("/") + "/"):
        path = path[len(cwd.rstrip("/")) + 1 :]
    while path.startswith("./"):
        path = path[2:]
    return path


def classify_command(command: str) -> tuple[str, str | None]:
    """Phase of a shell command and its first program that does something."""
    found: set[str] = set()
    first: str | None = None
    for words, writes in _simple_commands(_HEREDOC.sub(r" \3\n", command[:_MAX_COMMAND])):
        phase, program = _simple(words)
        if writes:
            phase = "write"
        if phase:
            found.add(phase)
            first = first or program
    phase = next((phase for phase in _RANK if phase in found), "run" if first else "other")
    return phase, first


def _simple_commands(command: str) -> list[tuple[list[str], bool]]:
    """Words of each simple command, and whether it sends its output to a file."""
    if not _SYNTAX.search(command):
        return [(command.split(), False)]
    commands: list[tuple[list[str], bool]] = []
    words: list[str] = []
    writes = to_file = False
    for match in _TOKEN.finditer(command):
        kind = match.lastgroup
        if kind == "end":
            commands.append((words, writes))
            words, writes, to_file = [], False, False
        elif kind == "redirect":
            to_file = not match[kind].endswith(("&1", "&2"))
        elif kind == "word":
            if to_file:
                writes = writes or not match[kind].startswith("/dev/")
                to_file = False
            else:
                words.append(match[kind])
    commands.append((words, writes))
    return [(found, wrote) for found, wrote in commands if found or wrote]


def _simple(words: list[str]) -> tuple[str, str | None]:
    rest = list(words)
    while rest and (rest[0] in _WRAPPERS or _ASSIGNMENT.match(rest[0]) or rest[0].startswith("-") or rest[0].isdigit()):
        rest.pop(0)
    if not rest:
        return "", None
    program = rest[0].strip("'\"").rsplit("/", 1)[-1]
    if program == "sed" and any(word.startswith(("-i", "--in-place")) for word in rest):
        return "edit", program
    if program == "perl" and any(word.startswith("-") and "i" in word for word in rest[1:3]):
        return "edit", program
    if program == "git":
        return ("edit" if rest[1:2] == ["apply"] else "explore" if rest[1:2] in _GIT_LOOKS else "run"), program
    if program.startswith("python") and rest[1:3] in (["-m", "pytest"], ["-m", "json.tool"], ["-m", "unittest"]):
        return "check", program
    if program in ("make", "npm", "cargo", "go") and "test" in rest[1:3]:
        return "check", program
    return _PROGRAMS.get(program, "run"), program


_GIT_LOOKS: Final = (["status"], ["log"], ["diff"], ["show"], ["ls-files"], ["branch"])
