"""What is found out about an imported task from its text: protocol of the verifier, outputs asked for, known defects.

Belongs here: static readings, each a guess that its docstring owns up to. Does not belong here: anything that needs a
run of the verifier (`audits`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from typing import Final

from assets.tasks.exchange.contract import RefusedError

_SUFFIXES: Final = (
    "csv|tsv|json|jsonl|ndjson|md|markdown|txt|text|yaml|yml|xml|html|htm|py|sh|log|ini|cfg|conf|toml|sql|js|ts|css|svg"
    "|eml|ics|vcf|rst|tex|diff|patch|env|properties|bib|srt|vtt|rb|go|rs|java|ps1|bat|ipynb|xlsx|docx|pdf|png|jpg|zip"
)
_NAMED: Final = re.compile(rf"(?<![\w./@:<>{{}}$*-])((?:[\w.-]+/)*[\w.-]*\w\.(?:{_SUFFIXES}))(?![\w/@*{{}}<>-]|\.\w)")
_URL: Final = re.compile(r"https?://\S+")
_PACKAGES: Final = re.compile(r"\b(apt-get|apt|pip3?|uvx?|npm|npx|curl|wget|cargo|conda)\b")


def protocol_of(check: bytes) -> str:
    """`grade_floats` where the module defines `grade` with two parameters or more, else `reward_booleans`.

    Raises:
        RefusedError: it is no Python.
    """
    try:
        tree = ast.parse(check)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise RefusedError(f"the verifier is no Python: {error}") from error
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "grade":
            arguments = node.args
            if len(arguments.posonlyargs) + len(arguments.args) >= 2 or arguments.vararg is not None:
                return "grade_floats"
    return "reward_booleans"


def outputs_named(instruction: str, inputs: Collection[str]) -> tuple[str, ...]:
    """Paths of files that an instruction names and that are no inputs, in order of the text; a guess.

    A bare name that ends an input's or an earlier path is that file again. Folders to be filled are left out: what goes
    into them is not known.
    """
    text = _URL.sub(" ", instruction)
    known, found = [*inputs], []
    for name in dict.fromkeys(match[1].removeprefix("./") for match in _NAMED.finditer(text)):
        longer = [path for path in known if path == name or path.endswith("/" + name)]
        if not longer and ".." not in name and not name.startswith("input/"):
            known.append(name)
            found.append(name)
    whole = {path.rsplit("/", 1)[-1] for path in found if "/" in path}
    return tuple(path for path in found if "/" in path or path not in whole)


def reads_transcript(check: bytes) -> bool:
    """Whether `grade` uses its first parameter; our verifiers get an empty transcript."""
    for node in ast.walk(ast.parse(check)):
        if isinstance(node, ast.FunctionDef) and node.name == "grade" and node.args.args:
            name = node.args.args[0].arg
            return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))
    return False


def needs_packages(script: bytes) -> str | None:
    """The first command of a verifier script that fetches something, where there is no network; null where none."""
    found = _PACKAGES.search(re.sub(r"#.*", "", script.decode("utf-8", "replace")))
    return found[1] if found else None


def defect(name: str, detail: str) -> Mapping[str, str]:
    """One known defect as `extra` carries it."""
    return {"name": name, "detail": detail[:300]}
