"""The policy server: an OpenAI-compatible endpoint on loopback for one transformers checkpoint.

Belongs here: serving a checkpoint faithfully (exact ids, exact usage). Does not belong here: agents, scores, training.
"""

from __future__ import annotations

from training.server.serve import Served, ServerConfig, serve_forever, serving

__all__ = ["Served", "ServerConfig", "serve_forever", "serving"]
