"""Tables of the stage `trajectories`: what the cleaned logs say happened, step by step, and what was left out."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import STRINGS, TIMESTAMP, Column, Table

GROUP = Column(
    "group_id",
    pa.string(),
    "Group it was cleaned with: an attempt's logs, or a session of others",
    nullable=True,
    role="bookkeeping",
)

TRAJECTORIES = Table(
    name="trajectories",
    stage="trajectories",
    kind="projection",
    doc="One cleaned branch of one session.",
    grain="one trajectory",
    key=("trajectory_id",),
    sort_by=("session_id", "trajectory_id"),
    columns=(
        Column("trajectory_id", pa.string(), "Digest of (session source, branch leaf), 20 hex digits"),
        Column("session_id", pa.string(), "What the agent logged"),
        Column(
            "parent_session",
            pa.string(),
            "Session it was forked or spawned from, as its own log states it; more in the view session_lineage",
            nullable=True,
        ),
        Column("source_id", pa.string(), "Raw source of the transcript", references="raw_records.source_id"),
        Column(
            "attempt_id",
            pa.string(),
            "Attempt; null for logs of others",
            nullable=True,
            references="attempts.attempt_id",
        ),
        Column("task_id", pa.string(), "Task", nullable=True, references="tasks.task_id"),
        Column("policy", pa.string(), "Policy", nullable=True),
        Column("branch", pa.int32(), "0 for the branch the session ended on"),
        Column(
            "class",
            pa.string(),
            "normal | incomplete | compacted | aborted | failed | truncated | unanswered | empty | heartbeat_only"
            " | copy: how it ended",
        ),
        Column("model", pa.string(), "Model of most assistant turns", nullable=True),
        Column("harness", pa.string(), "Agent software and version, as its log states them", nullable=True),
        Column("turns", pa.int32(), "Assistant turns"),
        Column("user_turns", pa.int32(), "User messages"),
        Column("tool_calls", pa.int32(), "Tool calls"),
        Column("tool_types", pa.int32(), "Distinct tools"),
        Column("tool_errors", pa.int32(), "Tool results that are errors"),
        Column(
            "input_tokens",
            pa.int64(),
            "Provider-stated, summed over calls; null when unknown",
            nullable=True,
            unit="tokens",
        ),
        Column("output_tokens", pa.int64(), "Provider-stated; null when unknown", nullable=True, unit="tokens"),
        Column(
            "text_tokens",
            pa.int64(),
            "Tokens of the linear conversation by characters / 4, labelled an estimate",
            unit="tokens",
        ),
        Column("started_at", TIMESTAMP, "First record", nullable=True),
        Column("ended_at", TIMESTAMP, "Last record", nullable=True),
        Column(
            "messages",
            pa.large_string(),
            "The linear conversation: JSON list of OpenAI chat messages, masked; an answer of weight 0 is context only",
        ),
        Column("tools", pa.large_string(), "JSON list of tool schemas served, null when not recorded", nullable=True),
        Column(
            "context_differs",
            pa.float64(),
            "Share of assistant turns whose served context differs from the linear prefix; null without proxy log",
            nullable=True,
            unit="ratio",
        ),
        Column("rules", STRINGS, "Cleaning rules that touched it, name@version, sorted"),
        Column("secrets_masked", pa.int32(), "Values masked in the derived text"),
        GROUP,
    ),
)

STEPS = Table(
    name="steps",
    stage="trajectories",
    kind="projection",
    doc="Messages of a trajectory in order.",
    grain="one message",
    key=("trajectory_id", "step"),
    columns=(
        Column("trajectory_id", pa.string(), "Trajectory", references="trajectories.trajectory_id"),
        Column("step", pa.int32(), "Position from 0"),
        Column("role", pa.string(), "system | user | assistant | tool"),
        Column("text", pa.large_string(), "Visible text, masked"),
        Column("thinking", pa.large_string(), "Reasoning text, masked", nullable=True),
        Column("call_count", pa.int32(), "Tool calls in it"),
        Column("tool_call_id", pa.string(), "For tool messages: the call answered", nullable=True),
        Column("is_error", pa.bool_(), "For tool messages", nullable=True),
        Column("stop_reason", pa.string(), "For assistant messages", nullable=True),
        Column("model", pa.string(), "For assistant messages", nullable=True),
        Column(
            "response_id",
            pa.string(),
            "For assistant messages: id of the completion, joins the proxy record",
            nullable=True,
        ),
        Column("input_tokens", pa.int64(), "Provider-stated", nullable=True, unit="tokens"),
        Column("output_tokens", pa.int64(), "Provider-stated", nullable=True, unit="tokens"),
        Column("usage", pa.string(), "Provider-native usage JSON, untouched", nullable=True),
        Column("in_messages", pa.bool_(), "Whether it stands in the messages (partial turns do not)", nullable=True),
        Column("copied_context", pa.bool_(), "Already a step of an earlier trajectory; not counted", nullable=True),
        Column("ts", TIMESTAMP, "Time the record states", nullable=True),
        Column("record_key", pa.string(), "Raw record it came from", references="raw_records.record_key"),
        Column(
            "proxy_record_key",
            pa.string(),
            "Proxy record of the call",
            nullable=True,
            references="raw_records.record_key",
        ),
        GROUP,
    ),
)

TOOL_CALLS = Table(
    name="tool_calls",
    stage="trajectories",
    kind="projection",
    doc="Tool calls paired with their results by id and position.",
    grain="one tool call",
    key=("trajectory_id", "step", "call_index"),
    columns=(
        Column("trajectory_id", pa.string(), "Trajectory", references="trajectories.trajectory_id"),
        Column("step", pa.int32(), "Step of the call"),
        Column("call_index", pa.int32(), "Position in its message"),
        Column("tool_call_id", pa.string(), "Id in the transcript"),
        Column("tool", pa.string(), "Tool name"),
        Column("arguments", pa.large_string(), "JSON text of the arguments, masked"),
        Column(
            "phase",
            pa.string(),
            "explore | read | write | edit | run | check | other: what the call does in the workflow",
        ),
        Column("target", pa.string(), "File path or first program of the command", nullable=True),
        Column("result_step", pa.int32(), "Step of the result; null when unanswered", nullable=True),
        Column("result_chars", pa.int64(), "Length of the result text", nullable=True, unit="characters"),
        Column("is_error", pa.bool_(), "Whether the result is an error", nullable=True),
        Column("error_source", pa.string(), "is_error | details_status | exit_code | text", nullable=True),
        Column("exit_code", pa.int32(), "For exec", nullable=True),
        Column("duration_ms", pa.int64(), "As stated by the tool", nullable=True, unit="ms", role="bookkeeping"),
        Column("record_key", pa.string(), "Raw record of the call", references="raw_records.record_key"),
        Column(
            "result_record_key",
            pa.string(),
            "Raw record of the result",
            nullable=True,
            references="raw_records.record_key",
        ),
        GROUP,
    ),
)

DIAGNOSTICS = Table(
    name="diagnostics",
    stage="trajectories",
    kind="projection",
    doc="Every repair, drop, move and oddity of cleaning, with its rule and record.",
    grain="one finding",
    key=("source_id", "version", "position", "rule", "ordinal"),
    columns=(
        Column("source_id", pa.string(), "Raw source", references="raw_records.source_id"),
        Column("version", pa.int32(), "Source version"),
        Column("position", pa.int64(), "Record position (raw_records.position)"),
        Column("line", pa.int64(), "1-based record number in its source"),
        Column("rule", pa.string(), "Rule name"),
        Column("rule_version", pa.int32(), "Rule version"),
        Column("ordinal", pa.int32(), "Counts findings of one rule on one record"),
        Column("severity", pa.string(), "info | warning | error"),
        Column("action", pa.string(), "kept | dropped | repaired | moved | masked | quarantined | noted"),
        Column("session_id", pa.string(), "Session", nullable=True),
        Column("attempt_id", pa.string(), "Attempt", nullable=True, references="attempts.attempt_id"),
        Column(
            "trajectory_id", pa.string(), "Trajectory concerned", nullable=True, references="trajectories.trajectory_id"
        ),
        Column("detail", pa.string(), "What was seen, masked"),
        Column("record_key", pa.string(), "Raw record", references="raw_records.record_key"),
        GROUP,
    ),
)

LEDGER = Table(
    name="ledger",
    stage="trajectories",
    kind="projection",
    doc="Where every raw record went. Per source: raw records = kept + dropped + quarantined.",
    grain="one source version x disposition x rule",
    key=("source_id", "version", "disposition", "rule"),
    columns=(
        Column("source_id", pa.string(), "Raw source", references="raw_records.source_id"),
        Column("version", pa.int32(), "Source version"),
        Column("source_kind", pa.string(), "Kind of source"),
        Column("session_id", pa.string(), "Session", nullable=True),
        Column("attempt_id", pa.string(), "Attempt", nullable=True, references="attempts.attempt_id"),
        Column("disposition", pa.string(), "kept | dropped | quarantined"),
        Column("rule", pa.string(), "For kept: what it became (step, metadata, evidence …); else rule or reason"),
        Column("records", pa.int64(), "Raw records"),
        GROUP,
    ),
)

SAMPLES = Table(
    name="samples",
    stage="trajectories",
    kind="projection",
    doc="`as_seen` product: one sample per model call, with the exact request the model was served.",
    grain="one model call",
    key=("trajectory_id", "call"),
    columns=(
        Column("trajectory_id", pa.string(), "Trajectory", references="trajectories.trajectory_id"),
        Column("call", pa.int32(), "Call number from 0 in time order"),
        Column("step", pa.int32(), "Step of the assistant message it made; null when none survived", nullable=True),
        Column("kind", pa.string(), "main | retry | side | compaction | subagent"),
        Column("parent_call", pa.int32(), "Call whose context this one extends (prefix tree)", nullable=True),
        Column("shared_messages", pa.int32(), "Messages shared with the parent call", nullable=True),
        Column("transient_messages", pa.int32(), "Messages at the end that the next request does not hold"),
        Column("prompt_messages", pa.large_string(), "JSON list of the messages served, masked"),
        Column("completion", pa.large_string(), "JSON of the assistant message generated, masked", nullable=True),
        Column("prompt_token_ids", pa.list_(pa.int32()), "Exact ids, when the server gave them", nullable=True),
        Column("completion_token_ids", pa.list_(pa.int32()), "Exact ids, when the server gave them", nullable=True),
        Column("logprobs", pa.list_(pa.float32()), "Per completion token, when given", nullable=True),
        Column("finish_reason", pa.string(), "As the server stated", nullable=True),
        Column("status", pa.int32(), "HTTP status of the upstream try", nullable=True),
        Column("response_id", pa.string(), "Completion id", nullable=True),
        Column("record_key", pa.string(), "Raw proxy record", references="raw_records.record_key"),
        GROUP,
    ),
)

TRAJECTORY_GROUPS = Table(
    name="trajectory_groups",
    stage="trajectories",
    kind="projection",
    doc="What is cleaned together, and from which state of its logs: tells a build which groups to clean anew.",
    grain="one attempt with its logs, or one session of others",
    key=("group_id",),
    columns=(
        Column("group_id", pa.string(), "Digest of the attempt id, or of the session's id, 20 hex digits"),
        Column("place", pa.string(), "Order among groups: the lower one holds a copied answer first"),
        Column("inputs", pa.string(), "Digest of its source versions and its attempt; empty while it is rewritten"),
        Column("row_counts", pa.list_(pa.int64()), "Its rows in each of the stage's tables"),
        Column("row_sums", STRINGS, "Sums of the hashes of these rows, hex, in the same order"),
    ),
)

ANSWER_CLAIMS = Table(
    name="answer_claims",
    stage="trajectories",
    kind="projection",
    doc="Answers that can be told from the same words said another time: groups that share some hold copied history.",
    grain="one answer of one group",
    key=("holder", "identity"),
    columns=(
        Column("holder", pa.string(), "First in its group: a source, or a trajectory in a document of many"),
        Column("identity", pa.string(), "Digest of what was said and its response id, time or history, 32 hex digits"),
        GROUP,
    ),
)

CLEANING_RULES = Table(
    name="cleaning_rules",
    stage="trajectories",
    kind="projection",
    doc="Every cleaning rule there is: what a name in `diagnostics`, `ledger` and `trajectories.rules` means.",
    grain="one rule",
    key=("rule",),
    columns=(
        Column("rule", pa.string(), "Rule name"),
        Column("rule_version", pa.int32(), "Raised whenever it would treat the same record otherwise"),
        Column("action", pa.string(), "kept | dropped | repaired | moved | masked | quarantined | noted"),
        Column("severity", pa.string(), "info | warning | error"),
        Column("meaning", pa.string(), "One line"),
    ),
)

TABLES = (
    TRAJECTORIES,
    STEPS,
    TOOL_CALLS,
    DIAGNOSTICS,
    LEDGER,
    SAMPLES,
    CLEANING_RULES,
    TRAJECTORY_GROUPS,
    ANSWER_CLAIMS,
)
