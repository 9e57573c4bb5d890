"""The engine against transformers itself: same tokens, same log probabilities, cached or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.training.conversations import corpus
from training.chat import Conversation
from training.server.cache import PrefixCache, shared
from training.server.engine import Engine, Generation, Sampling, Step

CONVERSATION = corpus(1)[0]
HEADS = [2, 4, 7]
"""Numbers of messages before each assistant turn."""


def prompt_of(engine: Engine, messages: int) -> list[int]:
    head = Conversation(CONVERSATION.messages[:messages], CONVERSATION.tools)
    return engine.encoder.encode(head, generation_prompt=True).input_ids


def run(engine: Engine, prompt: list[int], limit: int = 120, **sampling: float) -> tuple[Generation, list[Step]]:
    chosen = Sampling(**sampling)  # type: ignore[arg-type] # whole numbers among them
    generation = Generation(prompt, limit, chosen)
    return generation, list(engine.generate(generation))


def fresh(learned: Path) -> Engine:
    return Engine(learned, cache_tokens=0)


@pytest.mark.parametrize("messages", HEADS)
def test_greedy_is_what_transformers_generates(engine: Engine, learned: Path, messages: int) -> None:
    prompt = prompt_of(engine, messages)
    _, steps = run(engine, prompt)
    model = AutoModelForCausalLM.from_pretrained(str(learned))
    wanted = model.generate(torch.tensor([prompt]), max_new_tokens=120, do_sample=False)[0, len(prompt) :].tolist()
    assert [step.token for step in steps] == wanted
    assert wanted[-1] == engine.encoder.end_of_turn


def test_logprobs_are_those_of_one_forward_pass(engine: Engine, learned: Path) -> None:
    prompt = prompt_of(engine, 2)
    _, steps = run(engine, prompt, top_logprobs=3)
    model = AutoModelForCausalLM.from_pretrained(str(learned))
    ids = prompt + [step.token for step in steps]
    with torch.no_grad():
        logprobs = torch.log_softmax(model(torch.tensor([ids])).logits[0, len(prompt) - 1 : -1], dim=-1)
    for row, step in zip(logprobs, steps, strict=True):
        assert step.logprob == pytest.approx(float(row[step.token]), abs=1e-4)
        values, tokens = torch.topk(row, 3)
        assert [token for token, _ in step.top] == tokens.tolist()
        assert [value for _, value in step.top] == pytest.approx(values.tolist(), abs=1e-4)


def test_cached_and_uncached_agree(learned: Path) -> None:
    """Requests that extend each other: the same tokens and log probabilities, and only the new part is computed."""
    cached, plain = Engine(learned), fresh(learned)
    for number, messages in enumerate(HEADS):
        prompt = prompt_of(cached, messages)
        one, with_cache = run(cached, prompt)
        two, without = run(plain, prompt)
        assert [s.token for s in with_cache] == [s.token for s in without]
        assert [s.logprob for s in with_cache] == pytest.approx([s.logprob for s in without], abs=1e-4)
        assert two.cached_tokens == 0
        assert one.cached_tokens == 0 if number == 0 else one.cached_tokens > len(prompt) * 0.7
    again, repeated = run(cached, prompt_of(cached, HEADS[-1]))
    assert again.cached_tokens == len(prompt_of(cached, HEADS[-1])) - 1
    assert [s.token for s in repeated] == [s.token for s in without]


def test_a_branch_shares_the_beginning_only(learned: Path) -> None:
    cached, plain = Engine(learned), fresh(learned)
    run(cached, prompt_of(cached, 4))
    other = [*CONVERSATION.messages[:3], {"role": "tool", "tool_call_id": "call10", "content": "something else"}]
    prompt = cached.encoder.encode(Conversation(other, CONVERSATION.tools), generation_prompt=True).input_ids
    one, with_cache = run(cached, prompt, 20)
    _, without = run(plain, prompt, 20)
    assert 0 < one.cached_tokens < len(prompt) - 1
    assert [s.logprob for s in with_cache] == pytest.approx([s.logprob for s in without], abs=1e-4)
    _, back = run(cached, prompt_of(cached, 4))
    _, wanted = run(plain, prompt_of(cached, 4))
    assert [s.token for s in back] == [s.token for s in wanted]  # the first entry was not damaged


def test_prompts_longer_than_one_pass(learned: Path) -> None:
    engine = fresh(learned)
    prompt = (prompt_of(engine, 7) * 3)[:1800]
    _, steps = run(engine, prompt, 3)
    with torch.no_grad():
        logits = engine.model(torch.tensor([prompt])).logits[0, -1]
    assert steps[0].logprob == pytest.approx(float(torch.log_softmax(logits, -1).max()), abs=1e-3)


def test_the_seed_decides(engine: Engine) -> None:
    prompt = prompt_of(engine, 2)[:200]
    one, two, other = ([s.token for s in run(engine, prompt, 30, temperature=1.5, seed=seed)[1]] for seed in (1, 1, 2))
    assert one == two != other


@pytest.mark.parametrize("cut", [{}, {"top_k": 3}, {"top_p": 0.6}, {"temperature": 0.5}, {"top_p": 0.0}])
def test_samples_follow_the_distribution(engine: Engine, cut: dict[str, float]) -> None:
    from training.server.engine import _chooser

    logits = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0, -3.0])
    sampling = replace(Sampling(temperature=1.0, seed=3), **cut)  # type: ignore[arg-type]
    choose = _chooser(sampling, "cpu")
    counts = np.bincount([choose(logits).token for _ in range(6000)], minlength=6) / 6000
    chances = torch.softmax(logits / sampling.temperature, -1).numpy()
    if sampling.top_k:
        chances[sampling.top_k :] = 0
    before = np.cumsum(chances) - chances
    chances[before >= sampling.top_p] = 0
    chances[0] = max(chances[0], 1e-9)
    assert np.abs(counts - chances / chances.sum()).max() < 0.025
    step = choose(logits)  # its log probability is the model's own, before temperature and cuts
    assert step.logprob == pytest.approx(float(torch.log_softmax(logits, -1)[step.token]))


def test_limit_and_cancel(engine: Engine) -> None:
    prompt = prompt_of(engine, 2)
    generation, steps = run(engine, prompt, 5)
    assert (len(steps), generation.ended) == (5, "length")
    generation, steps = run(engine, prompt, 0)
    assert (steps, generation.ended) == ([], "length")
    calls = iter([False, False, True])
    cancelled = Generation(prompt, 50, Sampling(), lambda: next(calls))
    assert len(list(engine.generate(cancelled))) == 2 and cancelled.ended == "cancelled"
    generation = Generation(prompt, 50, Sampling())
    running = engine.generate(generation)
    next(running)
    running.close()
    assert generation.ended == "cancelled"


def _layers(tokens: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(torch.zeros(1, 1, tokens, 2), torch.zeros(1, 1, tokens, 2))]


def test_the_cache_is_bounded_and_forgets_the_unused() -> None:
    cache = PrefixCache(10)
    cache.keep([1, 2, 3, 4], _layers(4))
    cache.keep([5, 6, 7, 8], _layers(4))
    assert cache.find([1, 2, 3, 4, 5])[0] == 4
    cache.keep([9, 9, 9], _layers(3))
    assert cache.tokens == 7 and cache.find([5, 6, 7, 8, 9])[0] == 0  # used longest ago
    length, layers = cache.find([1, 2, 3, 9, 9])
    assert length == 3 and layers[0][0].shape[2] == 3
    cache.keep([1, 2, 3, 4, 5, 6], _layers(6))
    assert cache.tokens == 9  # what was its beginning went
    cache.keep(list(range(11)), _layers(11))
    assert cache.tokens == 9 and cache.find([1, 2])[0] == 1  # never all of a prompt
    assert PrefixCache(0).find([1, 2, 3]) == (0, ())


def test_shared() -> None:
    one, two = np.array([1, 2, 3]), np.array([1, 2, 4, 5])
    assert (shared(one, two), shared(one, one), shared(one, two[:0])) == (2, 3, 0)
