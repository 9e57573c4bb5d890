"""The profile: every setting of a run, as pydantic models, a section per stage.

Belongs here: names, defaults and limits of settings. The files are `clawgym_dag/profiles/*.toml`; nothing here reads
them. Does not belong here: what a setting does (that is said in the stage).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A section: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PersonaImport(Section):
    """A file of personas of others."""

    path: str
    """JSON Lines, each an object with `persona`."""
    licence: str = Field(min_length=1)
    """Of the texts; recorded with each."""
    start: int = Field(default=0, ge=0)
    """First line that is taken."""
    limit: int = Field(default=1000, ge=1)
    """Lines that are looked at."""


class PersonasSection(Section):
    """Built-in persona generator, and personas of others."""

    count: int = Field(default=24, ge=1)
    seed: int = 1
    imports: tuple[PersonaImport, ...] = ()


class SkillsSection(Section):
    """Where skills are read from."""

    sources: tuple[str, ...] = ("openclaw-bundled",)
    """`openclaw-bundled` or folders holding skill folders."""


class TasksSection(Section):
    """Procedural families."""

    families: tuple[str, ...] = ()
    """Names; all families where empty."""
    seeds_per_family: int = Field(default=4, ge=1)
    first_seed: int = 0


class SynthesisSection(Section):
    """Tasks written by the generator of `[llm]`; none without one."""

    persona_tasks: int = Field(default=0, ge=0)
    """Candidates of the persona route over the life of the lake."""
    skill_tasks: int = Field(default=0, ge=0)
    """Candidates of the skill route."""
    seed: int = 1
    operations: int = Field(default=3, ge=1)
    """Operations drawn for a persona task."""
    extra_scenarios: bool = False
    """Draw from the two extra scenario categories too."""
    novel_below: float = Field(default=0.9, gt=0, le=1)
    """Cosine to every task before it that an instruction must stay below."""
    embedder: str = "hashing"
    """`hashing`, or the folder of a sentence model such as all-MiniLM-L6-v2 (needs the extra `train`)."""
    rounds: int = Field(default=3, ge=1)
    """Of writing, trying and repairing a verifier."""
    supporting_skills: int = Field(default=3, ge=0, le=3)
    """Most skills beside the primary one."""
    skill_text: Literal["original", "core_content"] = "original"
    """What the generator sees of the primary skill."""
    coverage_review: bool = True
    """Whether the reviewer looks for requirements that are not checked, and checks that are too strict."""
    rubric: bool = True
    """Whether a rubric is written beside the code checks."""


class AuditsSection(Section):
    """Acceptance bounds and splits."""

    worthless_below: float = 0.1
    """Zero-byte, placeholder and pasted-instruction outputs must earn less."""
    mutants_killed: float = 0.95
    """Share of mutants that must score below the oracle."""
    concurrency: int = 2
    validation_every: int = 4
    """Of each family's seeds in order: positions (validation_every - 2) modulo it go to validation."""
    bench_every: int = 4
    """Positions (bench_every - 1) modulo it go to the bench suite."""
    suite: str = "demo"


class RolloutsSection(Section):
    """Collection of attempts."""

    policies: tuple[str, ...] = ("scripted:strong", "scripted:weak")
    families: tuple[str, ...] = ()
    """Task families that are collected on; all of them where empty."""
    repeats: int = Field(default=1, ge=1)
    seed: int = 1
    batch: str = "demo"
    sandbox: Literal["bubblewrap", "docker", "process"] = "bubblewrap"
    tools: Literal["lean", "process"] = "lean"
    """`lean` denies the process tool, so that each request extends the one before (DESIGN §5)."""
    concurrency: int = Field(default=2, ge=1)
    time_limit_s: float = 120.0
    turn_limit: int = Field(default=40, ge=1)
    token_limit: int | None = Field(default=None, ge=1)
    """Tokens of all answers of an attempt, prompts included, as the endpoint counts them; no limit where null."""
    max_attempts: int = Field(default=3, ge=1)
    """Attempts of a rollout within one run when the endings are infrastructure ones."""
    workspace_limit_bytes: int = 256 * 1024 * 1024


