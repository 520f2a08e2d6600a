"""Several files of a folder change in one step; one writer at a time; other files are left alone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from se_gnn.errors import InputError
from se_gnn.files import commit as module
from se_gnn.files import commit_files, current_path, locked, read_current, visible_names


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def interrupted(folder, monkeypatch, files, **options):
    """A write that is killed right after its step."""
    with monkeypatch.context() as patch:
        patch.setattr(module, "_move", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            commit_files(folder, files, **options)


def test_files_are_replaced_added_and_removed_and_others_left_alone(tmp_path):
    for name in ("a", "b", "mine"):
        (tmp_path / name).write_bytes(b"old")
    commit_files(tmp_path, {"a": b"new", "c": b"new"}, remove=("b", "never there"))
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == {
        "a": b"new", "c": b"new", "mine": b"old"
    }  # fmt: skip


def test_a_reader_finds_the_new_files_after_the_step_and_changes_nothing(tmp_path, monkeypatch):
    commit_files(tmp_path, {"a": b"old", "b": b"old"})
    interrupted(tmp_path, monkeypatch, {"a": b"new"}, remove=("b",))
    before = names(tmp_path)
    assert read_current(tmp_path, "a") == b"new"
    assert not current_path(tmp_path, "b").exists()
    assert visible_names(tmp_path) == ["a"]
    assert names(tmp_path) == before


def test_the_next_write_finishes_an_interrupted_one_and_says_so(tmp_path, monkeypatch):
    commit_files(tmp_path, {"a": b"old", "b": b"old"})
    interrupted(tmp_path, monkeypatch, {"a": b"new"}, remove=("b",))
    with pytest.warns(UserWarning, match="finished an interrupted write of"):
        commit_files(tmp_path, {"c": b"newer"})
    assert names(tmp_path) == ["a", "c"]
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_damaged_interrupted_write_is_refused(tmp_path, monkeypatch):
    interrupted(tmp_path, monkeypatch, {"a": b"new"})
    (tmp_path / ".commit" / "a").write_bytes(b"other")
    with pytest.raises(InputError, match=r"\.commit/a is damaged"):
        commit_files(tmp_path, {"a": b"newer"})


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", ".hidden", "a/b", "", "x" * 200])
def test_a_record_that_names_a_path_is_refused(tmp_path, monkeypatch, name):
    (tmp_path / "outside").write_bytes(b"precious")
    interrupted(tmp_path / "folder", monkeypatch, {"a": b"new"})
    record = tmp_path / "folder" / ".commit" / "commit.json"
    record.write_text(record.read_text().replace('"remove": []', f'"remove": ["{name}"]'))
    for act in (lambda: commit_files(tmp_path / "folder", {}), lambda: read_current(tmp_path / "folder", "a")):
        with pytest.raises(InputError, match="is not the name of a file"):
            act()
    assert (tmp_path / "outside").read_bytes() == b"precious"


@pytest.mark.parametrize("name", [".new", ".commit"])
def test_a_link_in_place_of_a_folder_of_ours_is_not_followed(tmp_path, name):
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    folder.mkdir()
    (outside / "a").write_bytes(b"precious")
    (folder / name).symlink_to(outside)
    with warnings.catch_warnings(action="ignore"):
        commit_files(folder, {"a": b"new"})
    assert (folder / "a").read_bytes() == b"new"
    assert (outside / "a").read_bytes() == b"precious"
    assert names(outside) == ["a"]


def test_a_folder_where_a_file_belongs_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(InputError, match="is a folder, where a file is to be written"):
        commit_files(tmp_path, {"a": b"new", "b": b"new"})
    assert names(tmp_path) == ["a"]


def test_a_second_process_is_refused_and_a_killed_one_blocks_nobody(tmp_path):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom se_gnn.files import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "held\n"
        with (
            pytest.raises(InputError, match=rf"is being written by another se-gnn \(process {child.pid}\)"),
            locked(tmp_path),
        ):
            pass
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert names(tmp_path) == [".lock"]
    commit_files(tmp_path, {"a": b"new"})
    assert names(tmp_path) == ["a"]


def test_within_itself_a_lock_may_be_taken_again_but_not_by_another_thread(tmp_path):
    refused = []

    def other():
        try:
            with locked(tmp_path):
                pass
        except InputError as error:
            refused.append(error)

    with locked(tmp_path), locked(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(refused) == 1
    assert names(tmp_path) == []


def test_a_forked_child_does_not_hold_the_lock_of_its_parent(tmp_path):
    with locked(tmp_path):
        child = os.fork()
        if child == 0:
            try:
                with locked(tmp_path):
                    os._exit(1)
            except InputError:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


def test_nothing_else_in_the_package_writes_files():
    import se_gnn

    root = Path(se_gnn.__file__).parent
    words = ("write_text(", "write_bytes(", '.open("w', '.open("a', "savetxt(", "torch.save(", "save_file(")
    allowed = {"datasets/public.py", "datasets/raw_files.py"}  # a folder of its own; downloads, checked by digest
    found = [
        f"{path.relative_to(root)}: {word}"
        for path in sorted(root.rglob("*.py"))
        for word in words
        if word in path.read_text(encoding="utf-8") and path.relative_to(root).as_posix() not in allowed
    ]
    assert not found
