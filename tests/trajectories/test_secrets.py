"""Planted canaries of every kind are found, and what only looks like one is left alone."""

from __future__ import annotations

import json

import pytest

from lake.masking import KINDS, Masker

CANARIES = {
    "private_key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nq0fVt\n-----END RSA PRIVATE KEY-----",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlLWNhbmFyeQ",
    "anthropic_key": "sk-ant-api03-CanaryCanary0123456789",
    "openai_key": "sk-proj-Canary0123456789abcdefgh",
    "aws_access_key": "AKIACANARY0123456789",
    "google_api_key": "AIzaCanary0123456789abcdefghijklmnopqrs",
    "github_token": "ghp_Canary0123456789abcdefghijklmnopqrst",
    "gitlab_token": "glpat-Canary0123456789ab",
    "slack_token": "xoxb-1234567890-Canary0123",
    "stripe_key": "sk_live_Canary0123456789abcd",
    "huggingface_token": "hf_Canary0123456789abcdefghijklmnop",
    "npm_token": "npm_Canary0123456789abcdefghijklmnopqrst",
    "telegram_bot_token": "1234567890:AAcanary0123456789abcdefghijklmnopq",
    "discord_bot_token": "MCanary0123456789abcdefg.Canary.canary0123456789abcdefghijk",
    "bearer_token": "Canary0123456789.abc",
    "basic_auth": "Y2FuYXJ5OnNlY3JldA==",
    "cookie": "session=canary0123456789; theme=dark12345",
    "url_password": "canarypass1",
    "assigned_secret": "canary-value-1",
    "iban": "DE89 3704 0044 0532 0130 00",
    "card": "4111 1111 1111 1111",
    "email": "canary.bird@acme-mines.com",
    "phone": "+1 415 867 5309",
    "phone_local": "(415) 867-5309",
}
AROUND = {
    "discord_bot_token": "discord: {}",
    "bearer_token": "Authorization: Bearer {}",
    "basic_auth": "Authorization: Basic {}",
    "cookie": "Set-Cookie: {}",
    "url_password": "postgres://svc:{}@db.acme-mines.com/x",
    "assigned_secret": "REFRESH_TOKEN={}",
}


def planted(kind: str) -> str:
    return "before " + AROUND.get(kind, "{}").format(CANARIES[kind]) + " after"


def test_there_is_a_canary_for_every_kind_and_at_least_twelve() -> None:
    assert {kind.name for kind in KINDS} == set(CANARIES) and len(CANARIES) >= 12


@pytest.mark.parametrize("kind", sorted(CANARIES))
def test_canaries_are_masked_in_text_and_in_json(kind: str) -> None:
    masked, kinds = Masker().mask_with_kinds(planted(kind))
    assert CANARIES[kind] not in masked and f"[masked:{kind}:" in masked and kinds == (kind,)
    assert masked.startswith("before ") and masked.endswith(" after")
    value = {"command": planted(kind), "nested": [{"x": planted(kind)}], "n": 3}
    text = Masker().mask_json(value)
    assert CANARIES[kind] not in text and json.loads(text)["n"] == 3
    quoted = json.dumps({"output": json.dumps({"line": planted(kind)})})
    masked_text = Masker().mask_json_text(quoted)
    assert json.loads(json.loads(masked_text)["output"])["line"].startswith("before ")
    if "\n" not in CANARIES[kind]:
        assert CANARIES[kind] not in masked_text


def test_one_secret_has_one_mark_everywhere() -> None:
    one, two = Masker(), Masker()
    text = f"{planted('openai_key')} {planted('email')}"
    assert one.mask(text) == two.mask(text) == one.mask(text)
    assert one.mask(planted("email")).count("[masked:email:1]") == 1
    assert one.mask("x@acme-mines.com or canary.bird@acme-mines.com") == "[masked:email:2] or [masked:email:1]"
    assert one.count == 3


@pytest.mark.parametrize(
    "text",
    [
        "keyboard: qwerty-layout-us",
        "the monkey = banana-split-123",
        "total_tokens: 1234567890, max_tokens=4096000",
        '{"usage": {"totalTokens": 1796095386175}}',
        "token = get_token()",
        "token = response.token_value",
        "password: str",
        "2026-12-01T03:23:06.261Z 1796095386175",
        "a@example.com, b@mail.example.org, c@host.test",
        "git@github.com:openclaw/openclaw.git",
        "+1 555 555 0123",
        '{"account": 4111111111111111, "list": [4111111111111111]}',
        "@@ -1,4 +1,5 @@\n+12 lines (415) of code",
        "see https://docs.openclaw.ai/a:b",
        "Exception: (404) 200-1",
        "secrets: the quick brown fox",
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert Masker().mask_with_kinds(text) == (text, ())


def test_fields_named_like_secrets_are_masked_by_their_name() -> None:
    text = Masker().mask_json({"password": "hunter22", "db": {"api_key": "plainword99"}, "path": "a.md"})
    assert json.loads(text) == {
        "password": "[masked:assigned_secret:1]", "db": {"api_key": "[masked:assigned_secret:2]"}, "path": "a.md",
    }  # fmt: skip


def test_masking_twice_changes_nothing_more() -> None:
    for kind in CANARIES:
        once = Masker().mask(planted(kind))
        assert Masker().mask(once) == once
