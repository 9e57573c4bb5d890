"""The panels of one run: messages, files, verdict, cleaning, model calls, where it comes from.

Belongs here: one function a panel. Does not belong here: choosing the run (`screens/trajectories.py`).
"""

from __future__ import annotations

import difflib
import json

import streamlit as st

from dashboards.connection import Row, explanation, rows
from dashboards.contents import text_of
from dashboards.filters import page_key, page_number, pages
from dashboards.plain import arguments, block, escape, facts, language_of, number, say_masked, size
from lake.masking import Masker

STEPS_A_PAGE = 20
CHARACTERS = 4_000
"""Characters of a text shown at first."""
MANY_CHARACTERS = 400_000
"""Characters shown when asked for whole texts."""
CHANGE_COLORS = {"added": "green", "modified": "orange", "removed": "red", "unchanged": "gray"}
ROLE_COLORS = {"system": "gray", "user": "violet", "assistant": "blue", "tool": "gray"}


def messages(run: Row) -> None:
    """The conversation, a page at a time, each call with its result under it."""
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    whole = right.toggle("Whole texts", help=f"Otherwise cut at {CHARACTERS:,} characters.", key="whole")
    limit = MANY_CHARACTERS if whole else CHARACTERS
    identity = run["trajectory_id"]
    turning = page_key("steps", identity)
    shown_page = page_number(turning)
    steps = rows(
        "trajectories/steps",
        trajectory_id=identity,
        limit=STEPS_A_PAGE,
        offset=(shown_page - 1) * STEPS_A_PAGE,
        chars=limit,
    )
    if not steps:
        st.caption("No messages.")
        return
    total = steps[0]["total"]
    with left:
        pages(total, turning, STEPS_A_PAGE)
        st.caption(
            f"Messages {steps[0]['step']} to {steps[-1]['step']} · n = {total:,} (results stand under their calls)"
        )
    calls = rows(
        "trajectories/calls", trajectory_id=identity, first=steps[0]["step"], last=steps[-1]["step"], chars=limit
    )
    for step in steps:
        _message(step, [call for call in calls if call["step"] == step["step"]])


def _message(step: Row, calls: list[Row]) -> None:
    with st.container(border=True):
        parts = [f":{ROLE_COLORS.get(step['role'], 'gray')}-badge[{escape(step['role'])}]", f"**{step['step']}**"]
        if step["since_previous_ms"] is not None:
            parts.append(f"+{step['since_previous_ms'] / 1000:.2f} s")
        if step["input_tokens"] is not None:
            parts.append(f"{step['input_tokens']:,} tokens in, {number(step['output_tokens'])} out")
        if step["stop_reason"]:
            parts.append(f"stopped: {escape(step['stop_reason'])}")
        if step["is_error"]:
            parts.append(":red-badge[error]")
        if step["role"] == "tool":
            parts.append("result without a call")
        st.markdown(" · ".join(parts))
        if step["thinking"]:
            with st.expander("Reasoning"):
                block(step["thinking"], whole=step["thinking_chars"])
        if step["text"]:
            block(step["text"], whole=step["text_chars"])
        for call in calls:
            _call(call)


def _call(call: Row) -> None:
    outcome = ":gray-badge[no result]"
    if call["is_error"]:
        outcome = f":red-badge[failed: {escape(call['error_source'] or 'error')}]"
    elif call["is_error"] is False:
        outcome = ":green-badge[ok]"
    parts = [f"**{escape(call['tool'])}**", escape(call["phase"]), escape(call["target"] or "no target"), outcome]
    if call["exit_code"] is not None:
        parts.append(f"exit {call['exit_code']}")
    if call["duration_ms"] is not None:
        parts.append(f"{call['duration_ms']:,} ms")
    st.markdown(" · ".join(parts))
    left, right = st.columns(2)
    with left:
        cut = call["arguments_chars"] > len(call["arguments"])
        block(arguments(call["arguments"]), whole=call["arguments_chars"] if cut else None)
    with right:
        if call["result"] is None:
            st.caption("No result was recorded.")
        else:
            block(call["result"] or "(empty)", whole=call["result_chars"])


def files(run: Row) -> None:
    """The final workspace with its differences from the start."""
    found = rows("trajectories/files", attempt_id=run["attempt_id"]) if run["attempt_id"] else []
    if not found:
        st.caption("No final workspace: the run is not one of ours, or it never came to an end that leaves one.")
        return
    counts = {change: sum(row["change"] == change for row in found) for change in CHANGE_COLORS}
    st.markdown(" ".join(f":{color}-badge[{counts[change]} {change}]" for change, color in CHANGE_COLORS.items()))
    st.dataframe(
        [
            {
                "path": row["path"],
                "change": row["change"],
                "format": row["format"],
                "before": size(row["size_before"]),
                "after": size(row["size_after"]) if row["change"] != "removed" else "–",
                "note": row["note"],
            }
            for row in found
        ],
        hide_index=True,
    )
    chosen = st.selectbox("Look at", range(len(found)), format_func=lambda at: found[at]["path"], key="file")
    _file(found[chosen])


