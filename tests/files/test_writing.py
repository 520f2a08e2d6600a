"""A file is replaced in one step, never through a link, and what a kill left goes with the next write."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from se_gnn.errors import InputError
from se_gnn.explain.tables import write_json_lines
from se_gnn.files import replace_file, replacing, writing_to
from se_gnn.files.writing import PREFIX, _prefix


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_full_disk_leaves_the_old_file_whole_and_no_other_one(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_a_link_at_any_name_that_is_written_first_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    monkeypatch.setattr("se_gnn.files.writing.secrets.token_hex", lambda _: "known")
    (tmp_path / f"{_prefix(tmp_path / 'a')}known.partial").symlink_to(victim)
    with pytest.raises(FileExistsError):
        replace_file(tmp_path / "a", b"new")
    assert victim.read_bytes() == b"precious"


def test_a_link_in_place_of_the_file_is_replaced_and_not_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "a").symlink_to(victim)
    replace_file(tmp_path / "a", b"new")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_name_of_255_bytes_can_be_written(tmp_path):
    path = tmp_path / ("é" * 127 + "a")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("name", ["x" * 256, "a\x00b"])
def test_a_name_that_no_file_can_have_is_a_clear_error(tmp_path, name):
    with pytest.raises(InputError, match="cannot write to"), writing_to(tmp_path / name):
        pass


def test_what_a_kill_left_goes_with_the_next_write_of_the_same_file_only(tmp_path):
    (tmp_path / f"{_prefix(tmp_path / 'a')}0123.partial").write_bytes(b"half")
    (tmp_path / f"{_prefix(tmp_path / 'b')}0123.partial").write_bytes(b"half")
    replace_file(tmp_path / "a", b"new")
    assert [name.startswith(PREFIX) for name in names(tmp_path)] == [True, False]


def test_a_file_that_another_writer_is_at_is_not_taken_for_a_leftover(tmp_path):
    with replacing(tmp_path / "a") as slow:
        slow.write(b"slow ")
        replace_file(tmp_path / "a", b"quick")
        slow.write(b"writer")
    assert (tmp_path / "a").read_bytes() == b"slow writer"
    assert names(tmp_path) == ["a"]


def test_the_permissions_of_a_file_are_kept(tmp_path):
    (tmp_path / "secret").write_bytes(b"old")
    (tmp_path / "secret").chmod(0o600)
    replace_file(tmp_path / "secret", b"new")
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_an_explanation_that_fails_leaves_the_old_lines(tmp_path):
    class Failing:
        def to_json(self, **_):
            raise RuntimeError("boom")

    (tmp_path / "a.jsonl").write_text("old")
    with pytest.raises(RuntimeError):
        write_json_lines([Failing()], tmp_path / "a.jsonl", overwrite=True)
    assert (tmp_path / "a.jsonl").read_text() == "old"
    assert names(tmp_path) == ["a.jsonl"]
