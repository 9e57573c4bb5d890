"""The rule-based annotator: the twelve fields from keywords and front matter, without a model.

Belongs here: the rules and their version. It cannot be talked to: text in a skill is only ever matched. It errs on the
side of "not synthesizable". Does not belong here: reading folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from assets.skills.skill import Annotation, SkillSource

ANNOTATOR: Final = "rules:1"
CORE_LIMIT: Final = 2_000
"""Characters of the body kept as core content."""


def _word(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_AUTH: Final = (
    (_word(r"\b[A-Z][A-Z0-9]*_(API_)?(KEY|TOKEN|SECRET|PASSWORD)\b"), "reads a key or token from the environment"),
    (_word(r"\bapi[- ]keys?\b"), "needs an API key"),
    (_word(r"\b(oauth|sign[- ]?in|log[- ]?in to|auth login|authenticat(e|ed|ion))\b"), "needs a signed-in account"),
    (_word(r"\b(app password|access token|personal access token|bearer)\b"), "needs a token"),
)
_NON_TEXT: Final = (
    (_word(r"\b(images?|photos?|pictures?|screenshots?|gifs?|memes?)\b"), "works on images"),
    (
        _word(r"\b(audio|speech|voice|transcrib\w+|tts|podcasts?|music|playback|spotify|sonos|songs?)\b"),
        "works on sound",
    ),
    (_word(r"\b(videos?|camera|webcam|rtsp|youtube)\b"), "works on video"),
    (_word(r"\b(browser ui|macos ui|screen record\w*|menu bar|gui|desktop app)\b"), "drives a graphical interface"),
    (_word(r"\b(smart home|lights?|bluetooth|thermostat|pods?|speakers?)\b"), "controls devices"),
)
_RISK: Final = (
    (_word(r"\bsudo\b"), "asks for root rights"),
    (_word(r"\brm -rf?\b|\bdelet(e|es|ing)\b|\bwip(e|ing)\b"), "deletes data"),
    (_word(r"curl[^\n|]*\|\s*(ba|z)?sh"), "runs a script straight from the network"),
    (_word(r"\b(send|post|publish|tweet|reply)\w*\s+(an? |the )?(e-?mails?|messages?|posts?|tweets?|comments?)"),
     "speaks to other people in the user's name"),
    (_word(r"\b(password|secret|credential|private key)s?\b"), "handles secrets"),
    (_word(r"\b(firewall|sshd?|disk encryption|kill -9)\b"), "changes how the machine is protected"),
    (_word(r"\b(orders|purchases?|payments?|buy(ing)?)\b"), "can spend money"),
)  # fmt: skip
_FORMATS: Final = (
    (_word(r"\bjsonl\b"), "jsonl"), (_word(r"\bjson\b"), "json"), (_word(r"\bcsv\b"), "csv"),
    (_word(r"\bpdfs?\b"), "pdf"),
    (_word(r"\b(markdown|\.md)\b"), "markdown"), (_word(r"\bya?ml\b"), "yaml"), (_word(r"\bhtml\b"), "html"),
    (_word(r"\bsvg\b"), "svg"), (_word(r"\burls?\b"), "urls"), (_word(r"\blogs?\b"), "logs"),
)  # fmt: skip
_HEAD: Final = 1_200
"""Characters of the body that, with the description, say what a skill is about."""


def annotate(skill: SkillSource) -> Annotation:
    """Annotate a readable skill by rule."""
    about = f"{skill.name}. {skill.description}\n{skill.body[:_HEAD]}"
    whole = f"{skill.description}\n{skill.body}"
    environment = _environment(skill.meta)
    auth = _reasons(_AUTH, whole)
    if any(re.search(r"(KEY|TOKEN|SECRET|PASSWORD)", name) for name in environment):
        auth = sorted({*auth, "reads a key or token from the environment"})
    non_text = _reasons(_NON_TEXT, f"{skill.name}. {skill.description}")
    risks = _reasons(_RISK, whole)
    return Annotation(
        language=_language(whole),
        summary=_summary(skill),
        auth_required=bool(auth),
        auth_details=tuple(auth),
        input_format=_formats(about) or "text request",
        output_format=_formats(skill.body[_HEAD:]) or "text answer",
        has_risk=bool(risks),
        risk_reasons=tuple(risks),
        required_env=tuple(environment),
        text_only_compatible=not non_text,
        non_text_reasons=tuple(non_text),
        core_content=_core(skill.body),
    )


def _reasons(rules: Iterable[tuple[re.Pattern[str], str]], text: str) -> list[str]:
    return sorted({reason for pattern, reason in rules if pattern.search(text)})


def _formats(text: str) -> str:
    return ", ".join(name for pattern, name in _FORMATS if pattern.search(text))


def _language(text: str) -> str:
    letters = [c for c in text if c.isalpha()]
    if not letters:
        return "other"
    han = sum("\u4e00" <= c <= "\u9fff" for c in letters) / len(letters)
    latin = sum(c.isascii() for c in letters) / len(letters)
    if han > 0.3:
        return "chinese" if latin < 0.5 else "multilingual"
    if han > 0.05:
        return "multilingual"
    return "english" if latin > 0.9 else "other"


def _summary(skill: SkillSource) -> str:
    text = skill.description or next((line for line in skill.body.splitlines() if line.strip(" #")), skill.name)
    first = re.split(r"(?<=[.!?。])\s", " ".join(text.split()).strip(" #"), maxsplit=1)[0]
    return first[:300] or skill.name


def _environment(meta: dict[str, Any]) -> list[str]:
    """Programs and variables that the front matter requires (OpenClaw's `metadata.openclaw.requires`)."""
    found: set[str] = set()
    inner = meta.get("metadata")
    openclaw = inner.get("openclaw", inner) if isinstance(inner, dict) else None
    if isinstance(openclaw, dict):
        requires = openclaw.get("requires")
        if isinstance(requires, dict):
            for key in ("bins", "anyBins", "env"):
                values = requires.get(key)
                found.update(str(v) for v in values if v) if isinstance(values, list) else None
        if openclaw.get("primaryEnv"):
            found.add(str(openclaw["primaryEnv"]))
        found.update(f"os:{name}" for name in openclaw.get("os") or () if isinstance(name, str))
    return sorted(found)


def _core(body: str) -> str:
    """The body without code blocks, links and blank runs: what a task writer needs to know of it."""
    text = re.sub(r"```.*?```", "", body, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    return text[:CORE_LIMIT]
