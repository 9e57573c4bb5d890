"""What one upstream try used: tokens as the endpoint counted them, or an estimate that says that it is one.

Belongs here: reading usage of the proxy's tries. Does not belong here: adding up (`assets/llm/account.py` while a batch
runs, `../spend.py` from the log).
"""

from __future__ import annotations

from collections.abc import Mapping

from assets.llm.usage import Usage, estimated, stated_usage
from assets.rollouts.proxy.answer import Answer, read_answer
from lake.ids import Json

NOT_SENT = "the request was not sent"
"""End of the error of a try that was held back."""
_NO_CONNECTION = ("ConnectError", "ConnectTimeout", "LocalProtocolError", "UnsupportedProtocol")


def usage_of(
    stated: Mapping[str, Json] | None, *, status: int | None, error: str | None, request_bytes: int, response: bytes
) -> Usage:
    """What a try used.

    An endpoint that refuses (a status other than 200) or is never reached takes nothing. Where one answered, in part
    too, and counted nothing, or took the request and was not waited for, the tokens are estimated from the sizes.

    Args:
        stated: `usage` of the answer; all zeros is what endpoints send that do not count.
    """
    if status is None:
        unsent = error is None or error.endswith(NOT_SENT) or error.startswith(_NO_CONNECTION)
        return Usage() if unsent else _estimate(request_bytes, b"")
    if status != 200:
        return Usage()
    return stated_usage(stated) or _estimate(request_bytes, response)


def _estimate(request_bytes: int, response: bytes) -> Usage:
    return estimated(request_bytes, _said(response))


def _said(response: bytes) -> str:
    if not response:
        return ""
    answer: Answer = read_answer(response, streamed=response.lstrip()[:5] == b"data:")
    return answer.text + "".join(call["name"] + call["arguments"] for call in answer.tool_calls.values())
