"""Models: a tiny Qwen3 from a configuration and a seed, or a checkpoint folder.

Belongs here: making, loading and measuring models. Does not belong here: training them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from training.folder import publish

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class ModelConfig:
    """Shape of a tiny Qwen3-architecture model."""

    hidden_size: int = 64
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    max_length: int = 16384
    """Positions."""
    seed: int = 1


def init_model(tokenizer: PreTrainedTokenizerFast, config: ModelConfig) -> PreTrainedModel:
    """A `Qwen3ForCausalLM` with random weights; the same seed gives the same weights."""
    import torch
    from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model: PreTrainedModel = Qwen3ForCausalLM(
            Qwen3Config(
                vocab_size=len(tokenizer),
                hidden_size=config.hidden_size,
                intermediate_size=3 * config.hidden_size,
                num_hidden_layers=config.layers,
                num_attention_heads=config.heads,
                num_key_value_heads=config.kv_heads,
                head_dim=config.hidden_size // config.heads,
                max_position_embeddings=config.max_length,
                tie_word_embeddings=True,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
                bos_token_id=None,
            )
        )
    model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
        eos_token_id=[tokenizer.eos_token_id, tokenizer.pad_token_id], pad_token_id=tokenizer.pad_token_id
    )
    model.train(False)
    return model


def load_model(folder: Path, *, dtype: str = "float32") -> PreTrainedModel:
    """The model of a checkpoint folder, on the CPU, in evaluation mode."""
    import torch
    from transformers import AutoModelForCausalLM

    model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
        str(folder), local_files_only=True, dtype=getattr(torch, dtype)
    )
    model.train(False)
    return model


def save_init(target: Path, tokenizer: PreTrainedTokenizerFast, config: ModelConfig) -> None:
    """Make a tiny model and publish it with its tokenizer as an ordinary transformers folder."""
    model = init_model(tokenizer, config)

    def fill(folder: Path) -> None:
        model.save_pretrained(str(folder))
        tokenizer.save_pretrained(str(folder))

    publish(target, fill)


def architecture_of(model: PreTrainedModel) -> str:
    """Class name as transformers writes it into config.json."""
    return type(model).__name__


def parameters_of(model: PreTrainedModel) -> int:
    """Number of parameters, tied ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


@contextmanager
def cpu_threads(threads: int | None) -> Iterator[None]:
    """Run with a number of CPU threads, then restore it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
