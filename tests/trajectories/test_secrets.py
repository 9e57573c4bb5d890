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
    "slack_webhook": "T00CANARY/B00CANARY/Canary0123456789abcdefgh",
    "discord_webhook": "Canary0123456789abcdefghijklmnopqrstuvwxyz",
    "sendgrid_key": "SG.Canary0123456789abcdef.Canary0123456789abcdefghijklmnopqrstuvwxyz0",
    "pypi_token": "pypi-AgEIcHlwaS5vcmcCanary0123456789abcdef",
    "digitalocean_token": "dop_v1_" + "0123456789abcdef" * 4,
    "shopify_token": "shpat_" + "0123456789abcdef" * 2,
    "google_oauth_token": "ya29.a0Canary0123456789abcdef",
    "groq_key": "gsk_Canary0123456789abcdefghijklmnopqrstuvwx",
    "xai_key": "xai-Canary0123456789abcdefghijklmnopqrstuvwxyz0123",
    "webhook_secret": "whsec_Canary0123456789abcdef",
    "age_key": "AGE-SECRET-KEY-1" + "QPZRY9X8GF" * 6,
    "azure_storage_key": "Canary0123456789" * 5 + "abcdef==",
    "aws_signature": "0123456789abcdef" * 4,
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
    "slack_webhook": "https://hooks.slack.com/services/{}",
    "discord_webhook": "https://discord.com/api/webhooks/123456789012345678/{}",
    "azure_storage_key": "AccountName=x;AccountKey={}",
    "aws_signature": "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={}",
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
        "tokenize=whitespace1, tokenizer: cl100k_base1",
        "use --password to give one; --token TOKEN takes yours; --token-limit 4096",
        "a password policy: minimum length 12345",
        '{"total_tokens": 123456789, "max_tokens": 4096, "totalTokens": 1234567}',
        '{"tokens": ["encyclopedia", "dictionary"], "token": {"count": "1234567"}}',
        "PWD=/home/ada/project1 OLDPWD=/home/ada1",
        "PASS: test_login_works1",
        "pwd=$(pwd) and first_pass=true",
        "<token>user</token> <total_tokens>123456</total_tokens>",
        "x-key: short",
        "secretary: miss.jones1234",
        "see http://localhost:3000/a and bot123456789",
        '{"cardinality": 4111111111111111, "password_age": 12345678}',
        "password='get_password(user)'",
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert Masker().mask_with_kinds(text) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        "https://api.telegram.org/bot123456789:AA-canary-abcdefghijklmnopqrstuvwx/getMe",
        '{"clientSecret":"a-canary-0123456789"}',
        '{"accessToken": "a-canary-0123456789"}',
        "refreshToken=a-canary-0123456789",
        "const botToken = 'a-canary-0123456789'",
        "//npm.example.org/:_authToken=a-canary-0123456789",
        "PGPASSWORD=a-canary-x psql",
        "DB_PASS=a-canary-x",
        '{"db_pass": "a-canary-x"}',
        "pwd=a-canary-x",
        "SECRET_KEY='a-canary-insecure(1234)'",
        "redis://:a-canary-x@cache:6379",
        "postgres://u:a-can:ary-a@canary-x@db/x",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\na-canary\n-----END PGP PRIVATE KEY BLOCK-----",
        "authorization: token a-canary-0123456789",
        "x-auth-token: a-canary-letters-only",
        "login --password a-canary-1",
        "login --token 'a-canary-x'",
        "<password>a-canary-x</password>",
        '{"token":{"value":"a-canary-x"}}',
        '{"access_tokens":["a-canary-1","a-canary-2"]}',
        '{\\\\\\"password\\\\\\":\\\\\\"a-canary-x\\\\\\"}',
        "xapp-1-A0123-123456-a-canary-0123456789",
    ],
)
def test_no_spelling_of_a_covered_kind_is_missed(text: str) -> None:
    once = Masker().mask(text)
    assert "canary" not in once and "[masked:" in once
    assert Masker().mask(once) == once
    assert "canary" not in Masker().mask_json({"output": text})


@pytest.mark.parametrize(
    "text", ['{"password":12345678}', '{"a": {"card":4111111111111111}}', '{"db_password": 12345678, "n": 1}']
)
def test_named_numbers_are_masked_and_json_stays_json(text: str) -> None:
    for masked in (Masker().mask(text), Masker().mask_json_text(text), Masker().mask_json({"x": text})):
        assert json.loads(masked) and "[masked:" in masked and "1234567" not in masked and "41111" not in masked
    assert Masker().mask("password=12345678 password: 87654321") == (
        "password=[masked:assigned_secret:1] password: [masked:assigned_secret:2]"
    )


def test_secrets_inside_a_named_field_and_in_keys_are_masked() -> None:
    value = {
        "token": {"value": "a-canary-x"}, "access_tokens": ["a-canary-1", "a-canary-2"], "password": 12345678,
        CANARIES["anthropic_key"]: 1, "usage": {"total_tokens": 12345678},
    }  # fmt: skip
    text = Masker().mask_json(value)
    assert "canary" not in text.lower() and json.loads(text)["usage"] == {"total_tokens": 12345678}
    assert json.loads(text)["password"].startswith("[masked:") and len(json.loads(text)["access_tokens"]) == 2


def test_fields_named_like_secrets_are_masked_by_their_name() -> None:
    text = Masker().mask_json({"password": "hunter22", "db": {"api_key": "plainword99"}, "path": "a.md"})
    assert json.loads(text) == {
        "password": "[masked:assigned_secret:1]", "db": {"api_key": "[masked:assigned_secret:2]"}, "path": "a.md",
    }  # fmt: skip


def test_masking_twice_changes_nothing_more() -> None:
    for kind in CANARIES:
        once = Masker().mask(planted(kind))
        assert Masker().mask(once) == once