class Price(Section):
    """What an endpoint asks for a million tokens of a model."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    """For tokens of the prompt that it counts as cached; as `input` where null."""


class BudgetSection(Section):
    """What may be spent over the life of the lake, and at which prices."""

    currency: str = "USD"
    prices: dict[str, Price] = {}
    """By model, as it is asked for. Where a model has none its cost is unknown, never 0."""
    spend_limit: float | None = Field(default=None, gt=0)
    """Most to spend, in the currency; every model that is asked must have a price then. No limit where null."""
    token_limit: int | None = Field(default=None, ge=1)
    """Most tokens to use, prompts and answers together; no limit where null."""


class EndpointSection(BudgetSection):
    """What policies `openai:<model>` may spend."""

    expected_tokens: int | None = Field(default=None, ge=1)
    """Tokens of an attempt, all calls together, for predictions while the log has no attempt of the policy."""


class LlmRole(Section):
    """The model that plays one part in making tasks and judging products."""

    model: str | None = None
    """As the endpoint names it; `$OPENAI_MODEL` takes that variable. Without a model nobody plays the part."""
    temperature: float | None = Field(default=None, ge=0)
    """Left to the endpoint where null."""
    max_tokens: int = Field(default=8192, ge=1)
    """Longest answer."""
    parameters: dict[str, Any] = {}
    """Further fields of the request, such as `reasoning_effort`."""


class LlmSection(BudgetSection):
    """Who generates, annotates, reviews and judges through OPENAI_BASE_URL, and what all of it may spend."""

    generator: LlmRole = LlmRole(temperature=0.7)
    annotator: LlmRole = LlmRole(temperature=0.0)
    reviewer: LlmRole = LlmRole(temperature=0.0)
    judge: LlmRole = LlmRole(temperature=0.0)
    concurrency: int = Field(default=8, ge=1)
    tries: int = Field(default=5, ge=1)
    """Of one call, where the endpoint is busy, broken or silent."""
    timeout_s: float = Field(default=600.0, gt=0)
    structured: Literal["json_schema", "json_object", "text"] = "json_schema"
    """How answers are bound to a schema at first; an endpoint that does not know the field is asked the next way."""
    stream: bool = False
    length_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Request field that carries the longest answer."""


class JudgeSection(Section):
    """How the judge of `[llm]` reads the products of tasks that have a rubric; nothing is judged without one."""

    samples: int = Field(default=1, ge=1)
    """Times each workspace is judged; a rule's score is the mean, and the agreement is recorded."""
    file_bytes: int = Field(default=60_000, ge=1000)
    """Of all files that are shown for one workspace."""


class LogsSection(Section):
    """Logs of others."""

    paths: tuple[str, ...] = ()


class VerdictsSection(Section):
    """Grading."""

    timeout_s: float = 30.0
    memory_bytes: int = 1024 * 1024 * 1024
    concurrency: int = 2


class SftSection(Section):
    """The filter."""

    score_column: Literal["score_code", "score"] = "score_code"
    threshold: float = 0.5


class CheckpointsSection(Section):
    """Supervised fine-tuning."""

    hidden_size: int = 64
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    vocab_size: int = 2048
    max_length: int = 16384
    """Longer rows are dropped and counted, never cut. Tokens."""
    steps: int = 20
    learning_rate: float = 3e-3
    batch_size: int = 1
    seed: int = 1
    base_model: str | None = None
    """Folder of a transformers checkpoint; a tiny Qwen3-architecture model is made where null."""


class BenchSection(Section):
    """Scores on the held-out suite."""

    suite: str | None = None
    """Suite that is run; the one of `[audits] suite` where null."""
    score_column: Literal["score_code", "score"] = "score_code"
    """`score` is null for a task with a rubric that no judge has read: without a judge only `score_code` is whole."""
    policies: tuple[str, ...] = ("scripted:strong", "scripted:weak")
    repeats: int = Field(default=1, ge=1)
    seed: int = 101
    turn_limit: int = 12
    """For model policies."""
    resamples: int = 10_000


class Profile(Section):
    """All settings of a run."""

    name: str = "demo"
    personas: PersonasSection = PersonasSection()
    skills: SkillsSection = SkillsSection()
    tasks: TasksSection = TasksSection()
    synthesis: SynthesisSection = SynthesisSection()
    audits: AuditsSection = AuditsSection()
    rollouts: RolloutsSection = RolloutsSection()
    endpoint: EndpointSection = EndpointSection()
    llm: LlmSection = LlmSection()
    judge: JudgeSection = JudgeSection()
    logs: LogsSection = LogsSection()
    verdicts: VerdictsSection = VerdictsSection()
    sft: SftSection = SftSection()
    checkpoints: CheckpointsSection = CheckpointsSection()
    bench: BenchSection = BenchSection()
