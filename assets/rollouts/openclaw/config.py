"""The configuration OpenClaw runs with, and its fingerprint.

Everything ambient (skills, plugins, memory, cron, updates, telemetry, discovery) is off, so that a rollout depends on
the task, the policy and these lines only. Does not belong here: where files lie (`command.py`), the sandbox (`cage`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lake.ids import Json, digest

ToolProfile = Literal["lean", "process"]

PROVIDER = "clawgym"
"""Name of the model provider in OpenClaw's configuration."""


@dataclass(frozen=True)
class ModelSettings:
    """How the model is described to OpenClaw."""

    model: str
    """Model id sent with each request."""
    context_window: int = 131072
    """Tokens."""
    max_tokens: int = 8192
    """Longest answer. Tokens."""
    vision: bool = False
    reasoning: bool = False


def template(tools: ToolProfile, model: ModelSettings) -> dict[str, Json]:
    """The configuration with `${base_url}` and `${api_key}` still open: what the fingerprint covers and the log keeps.

    Args:
        tools: `lean` denies the process tool; OpenClaw then adds no transient message behind the tool results and each
            request extends the one before. `process` offers it.
        model: the model's description.
    """
    allow = ["read", "write", "edit", "exec"]
    return {
        "models": {
            "mode": "replace",
            "catalogRefresh": {"enabled": False},
            "providers": {
                PROVIDER: {
                    "baseUrl": "${base_url}",
                    "apiKey": "${api_key}",
                    "api": "openai-completions",
                    "models": [
                        {
                            "id": model.model,
                            "name": model.model,
                            "reasoning": model.reasoning,
                            "input": ["text", "image"] if model.vision else ["text"],
                            "contextWindow": model.context_window,
                            "maxTokens": model.max_tokens,
                            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                        }
                    ],
                }
            },
        },
        "env": {"shellEnv": {"enabled": False}},
        "agents": {
            "defaults": {
                "model": {"primary": f"{PROVIDER}/{model.model}"},
                "skills": [],
                "skipBootstrap": True,
                "contextInjection": "never",
                "heartbeat": {"every": "0m"},
                "sandbox": {"mode": "off"},
                "thinkingDefault": "off",
                "userTimezone": "UTC",
                "timeoutSeconds": 3600,
            }
        },
        "tools": {
            "profile": "coding",
            "allow": allow if tools == "lean" else [*allow, "process"],
            **({"deny": ["process"]} if tools == "lean" else {}),
            "toolSearch": False,
            "codeMode": False,
            "exec": {"host": "gateway", "mode": "full", "notifyOnExit": False},
            "fs": {"workspaceOnly": True},
            "swarm": False,
            "updatePlan": False,
            "loopDetection": {"enabled": True},
        },
        "skills": {"load": {"watch": False}, "allowBundled": ["none"]},
        "plugins": {"enabled": False, "slots": {"memory": "none"}},
        "memory": {"search": {"enabled": False}},
        "cron": {"enabled": False},
        "update": {"checkOnStart": False, "auto": {"enabled": False}},
        "telemetry": {"enabled": False},
        "discovery": {"mdns": {"mode": "off"}},
        "diagnostics": {"enabled": False},
        "logging": {"level": "info", "consoleLevel": "warn"},
    }


def render(config: dict[str, Json], *, base_url: str, api_key: str) -> dict[str, Json]:
    """The template with the address of the model endpoint filled in."""
    provider = {**config["models"]["providers"][PROVIDER], "baseUrl": base_url, "apiKey": api_key}
    return {**config, "models": {**config["models"], "providers": {PROVIDER: provider}}}


def fingerprint(config: dict[str, Json], *, cage: str) -> str:
    """20 hex digits over the template without the model's name (the policy says that) and the kind of cage."""
    provider = config["models"]["providers"][PROVIDER]
    model = {k: v for k, v in provider["models"][0].items() if k not in ("id", "name")}
    bare = {
        **config,
        "models": {**config["models"], "providers": {PROVIDER: {**provider, "models": [model]}}},
        "agents": {"defaults": {k: v for k, v in config["agents"]["defaults"].items() if k != "model"}},
    }
    return digest("openclaw-config", bare, cage)
