"""Text of others and numbers in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dashboards import plain


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60))
def test_escaped_text_is_one_plain_paragraph_of_markdown(text: str) -> None:
    shown = " ".join(text.split())
    tokens = MarkdownIt("commonmark").parse(f"x{plain.escape(text)}x")
    (inline,) = [token for token in tokens if token.type == "inline"]
    assert {child.type for child in inline.children or []} <= {"text", "text_special"}
    assert "".join(child.content for child in inline.children or []) == f"x{shown}x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"path":"a.txt","content":"one\\ntwo"}', "path: a.txt\ncontent:\none\ntwo"),
        ('{"limit":3,"deep":{"a":[1]}}', 'limit: 3\ndeep: {"a": [1]}'),
        ("{}", "(no arguments)"),
        ('{"cut":"of', '{"cut":"of'),
        ("[1]", "[1]"),
    ],
)
def test_arguments_are_laid_out(text: str, shown: str) -> None:
    assert plain.arguments(text) == shown


def test_numbers_carry_what_they_are_of() -> None:
    assert plain.share(3, 4) == "75 % of 4"
    assert plain.share(0, 0) == "– (n = 0)"
    assert plain.number(None) == "–"
    assert plain.number(12345.0) == "12,345"
    assert plain.interval({"mean": 0.5, "low": None, "high": None}) == "0.500"
    assert plain.interval({"mean": 0.5, "low": 0.25, "high": 0.75}, 2) == "0.50 (0.25 to 0.75)"
    assert plain.size(1536) == "1.5 KiB"