def _file(row: Row) -> None:
    masker = Masker()
    before, after = (_text(row[name], masker) for name in ("sha256_before", "sha256_after"))
    if row["change"] == "modified" and before is not None and after is not None:
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
        block("\n".join(lines) or "(differs only in its last line end, or in what is masked)", language="diff")
        say_masked(masker.count)
        return
    text = before if row["change"] == "removed" else after
    if text is None:
        st.caption("Not a text file, over the limit, or its content is not in the lake.")
        return
    block(text or "(empty)", language=language_of(row["path"]))
    say_masked(masker.count)


def _text(sha256: str | None, masker: Masker) -> str | None:
    """A file's text, masked; null when it is no text or not there. Long ones are cut and say so."""
    found = text_of(sha256, masker) if sha256 else None
    if found is None:
        return None
    cut = f"\n… cut; the file has {found.whole:,} bytes"
    return found.text + cut if found.cut else found.text


def verdict(run: Row) -> None:
    """The verdicts of the attempt, the latest with its checks."""
    found = rows("trajectories/checks", attempt_id=run["attempt_id"]) if run["attempt_id"] else []
    if not found:
        st.caption("Not graded.")
        return
    latest = found[0]
    left, right = st.columns(2)
    with left:
        checks = json.loads(latest["checks"])
        st.subheader(f"Checks (n = {len(checks)})")
        st.dataframe(
            [
                {"": "passed" if value >= 1 else "failed" if value <= 0 else "partly", "check": name, "value": value}
                for name, value in sorted(checks.items(), key=lambda item: item[1])
            ],
            hide_index=True,
            column_config={"value": st.column_config.ProgressColumn(min_value=0, max_value=1, format="%.2f")},
        )
    with right:
        st.subheader("Latest verdict")
        facts(
            {
                "status": latest["status"],
                "code score": number(latest["score_code"], 4),
                "rubric score": number(latest["score_rubric"], 4),
                "score": number(latest["score"], 4),
                "original wrapper": number(latest["wrapper_score"], 4),
                "verifier": latest["verifier_version"],
                "judge": latest["judge_version"],
                "graded": latest["graded_at"],
            }
        )
    if latest["detail"]:
        st.caption("What the verifier said:")
        block(latest["detail"])
    if len(found) > 1:
        st.subheader(f"History (n = {len(found)})")
        st.dataframe(
            [
                {key: row[key] for key in ("graded_at", "status", "score_code", "verifier_version", "judge_version")}
                for row in found
            ],
            hide_index=True,
        )


def cleaning(run: Row) -> None:
    """What cleaning found and where each raw record of the session went."""
    common = {"source_id": run["source_id"]}
    found = rows("trajectories/cleaning", trajectory_id=run["trajectory_id"], limit=500, **common)
    ledger = rows("trajectories/ledger", attempt_id=run["attempt_id"], **common)
    left, right = st.columns(2)
    with left:
        st.subheader(f"Findings (n = {len(found)})")
        st.dataframe(
            [{key: row[key] for key in ("line", "rule", "severity", "action", "detail")} for row in found],
            hide_index=True,
        )
        st.caption(f"Rules that touched it: {escape(', '.join(run['rules'] or []) or 'none')}.")
    with right:
        total = sum(row["records"] for row in ledger)
        st.subheader(f"Raw records (n = {total:,})")
        st.dataframe(
            [{key: row[key] for key in ("source_kind", "disposition", "rule", "records")} for row in ledger],
            hide_index=True,
        )


def model_calls(run: Row) -> None:
    """The calls as training samples."""
    found = rows("trajectories/model_calls", trajectory_id=run["trajectory_id"])
    if not found:
        st.caption("No model calls were recorded by the proxy.")
        return
    st.caption(f"n = {len(found):,} calls. Token ids are there where the server gave them.")
    st.dataframe(found, hide_index=True)


def origins(run: Row) -> None:
    """The walk from the training row, or else the trajectory, to the bytes."""
    identity = run["example_id"] or run["trajectory_id"]
    st.caption("The same on the command line:")
    st.code(f"clawgym explain {identity}", language="bash")
    block(explanation(identity), tall=1200)


PANELS = {
    "Messages": messages,
    "Files": files,
    "Verdict": verdict,
    "Cleaning": cleaning,
    "Model calls": model_calls,
    "Origins": origins,
}
