"""Secrets in derived text become typed, stable placeholders: `[masked:<kind>:<mark>]`. Raw is never touched.

The mark of a long random secret is the start of its sha256, so the same one is the same everywhere. What can be guessed
(mail address, phone, card, IBAN, password) is numbered inside its session instead: a digest of it would give it away.
Placeholders hold no character that JSON escapes; of the numbers outside strings only those named password or card go.
Belongs here: what a secret looks like, for whoever derives or shows text. Does not belong here: what is derived.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from lake.ids import Json, dumps, sha256_hex


@dataclass(frozen=True)
class Kind:
    """One kind of secret."""

    name: str
    markers: tuple[str, ...]
    """Lower-case texts, one of which is in every text that holds such a secret."""
    pattern: re.Pattern[str]
    """Group `s` is what is masked; the whole match where there is no such group. A bare JSON number is group `n`, and
    the placeholder is put between the quotes of its name, group `e`."""
    guessable: bool = False
    accept: Callable[[str], bool] = lambda _: True
    """A last look at the candidate."""


def _kind(
    name: str,
    markers: str,
    pattern: str,
    *,
    guessable: bool = False,
    accept: Callable[[str], bool] = lambda _: True,
    flags: int = 0,
) -> Kind:
    return Kind(name, tuple(markers.split()), re.compile(pattern, flags), guessable, accept)


def _luhn(text: str) -> bool:
    digits = [int(c) for c in text if c.isdigit()]
    if not 15 <= len(digits) <= 19 or len(set(digits)) == 1 or digits[0] not in (2, 3, 4, 5, 6):
        return False
    doubled = [d if i % 2 == 0 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def _iban(text: str) -> bool:
    packed = text.replace(" ", "")
    if not 15 <= len(packed) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in packed[4:] + packed[:4])) % 97 == 1


_RESERVED: Final = re.compile(
    r"@(?:[\w-]+\.)*(?:example\.(?:com|org|net)|(?:[\w-]+\.)?(?:example|test|invalid|localhost))\Z", re.IGNORECASE
)


def _real_mail(text: str) -> bool:
    """Not of a domain reserved for examples (RFC 2606), and not the user part of a git remote."""
    return not _RESERVED.search(text) and not text.startswith("git@")


def _real_phone(text: str) -> bool:
    """Enough digits, and not of the range kept for fiction (555-01xx)."""
    digits = re.sub(r"\D", "", text)
    return 9 <= len(digits) <= 15 and digits[-7:-2] != "55501"


def _secret_value(text: str) -> bool:
    """Not a placeholder, a variable, a call, a type or an example."""
    if text.isdigit() or text.startswith(("[masked:", "$", "<", "{", "os.", "process.", "env.")):
        return False
    if text.endswith(("(", ")")) and _CALL.fullmatch(text):
        return False
    return text.lower() not in _NO_SECRETS and len(set(text)) > 2


_NO_SECRETS: Final = frozenset({
    "null", "none", "true", "false", "undefined", "string", "str", "secret", "token",
    "password", "redacted", "changeme", "your_api_key", "required", "optional", "dummy", "example", "placeholder",
})  # fmt: skip

_CALL: Final = re.compile(r"[A-Za-z_][\w.]*\((?:[A-Za-z_., '\"]*\))?")

_BARE: Final = r"[^\s'\",;{}()\[\]<>\\]"
"""A character of a value without quotes."""
_QUOTE: Final = r"\\{0,15}['\"]"
"""A quote, also inside JSON text that is inside JSON text."""
_LISTED: Final = r"(?=[^\s'\"\\]{0,400}\d)[^\s'\"\\]{8,400}"
"""A secret in a list; a word is none, as the tokens of a text are words."""
_PREFIX: Final = (
    r"_{0,2}(?:[A-Za-z0-9]{1,40}[_-]){0,6}"
    r"(?-i:[a-z0-9]{1,20}(?:[A-Z][a-z0-9]{1,20}){0,3}?(?=[A-Z])|[A-Z0-9]{1,12}(?=PASS))?"
)
"""What may stand before the word in a name: `db_`, `client` of clientSecret, `PG` of PGPASSWORD."""

KINDS: Final = (
    _kind(
        "private_key", "private key",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?"
        r"(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----|\Z)", flags=re.DOTALL,
    ),
    _kind("jwt", "eyj", r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    _kind("anthropic_key", "sk-ant-", r"(?<![A-Za-z0-9])sk-ant-[\w-]{16,}"),
    _kind("openai_key", "sk-", r"(?<![A-Za-z0-9])sk-(?!ant-)[A-Za-z0-9][\w-]{18,}"),
    _kind("aws_access_key", "akia asia", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _kind("google_api_key", "aiza", r"\bAIza[\w-]{35}"),
    _kind(
        "github_token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,})",
    ),
    _kind("gitlab_token", "glpat-", r"\bglpat-[\w-]{16,}"),
    _kind("slack_token", "xox xapp-", r"\b(?:xox[abeprs]|xapp)-[A-Za-z0-9-]{10,}"),
    _kind("slack_webhook", "hooks.slack.com", r"hooks\.slack\.com/\w{1,20}/(?P<s>[\w/-]{20,})"),
    _kind("discord_webhook", "/api/webhooks/", r"/api/webhooks/\d{10,24}/(?P<s>[\w-]{30,})"),
    _kind("sendgrid_key", "sg.", r"\bSG\.[\w-]{16,32}\.[\w-]{30,64}"),
    _kind("pypi_token", "pypi-ag", r"\bpypi-Ag[\w-]{30,}"),
    _kind("digitalocean_token", "_v1_", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    _kind("shopify_token", "shpat_ shpca_ shppa_ shpss_", r"\bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    _kind("google_oauth_token", "ya29.", r"\bya29\.[\w-]{20,}"),
    _kind("groq_key", "gsk_", r"\bgsk_[A-Za-z0-9]{32,}"),
    _kind("xai_key", "xai-", r"\bxai-[A-Za-z0-9]{40,}"),
    _kind("webhook_secret", "whsec_", r"\bwhsec_[A-Za-z0-9+/]{20,}=*"),
    _kind("age_key", "age-secret-key-1", r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,}", flags=re.IGNORECASE),
    _kind("azure_storage_key", "accountkey=", r"\bAccountKey=(?P<s>[A-Za-z0-9+/]{40,}={0,2})", flags=re.IGNORECASE),
    _kind("aws_signature", "x-amz-signature=", r"\bX-Amz-Signature=(?P<s>[0-9a-f]{64})", flags=re.IGNORECASE),
    _kind("stripe_key", "k_live_ k_test_", r"\b[spr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _kind("huggingface_token", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    _kind("npm_token", "npm_", r"\bnpm_[A-Za-z0-9]{36}"),
    _kind("telegram_bot_token", ":aa", r"(?:\b|(?<=bot))\d{8,10}:AA[\w-]{32,40}"),
    _kind(
        "discord_bot_token", "discord bot",
        r"\b[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,40}\b", accept=lambda t: t.count(".") == 2,
    ),
    _kind("bearer_token", "bearer", r"\bbearer\s+(?P<s>[A-Za-z0-9._~+/-]{12,}=*)", flags=re.IGNORECASE),
    _kind(
        "bearer_token", "authorization",
        rf"\bauthorization(?:{_QUOTE})?\s*[:=]\s*(?:{_QUOTE})?(?:token|bot|api-?key)\s+(?P<s>[\w.~+/-]{{12,}}=*)",
        flags=re.IGNORECASE,
    ),
    _kind(
        "basic_auth", "authorization",
        r"\bauthorization['\"]?\s*[:=]\s*['\"]?basic\s+(?P<s>[A-Za-z0-9+/]{8,}=*)", flags=re.IGNORECASE,
    ),
    _kind(
        "cookie", "cookie",
        r"\b(?:set-)?cookie['\"]?\s*:\s*['\"]?(?P<s>[\w.-]+=[^\s;'\"]{8,}(?:;\s*[\w.-]+=[^\s;'\"]+)*)",
        flags=re.IGNORECASE,
    ),
    _kind(
        "url_password", "://",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"]{0,64}:(?P<s>[^\s/'\"]{3,128})@", guessable=True, flags=re.IGNORECASE,
    ),
    _kind(
        "assigned_secret", "passw passphrase secret token api_key apikey api-key access_key accesskey access-key"
        " private_key privatekey private-key credential",
        rf"(?<![A-Za-z0-9_])(?<!\[masked:){_PREFIX}"
        r"(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
        rf"(?:[_-](?:key|id|value|access[_-]key))?(?:{_QUOTE})?"
        r"(?:\s{0,3}(?::|=(?!=))\s{0,3}\\{0,15}(?P<q>['\"])(?P<a>(?:(?!\\{0,15}(?P=q))[^\n]){6,400})"
        rf"|=(?P<b>{_BARE}{{6,400}}+)(?!\()|\s{{0,3}}[:=]\s{{0,3}}(?P<c>(?={_BARE}{{0,400}}\d){_BARE}{{8,400}}+)(?!\())",
        guessable=True, accept=_secret_value, flags=re.IGNORECASE,
    ),
    _kind(
        "assigned_secret", "_pass pwd",  # not PWD=/home/ada, the folder a shell is in, nor `PASS: a test`
        rf"(?:(?<=[a-z0-9]_)pass|(?<![a-z0-9])pwd)(?:=|(?:{_QUOTE})\s?[:=]\s?)(?:{_QUOTE})?"
        rf"(?![/~.]|[a-z]:)(?P<s>{_BARE}{{6,400}}+)(?!\()",
        guessable=True, accept=_secret_value, flags=re.IGNORECASE,
    ),
    _kind(
        "assigned_secret", "-token -secret -key",  # a header's value may be letters only
        rf"(?<![\w-])x-(?:[a-z]{{1,20}}-){{0,3}}(?:token|secret|key)(?:{_QUOTE})?\s?:\s?(?:{_QUOTE})?"
        rf"(?P<s>{_BARE}{{16,400}}+)(?!\()",
        guessable=True, accept=_secret_value, flags=re.IGNORECASE,
    ),
    _kind(
        "assigned_secret", "-pass -token -secret -api-key",  # an option and its value
        r"(?<![\w-])--(?:[a-z0-9]{1,20}-){0,3}(?:password|passwd|pass|passphrase|token|secret|api-key)[ \t]{1,3}"
        rf"(?:(?P<q>['\"])(?P<a>[^'\"\n]{{6,400}})(?P=q)|(?P<b>(?!-)(?={_BARE}{{0,400}}\d){_BARE}{{6,400}}+)(?!\())",
        guessable=True, accept=_secret_value, flags=re.IGNORECASE,
    ),
    _kind(
        "assigned_secret", "password> passwd> token> secret> api_key> apikey>",
        r"<(?P<t>[\w:.-]{0,30}(?:password|passwd|token|secret|api_?key))>(?P<s>[^<>\s]{6,400})</(?P=t)>",
        guessable=True, accept=_secret_value, flags=re.IGNORECASE,
    ),
    _kind(
        "assigned_secret", "token passw secret api_key apikey credential",  # {"token": {"value": …}}, {"tokens": […]}
        rf"(?:token|passw(?:or)?d|secret|api[_-]?key|credential)s?{_QUOTE}\s{{0,3}}:\s{{0,9}}"
        rf"(?:\{{\s{{0,9}}{_QUOTE}(?:value|key|secret|token){_QUOTE}\s{{0,3}}:\s{{0,3}}{_QUOTE}"
        r"(?P<a>[^\s'\"\\]{6,400})"
        rf"|\[\s{{0,9}}{_QUOTE}(?P<b>{_LISTED}(?:{_QUOTE}\s{{0,3}},\s{{0,9}}{_QUOTE}{_LISTED}){{0,99}}){_QUOTE}\s{{0,9}}\])",
        guessable=True, accept=_secret_value, flags=re.IGNORECASE,
    ),
    _kind(
        "assigned_secret", "passw",  # a password of digits
        r"passw(?:or)?d"
        r"(?:(?P<e>\\{0,15}['\"])\s{0,3}:\s{0,3}(?P<n>[1-9]\d{5,19})(?=\s{0,9}[,}\]])"
        rf"|(?:{_QUOTE})?\s?[:=]\s?(?:{_QUOTE})?(?P<s>\d{{6,20}})(?![\w.]))",
        guessable=True, accept=lambda t: len(set(t)) > 2, flags=re.IGNORECASE,
    ),
    _kind(
        "card", "card",
        r"card(?:[_-]?(?:number|no))?(?P<e>\\{0,15}['\"])\s{0,3}:\s{0,3}(?P<n>\d{15,19})(?=\s{0,9}[,}\]])",
        guessable=True, accept=_luhn, flags=re.IGNORECASE,
    ),
    _kind("iban", "", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b", guessable=True, accept=_iban),
    _kind(
        "card", "",
        r"(?<![\w.])(?<!\": )(?<!\":)(?<!\[)\d(?:[ -]?\d){14,18}(?![\w.]\d)", guessable=True, accept=_luhn,
    ),
    _kind(
        "email", "@",
        r"\b[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b", guessable=True, accept=_real_mail,
    ),
    _kind(
        "phone", "+", r"\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}(?!\d)",
        guessable=True, accept=_real_phone,
    ),
    _kind("phone_local", "(", r"\(\d{3}\) ?\d{3}[ .-]\d{4}(?!\d)", guessable=True, accept=_real_phone),
)  # fmt: skip
"""Kinds in the order they are looked for: an earlier one wins."""

_DIGITS: Final = str.maketrans("123456789", "000000000")
_LONG_NUMBERS: Final = ("0000000000", "0000 0000 00", "0000-0000-00", "0000 000000 0")
"""What a text with a card number or an IBAN holds once every digit is 0."""
_SHORT_NUMBER: Final = "0000"
_MARKERS: Final = tuple(sorted({marker for kind in KINDS for marker in kind.markers}))
_NUMBERS: Final = "long number"
"""Stands for a marker of the kinds that have none but digits."""


class Masker:
    """Masks the texts of one session."""

    def __init__(self) -> None:
        self._marks: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self._done: dict[str, tuple[str, tuple[str, ...]]] = {}

    @property
    def count(self) -> int:
        """Distinct secrets masked so far."""
        return len(self._marks)

    def mask(self, text: str) -> str:
        """The text with its secrets replaced."""
        return self.mask_with_kinds(text)[0]

    def mask_with_kinds(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The masked text, and the kind of each secret replaced."""
        if len(text) < _SHORTEST:
            return text, ()
        known = self._done.get(text)
        if known is None:
            known = self._done[text] = self._mask(text)
        return known

    def mask_name(self, name: str) -> str:
        """A name or id with its secrets replaced; digits of an id are no card or phone number."""
        masked, kinds = self.mask_with_kinds(name) if len(name) >= _SHORTEST else (name, ())
        return name if _IDS.issuperset(kinds) else masked

    def mask_value(self, value: Json) -> Json:
        """A JSON value with the secrets in its strings replaced; so in its keys, and in numbers by their name."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, dict):
            return {self.mask(key): self._field(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.mask_value(item) for item in value]
        return value

    def mask_json(self, value: Json) -> str:
        """JSON text of a value with the secrets in its strings replaced."""
        text = dumps(value)
        return text if self.mask(text) == text else dumps(self.mask_value(value))

    def mask_json_text(self, text: str) -> str:
        """JSON text with the secrets in its strings replaced; other text as a text."""
        if self.mask(text) == text:
            return text
        try:
            return dumps(self.mask_value(msgspec.json.decode(text)))
        except (ValueError, RecursionError):
            return self.mask(text)

    def _field(self, key: str, value: Json) -> Json:
        """A field whose name says that its value is a secret, though the value alone does not."""
        if isinstance(value, str):
            return self._named(value, f"{key}='{value}'")
        if isinstance(value, int) and value >= _SHORTEST_NUMBER:
            kinds = self._mask(dumps({key: value}))[1]
            return self._placeholder(kinds[0], str(value), guessable=True) if kinds else value
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return [self._named(item, dumps({key: [item]})) for item in value]
        if isinstance(value, dict) and len(value) == 1 and all(isinstance(item, str) for item in value.values()):
            ((name, item),) = value.items()
            if name.lower() in _VALUE_NAMES:
                return {name: self._named(item, dumps({key: {name: item}}))}
        return self.mask_value(value)

    def _named(self, value: str, probe: str) -> str:
        """A text that is a secret when, as `probe` states it, its name says so."""
        masked = self.mask(value)
        if masked == value and value and "\n" not in value and Masker().mask(probe) != probe:
            return self._placeholder("assigned_secret", value, guessable=True)
        return masked

    def _mask(self, text: str) -> tuple[str, tuple[str, ...]]:
        lowered = text.lower()
        zeros = text.translate(_DIGITS)
        hits = {marker for marker in _MARKERS if marker in lowered}
        if _SHORT_NUMBER in zeros and any(mark in zeros for mark in _LONG_NUMBERS):
            hits.add(_NUMBERS)
        kinds: list[str] = []
        for kind in KINDS if hits else ():
            if hits.isdisjoint(kind.markers or (_NUMBERS,)):
                continue

            def replace(match: re.Match[str], kind: Kind = kind) -> str:
                group = next(
                    (name for name in ("s", "a", "b", "c", "n") if name in match.re.groupindex and match[name]), None
                )
                secret = match[group] if group else match[0]
                if "[masked:" in match[0] or not kind.accept(secret):
                    return match[0]
                kinds.append(kind.name)
                start, end = match.span(group) if group else match.span()
                whole = match.string
                mark = self._placeholder(kind.name, secret, guessable=kind.guessable)
                if group == "n":
                    mark = f"{match['e']}{mark}{match['e']}"
                return whole[match.start() : start] + mark + whole[end : match.end()]

            text = kind.pattern.sub(replace, text)
        return text, tuple(kinds)

    def _placeholder(self, kind: str, secret: str, *, guessable: bool) -> str:
        known = self._marks.get((kind, secret))
        if known is None:
            self._numbers[kind] += 1
            mark = str(self._numbers[kind]) if guessable else sha256_hex(secret)[:8]
            known = self._marks[(kind, secret)] = f"[masked:{kind}:{mark}]"
        return known


_IDS: Final = frozenset({"card", "iban", "phone", "phone_local"})
"""Kinds that an id made of digits looks like by chance."""
_VALUE_NAMES: Final = frozenset({"value", "key", "secret", "token"})
_SHORTEST_NUMBER: Final = 100_000
_SHORTEST: Final = 8
"""Shorter texts hold no secret of these kinds. Characters."""
