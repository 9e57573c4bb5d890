"""Front matter in sound and broken forms."""

from __future__ import annotations

import pytest

from assets.skills.front_matter import read_front_matter

REPAIRED = "front_matter_repaired"
SOUND = "---\nname: notes\ndescription: Keep notes.\n---\n# Notes\n"


@pytest.mark.parametrize(
    ("text", "name", "description", "flag"),
    [
        (SOUND, "notes", "Keep notes.", None),
        ("\ufeff" + SOUND, "notes", "Keep notes.", None),
        (SOUND.replace("\n", "\r\n"), "notes", "Keep notes.", None),
        ("\n\n" + SOUND, "notes", "Keep notes.", None),
        ("---\nname: notes\ndescription: Use: when: asked\n---\nBody", "notes", "Use: when: asked", REPAIRED),
        ('---\nname: notes\ndescription: "unclosed\n---\nBody', "notes", "unclosed", REPAIRED),
        ("---\nname: notes\n\tdescription: tab\n---\nBody", "notes", None, REPAIRED),
        ("---\nname: notes\n  bad: [\n---\nBody", "notes", None, REPAIRED),
        ("---\nname: notes\ndescription: Keep notes.\n# Body\n", "notes", "Keep notes.", "front_matter_unclosed"),
        ("---\n- a\n- b\n---\nBody", None, None, "front_matter_not_mapping"),
        ("# Only a body\n", None, None, "front_matter_missing"),
        ("", None, None, "front_matter_missing"),
    ],
)
def test_forms(text: str, name: str | None, description: str | None, flag: str | None) -> None:
    front = read_front_matter(text)
    if name is not None:
        assert str(front.meta["name"]).startswith(name.split()[0])
    if description is not None:
        assert front.meta["description"] == description
    assert (flag in front.flags) if flag else front.flags == ()
    assert "name:" not in front.body


def test_body_is_what_follows() -> None:
    assert read_front_matter(SOUND).body == "# Notes\n"
    assert read_front_matter("---\nname: x\nText at once.\nMore.").body == "Text at once.\nMore."
