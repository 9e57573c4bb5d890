"""Folders as data: what a snapshot sees, what it refuses, and that restoring gives the same folder."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.sandbox.folder import (
    copy_folder,
    entries_of,
    materialise,
    path_bytes,
    path_text,
    remove_folder,
    restore,
    snapshot,
    workspace_id_of,
)
from lake.errors import UsageError

LIMIT = 10**6


def test_identity_of_a_mapping_is_that_of_its_snapshot(tmp_path: Path) -> None:
    files = {"input/a.csv": b"a\n1\n", "b.txt": b"", "deep/er/c": b"\x00\xff"}
    materialise(files, tmp_path / "w")
    shot = snapshot(tmp_path / "w", limit_bytes=LIMIT)
    assert shot.workspace_id == workspace_id_of(files) == workspace_id_of(entries_of(files))
    assert [entry.path for entry in shot.files] == ["b.txt", "deep/er/c", "input/a.csv"]
    assert not shot.truncated


@pytest.mark.parametrize("change", ["content", "mode", "name", "link", "empty_folder"])
def test_every_change_gives_another_identity(tmp_path: Path, change: str) -> None:
    materialise({"a": b"1"}, tmp_path)
    before = snapshot(tmp_path, limit_bytes=LIMIT).workspace_id
    if change == "content":
        (tmp_path / "a").write_bytes(b"2")
    elif change == "mode":
        (tmp_path / "a").chmod(0o755)
    elif change == "name":
        (tmp_path / "a").rename(tmp_path / "b")
    elif change == "link":
        (tmp_path / "l").symlink_to("a")
    else:
        (tmp_path / "d").mkdir()
    assert snapshot(tmp_path, limit_bytes=LIMIT).workspace_id != before


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "a/..", "", "a//../b", "a\0b", ".", "bad\\escape"])
def test_paths_that_leave_the_folder_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(UsageError):
        materialise({path: b"x"}, tmp_path / "w")
    assert not list(tmp_path.glob("x"))


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "out").symlink_to(outside)
    (tmp_path / "w" / "file").symlink_to(outside / "file")
    for path in ("out/x", "file"):
        with pytest.raises(UsageError):
            materialise({path: b"x"}, tmp_path / "w")
    assert not list(outside.iterdir())


def test_a_snapshot_follows_no_link_and_reads_no_special_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "dir").symlink_to(secret)
    (folder / "file").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(folder / "sock"))
        shot = snapshot(folder, limit_bytes=LIMIT)
    kinds = {entry.path: (entry.kind, entry.data) for entry in shot.files}
    assert kinds == {
        "dir": ("symlink", os.fsencode(secret)),
        "file": ("symlink", b"/etc/passwd"),
        "pipe": ("other", None),
        "sock": ("other", None),
    }


def test_contents_over_the_limit_are_recorded_without_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 60)
    with (tmp_path / "b").open("wb") as file:
        file.truncate(10**12)  # sparse
    (tmp_path / "c").write_bytes(b"y" * 40)
    shot = snapshot(tmp_path, limit_bytes=100)
    assert shot.truncated
    assert [(entry.path, entry.size, entry.data is None) for entry in shot.files] == [
        ("a", 60, False),
        ("b", 10**12, True),
        ("c", 40, False),
    ]


def test_odd_names_survive_a_round_trip(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    names = [b"\xff\xfe", b"a\\b", b"a\\xff", b"line\nbreak", "ä €.txt".encode(), b" ", b"-rf", b"'; drop table"]
    for name in names:
        (folder / os.fsdecode(name)).write_bytes(name)
    shot = snapshot(tmp_path / "w", limit_bytes=LIMIT)
    for entry in shot.files:
        entry.path.encode()  # plain Unicode, fit for Arrow
    restore(shot.files, tmp_path / "again")
    assert snapshot(tmp_path / "again", limit_bytes=LIMIT) == shot
    assert sorted(os.fsencode(path.name) for path in (tmp_path / "again").iterdir()) == sorted(names)


@given(st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name and b"/" not in name))
@settings(max_examples=200)
def test_path_text_is_reversible(name: bytes) -> None:
    if name in (b".", b".."):
        return
    assert path_bytes(path_text(name)) == name


def test_restore_and_copy_give_the_same_folder(tmp_path: Path) -> None:
    source = tmp_path / "w"
    materialise({"run.sh": b"#!/bin/sh\n", "a/b.txt": b"b"}, source)
    (source / "run.sh").chmod(0o755)
    (source / "empty" / "er").mkdir(parents=True)
    (source / "link").symlink_to("a/b.txt")
    (source / "dangling").symlink_to("../../nowhere")
    shot = snapshot(source, limit_bytes=LIMIT)
    restore(shot.files, tmp_path / "restored")
    copy_folder(source, tmp_path / "copied")
    for other in ("restored", "copied"):
        assert snapshot(tmp_path / other, limit_bytes=LIMIT) == shot


def test_remove_folder_takes_locked_folders_too(tmp_path: Path) -> None:
    materialise({"a/b/c": b"x"}, tmp_path / "w")
    (tmp_path / "w" / "a" / "b").chmod(0)
    (tmp_path / "w" / "a").chmod(0)
    remove_folder(tmp_path / "w")
    assert not (tmp_path / "w").exists()
