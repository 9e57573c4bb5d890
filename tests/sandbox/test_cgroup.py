"""Finding control groups: a version 1 and a version 2 machine laid out as folders, and a machine without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.sandbox import cgroup


def test_version_1_hierarchies_are_found_where_the_process_is_or_at_their_root(tmp_path: Path) -> None:
    membership = tmp_path / "membership"
    membership.write_text("4:memory:/a/b\n8:pids:/not/here\n1:cpu:/\n0::/\n")
    for folder in ("memory/a/b", "pids"):
        (tmp_path / "fs" / folder).mkdir(parents=True)
    found = cgroup.find(tmp_path / "fs", membership)
    # Plain folders have no cgroup.procs, so nothing is usable: a folder alone must not count.
    assert found == ()


def test_a_kernel_group_is_recognised_by_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    membership = tmp_path / "membership"
    membership.write_text("0::/user.slice/session.scope\n")
    parent = tmp_path / "fs" / "user.slice" / "session.scope"
    parent.mkdir(parents=True)
    make = Path.mkdir

    def mkdir(self: Path) -> None:
        """As the kernel does: a new group comes with its files, below the parent only with its controllers."""
        make(self)
        if self.name.startswith("clawgym-probe-"):
            (self / "cgroup.procs").touch()
            (self / "cgroup.controllers").write_text("cpu memory pids\n" if self.parent.name == "user.slice" else "\n")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", lambda self: [f.unlink() for f in self.iterdir()] and None)
    (hierarchy,) = cgroup.find(tmp_path / "fs", membership)
    assert hierarchy == cgroup.Hierarchy(tmp_path / "fs" / "user.slice", 2, frozenset({"memory", "pids"}))


def test_a_machine_without_groups_has_none(tmp_path: Path) -> None:
    assert cgroup.find(tmp_path, tmp_path / "no-such-file") == ()
