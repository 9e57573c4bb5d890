"""Golden picture of the asset graph, and `python -m tests.clawgym_dag.golden` to write it anew.

Look at the difference before committing it: keys, groups, what each asset reads, which checks guard it.
"""

from __future__ import annotations

import json
from pathlib import Path

from clawgym_dag.definitions import build_defs

GRAPH = Path(__file__).parent / "golden" / "asset_graph.json"


def render() -> str:
    """The asset graph as JSON, by asset key."""
    nodes = sorted(build_defs().resolve_asset_graph().asset_nodes, key=lambda node: node.key.to_user_string())
    graph = {
        node.key.to_user_string(): {
            "group": node.group_name,
            "reads": sorted(key.to_user_string() for key in node.parent_keys),
            "checks": sorted(key.name for key in node.check_keys),
        }
        for node in nodes
    }
    return json.dumps(graph, indent=1) + "\n"


if __name__ == "__main__":
    GRAPH.parent.mkdir(exist_ok=True)
    GRAPH.write_text(render())
