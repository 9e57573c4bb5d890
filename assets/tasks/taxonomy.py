"""The label sets of ClawGym that task records carry, spelled as released.

Belongs here: names only. The nine scenario categories are the default, the two extra ones an option; the operations
that need the live web are no part of the offline set. Which bench category a scenario falls in is decided by each
family and is ours.
"""

from __future__ import annotations

from typing import Final

SCENARIOS: Final[dict[str, tuple[str, ...]]] = {
    "Office and Daily Tasks": (
        "document writing and editing", "meeting notes and summaries", "table and record handling",
        "schedule and task management", "translation and text assistance",
    ),
    "Content and External Communication": (
        "general content writing", "marketing content planning", "social content creation", "SEO and page optimization",
        "email and communication writing",
    ),
    "Information Retrieval and Collection": (
        "information search and lookup", "web collection and scraping", "research and information synthesis",
        "fact-checking and verification", "knowledge retrieval and grounding",
    ),
    "Analysis and Decision Support": (
        "data analysis and calculation", "classification, ranking, and scoring", "trend monitoring and detection",
        "transaction and financial analysis", "lifestyle decision support",
    ),
    "Messaging and Collaboration": (
        "message and email handling", "notifications, reminders, and follow-up",
        "team collaboration and synchronization", "meeting coordination and scheduling",
    ),
    "Automation and Workflows": (
        "scheduled task execution", "event-triggered automation", "automated inspection and handling",
        "task routing and orchestration",
    ),
    "Software Development": (
        "code generation and implementation", "code review and refactoring", "test writing and validation",
        "debugging and issue fixing", "prototype development and delivery",
    ),
    "Systems and Infrastructure": (
        "system status inspection", "environment configuration and deployment", "DevOps and continuous delivery",
        "incident response and reliability", "device and system control",
    ),
    "Planning and Knowledge Organization": (
        "task planning and decomposition", "information synthesis and summarization",
        "solution and architecture design", "curriculum and content design", "memory and knowledge organization",
    ),
}  # fmt: skip
"""The nine default categories with their subcategories."""

EXTRA_SCENARIOS: Final[dict[str, tuple[str, ...]]] = {
    "Reasoning and Technical Problem Solving": (
        "mathematical and logical reasoning", "scientific and engineering analysis",
        "algorithm design and problem solving", "critique, review, and judgment",
    ),
    "Professional Domain Support": (
        "legal and compliance review", "medical and health analysis", "financial analysis and support",
        "security and risk assessment",
    ),
}  # fmt: skip

WEB_OPERATIONS: Final = (
    "perform search engine queries from the Internet",
    "download and extract webpage content from the Internet",
    "download remote resources from the Internet",
)

OFFLINE_OPERATIONS: Final = (
    "read local files and extract relevant content",
    "write structured results to local files",
    "edit or rewrite existing local documents",
    "inspect files and directories",
    "extract structured data from files or web content",
    "filter, sort, and rank records",
    "compute basic statistics and aggregates",
    "draft emails or messages",
    "rewrite messages for tone, clarity, or brevity",
    "prepare meeting notes or action items",
    "compose updates, reports, or status summaries",
    "run scripts or command-line programs",
    "inspect code or configuration files",
    "modify code or configuration files",
    "run tests or validation commands",
    "analyze command output or error messages",
)

BENCH_CATEGORIES: Final = (
    "Productivity & Collaboration",
    "Systems & Automation",
    "Analysis & Reasoning",
    "Content & Domain Support",
    "Planning & Knowledge",
    "Software Development",
)
