"""What models answer, as schemas. Bounds that a strict JSON schema cannot say are checked when an answer is read.

Belongs here: shapes. Does not belong here: whether what is said is any good (`resources.py`, `trials.py`, `rubric.py`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Format = Literal["txt", "csv", "json", "jsonl", "md", "tsv", "yaml", "xml", "html", "py"]
BenchCategory = Literal[
    "Productivity & Collaboration", "Systems & Automation", "Analysis & Reasoning", "Content & Domain Support",
    "Planning & Knowledge", "Software Development",
]  # fmt: skip


class Shape(BaseModel):
    """Base: fields that nobody asked for are left out."""

    model_config = ConfigDict(extra="ignore")


class InputPlan(Shape):
    """An input file that the task will have."""

    path: str = Field(description="below input/")
    format: Format
    purpose: str = Field(description="what it holds: fields, kinds of rows, planted difficulties; no content")


class OutputPlan(Shape):
    """A file that the task asks for."""

    path: str = Field(description="below output/")
    purpose: str


class TaskDraft(Shape):
    """A task in words."""

    instruction: str = Field(description="what the user writes to the agent, 90 to 650 words")
    expected_behavior: list[str] = Field(description="what a right result has, requirement by requirement")
    inputs: list[InputPlan]
    outputs: list[OutputPlan]
    difficulty: int = Field(description="1 to 5")
    difficulty_reason: str
    bench_category: BenchCategory

    @field_validator("difficulty")
    @classmethod
    def _level(cls, value: int) -> int:
        if not 1 <= value <= 5:
            raise ValueError(f"difficulty is {value}, not 1 to 5")
        return value


class InputFile(Shape):
    """An input file."""

    path: str
    content: str


class InputFiles(Shape):
    """The inputs of a task."""

    files: list[InputFile]


class TaskReview(Shape):
    """Whether a task can be given to an agent."""

    is_clear: bool
    is_consistent: bool = Field(description="instruction and input files agree")
    is_realistic: bool
    is_feasible: bool = Field(description="with local files and a shell, without network, accounts or media")
    has_factual_error: bool
    has_answer_leak: bool = Field(description="an input file or the instruction gives the answer away")
    reasons: list[str] = Field(description="one for each flag against the task")


class Script(Shape):
    """A Python program."""

    code: str


class CoverageReview(Shape):
    """Whether a verifier checks what the task asks for, and nothing else."""

    missing_requirements: list[str] = Field(description="asked for by the instruction, checked by nothing")
    too_strict: list[str] = Field(description="checks that a right result can fail, and how")
    guidance: str = Field(description="how to repair the verifier; empty where there is nothing")


class Levels(Shape):
    """What each level of a rubric rule means."""

    model_config = ConfigDict(populate_by_name=True)
    none: str = Field(alias="0")
    little: str = Field(alias="0.25")
    half: str = Field(alias="0.5")
    most: str = Field(alias="0.75")
    full: str = Field(alias="1")

    @property
    def by_score(self) -> dict[str, str]:
        """By score."""
        return {"0": self.none, "0.25": self.little, "0.5": self.half, "0.75": self.most, "1": self.full}


class RubricRule(Shape):
    """A quality that code cannot check."""

    name: str
    file_path: str
    weight: float = Field(description="1 for an ordinary rule")
    scores: Levels


class RubricDraft(Shape):
    """Rules, or why there are none."""

    skip: bool
    reason: str
    rules: list[RubricRule]


class RubricReview(Shape):
    """Which rules the code checks already."""

    covered_by_code: list[str] = Field(description="names of rules that the verifier's checks decide already")
