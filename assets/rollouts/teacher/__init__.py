"""The scripted teacher: a policy that follows a task's plan through the real agent, well or badly, and says so.

It answers like an OpenAI-compatible endpoint and looks at nothing but the request: the position is found by replaying
the conversation, so a repeated request gets the same answer. It reacts to what the tools really returned.
Token counts are estimates (characters / 4), labelled in each answer. Does not belong here: serving, recording.
"""

from assets.rollouts.teacher.character import CHARACTERS, Character
from assets.rollouts.teacher.policy import teacher_policy

__all__ = ["CHARACTERS", "Character", "teacher_policy"]
