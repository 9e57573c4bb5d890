"""The model: prompts to tokens with their log probabilities.

Belongs here: prefill, decoding, sampling. Does not belong here: text (`words.py`), HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from training.model import load_model
from training.server.cache import Layers, PrefixCache
from training.tokenise import Encoder
from training.tokenizer import load_tokenizer

if TYPE_CHECKING:
    import torch

_PREFILL = 1024
"""Tokens per forward pass over a prompt: bounds the memory of attention, and cancelling waits no longer than one."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen."""

    temperature: float = 0.0
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int = 0
    """0 is all."""
    seed: int = 0
    top_logprobs: int = 0


@dataclass(frozen=True)
class Step:
    """One token."""

    token: int
    logprob: float
    """Natural log of its probability by the model itself, before temperature and cuts."""
    top: tuple[tuple[int, float], ...] = ()
    """The likeliest tokens with theirs, as many as asked for."""


@dataclass
class Generation:
    """What one request makes of the model while it runs."""

    prompt: Sequence[int]
    limit: int
    sampling: Sampling
    cancelled: Callable[[], bool] = lambda: False
    cached_tokens: int = 0
    """Tokens of the prompt that did not have to be computed."""
    tokens: list[int] = field(default_factory=list)
    ended: Literal["stop", "length", "cancelled"] | None = None


class Engine:
    """A checkpoint ready to generate. Several threads may generate at once."""

    def __init__(self, folder: Path, *, device: str = "cpu", cache_tokens: int = 65536) -> None:
        """Args:
        folder: a transformers checkpoint folder.
        device: where the model runs.
        cache_tokens: most tokens whose keys and values are kept.
        """
        self.encoder = Encoder(load_tokenizer(folder))
        self.model = load_model(folder)
        self.model.to(device)  # type: ignore[arg-type] # torch's own annotation of `to` does not know str
        self.device = device
        self.max_positions = int(self.model.config.max_position_embeddings)
        layers = getattr(self.model.config, "layer_types", None) or []
        whole = all(kind == "full_attention" for kind in layers)
        self.cache = PrefixCache(cache_tokens if whole else 0)  # a sliding window forgets what a prefix needs
        stops = self.model.generation_config.eos_token_id if self.model.generation_config else None
        self.stop_tokens = {self.encoder.end_of_turn, *([stops] if isinstance(stops, int) else stops or [])}

    def generate(self, generation: Generation) -> Generator[Step]:
        """Generate until a stop token (which is given too), the limit, or until cancelled; `ended` says which."""
        import torch
        from transformers import DynamicCache

        found, layers = self.cache.find(generation.prompt)
        generation.cached_tokens = found
        kv = DynamicCache(ddp_cache_data=layers) if found else DynamicCache(config=self.model.config)
        chooser = _chooser(generation.sampling, self.device)
        fed = list(generation.prompt[:found])
        waiting = list(generation.prompt[found:])
        generation.ended = "length" if generation.limit < 1 else None
        try:
            while generation.ended is None:
                logits: torch.Tensor | None = None
                while waiting:
                    if generation.cancelled():
                        generation.ended = "cancelled"
                        return
                    chunk, waiting = waiting[:_PREFILL], waiting[_PREFILL:]
                    with torch.inference_mode():
                        ids = torch.tensor([chunk], device=self.device)
                        logits = self.model(input_ids=ids, cache=kv, use_cache=True, logits_to_keep=1).logits[0, -1]
                    fed += chunk
                assert logits is not None
                step = chooser(logits.float())
                generation.tokens.append(step.token)
                waiting = [step.token]
                if step.token in self.stop_tokens:
                    generation.ended = "stop"
                elif len(generation.tokens) >= generation.limit:
                    generation.ended = "length"
                yield step
        finally:
            generation.ended = generation.ended or "cancelled"
            if len(fed) > found:
                self.cache.keep(fed, _layers(kv))


def _layers(kv: object) -> Layers:
    return [(keys, values) for keys, values, *_ in kv]  # type: ignore[attr-defined] # iterates over its layers


def _chooser(sampling: Sampling, device: str) -> Callable[[torch.Tensor], Step]:
    import torch

    generator = torch.Generator(device=device)
    generator.manual_seed(sampling.seed)

    def choose(logits: torch.Tensor) -> Step:
        logprobs = torch.log_softmax(logits, dim=-1)
        token = int(torch.argmax(logits)) if sampling.temperature <= 0 else draw(logits)
        count = min(sampling.top_logprobs, logits.shape[-1])
        values, tokens = torch.topk(logprobs, count) if count else (logprobs[:0], logprobs[:0])
        top = tuple(zip((int(t) for t in tokens), (float(v) for v in values), strict=True))
        return Step(token, float(logprobs[token]), top)

    def draw(logits: torch.Tensor) -> int:
        chances, tokens = torch.sort(torch.softmax(logits / sampling.temperature, dim=-1), descending=True, stable=True)
        if sampling.top_k > 0:
            chances[sampling.top_k :] = 0
        # A token stays while what comes before it does not fill top_p yet; the likeliest always stays.
        chances[torch.cumsum(chances, dim=-1) - chances >= sampling.top_p * chances.sum()] = 0
        if float(chances.sum()) == 0:
            return int(tokens[0])
        return int(tokens[int(torch.multinomial(chances, 1, generator=generator))])

    return choose
