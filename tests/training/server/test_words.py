"""Text of tokens as they come: exact bytes, no half characters, stop strings wherever they fall."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from training.server.words import TextStream, TokenBytes
from training.tokenise import Encoder

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS)
def test_bytes_of_tokens_are_the_text(tokenizer: PreTrainedTokenizerFast, encoder: Encoder, text: str) -> None:
    words, stream = TokenBytes(tokenizer), TextStream()
    ids = encoder._plain.encode(text, add_special_tokens=False).ids
    assert b"".join(words.of(token) for token in ids) == text.encode()
    assert "".join(stream.feed(words.of(token)) for token in ids) + stream.feed(b"", final=True) == text


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 599), max_size=30))
def test_any_tokens_decode_as_the_tokenizer_does(
    tokenizer: PreTrainedTokenizerFast, encoder: Encoder, ids: list[int]
) -> None:
    """Bytes that are no characters included."""
    words, stream = TokenBytes(tokenizer), TextStream()
    plain = [token for token in ids if token not in tokenizer.added_tokens_decoder]
    text = "".join(stream.feed(words.of(token)) for token in plain) + stream.feed(b"", final=True)
    assert text == encoder.decode(plain)


def test_special_and_unknown_tokens(tokenizer: PreTrainedTokenizerFast) -> None:
    words = TokenBytes(tokenizer)
    assert words.of(tokenizer.get_vocab()["<tool_call>"]) == b"<tool_call>"
    assert words.of(len(tokenizer) + 5) == b""


@settings(max_examples=200, deadline=None)
@given(
    st.text("abX\n", max_size=30),
    st.lists(st.integers(1, 4), min_size=1),
    st.lists(st.text("abX\n", max_size=3), max_size=3),
)
def test_stop_strings_wherever_they_fall(text: str, cuts: list[int], stops: list[str]) -> None:
    stream = TextStream(stops)
    out, at, turn = "", 0, 0
    while at < len(text):
        step = cuts[turn % len(cuts)]
        out += stream.feed(text[at : at + step].encode())
        at, turn = at + step, turn + 1
    out += stream.feed(b"", final=True)
    found = [text.find(stop) for stop in stops if stop and stop in text]
    assert stream.stopped == bool(found)
    if not found:
        assert out == text
    else:
        assert text.startswith(out) and not any(stop in out for stop in stops if stop)
        assert any(text[len(out) :].startswith(stop) for stop in stops if stop)
