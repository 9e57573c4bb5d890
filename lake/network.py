"""Which addresses other machines can reach: nothing listens on those without a token.

Belongs here: that rule, for every server of the project. Does not belong here: any server.
"""

from __future__ import annotations

import ipaddress
from typing import Final

SHORTEST_TOKEN: Final = 16
"""Characters a token of a server that others can reach must have."""


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
