"""Folders of shards, with ranks as threads: nothing is lost, repeated or believed that was changed."""

import contextlib
import errno
import io
import itertools
import json
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import se_gnn.ranks.ranks as ranks_module
import se_gnn.shards as module
from rank_threads import in_ranks
from se_gnn.errors import InputError
from se_gnn.files import remove_tree, replace_file
from se_gnn.ranks import alone
from se_gnn.shards import (
    MANIFEST,
    ShardFolder,
    ShardRun,
    read_manifest,
    read_shards,
    verify_shards,
    write_shards,
)

RUN = ShardRun(kind="predictions", num_nodes=23, shard_nodes=5, values={"graph": "a"})
OTHER = ShardRun(kind="predictions", num_nodes=23, shard_nodes=5, values={"graph": "b"})


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(ranks_module, "BEAT", 0.05)
    monkeypatch.setattr(ranks_module, "FAREWELL", 2.0)


def make(rows):
    sink = io.BytesIO()
    pq.write_table(pa.table({"node": list(range(rows.start, rows.stop))}), sink)
    return sink.getvalue()


class Counting:
    """Makes shards and remembers which; from the one at ``stop`` on it ends."""

    def __init__(self, stop=None, error=KeyboardInterrupt):
        self.made, self.stop, self.error, self.guard = [], stop, error, threading.Lock()

    def __call__(self, rows):
        with self.guard:
            if len(self.made) == self.stop:
                raise self.error
            self.made.append(rows.start // 5)
        return make(rows)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def nodes(folder):
    return [node for table in read_shards(folder) for node in table["node"].to_pylist()]


def test_shards_hold_every_node_once_and_in_order(tmp_path):
    manifest = write_shards(alone(), tmp_path / "out", RUN, make)
    assert [shard.nodes for shard in manifest.shards] == [5, 5, 5, 5, 3]
    assert nodes(tmp_path / "out") == list(range(23))
    assert verify_shards(tmp_path / "out") == manifest


@pytest.mark.parametrize("size", [2, 3, 7])
def test_several_ranks_write_what_one_process_writes(tmp_path, size):
    write_shards(alone(), tmp_path / "one", RUN, make)
    counting = Counting()
    in_ranks(size, lambda ranks: write_shards(ranks, tmp_path / "several", RUN, counting))
    assert contents(tmp_path / "one") == contents(tmp_path / "several")
    assert sorted(counting.made) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("stop", range(5))
def test_an_interrupted_run_goes_on_and_makes_no_shard_again(tmp_path, stop):
    first, second = Counting(stop), Counting()
    with pytest.raises(KeyboardInterrupt):
        write_shards(alone(), tmp_path / "out", RUN, first)
    with pytest.raises(InputError, match="not finished"):
        read_manifest(tmp_path / "out")
    write_shards(alone(), tmp_path / "out", RUN, second)
    assert sorted(first.made + second.made) == [0, 1, 2, 3, 4]
    write_shards(alone(), tmp_path / "one", RUN, make)
    assert contents(tmp_path / "one") == contents(tmp_path / "out")


def test_a_finished_shard_that_was_changed_before_the_restart_is_made_again(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_shards(alone(), tmp_path / "out", RUN, Counting(3))
    (done,) = (tmp_path / "out").glob(".parts-*")
    (done / "part-00001.parquet").write_bytes(b"changed")
    again = Counting()
    write_shards(alone(), tmp_path / "out", RUN, again)
    assert again.made == [1, 3, 4]
    assert nodes(tmp_path / "out") == list(range(23))


def test_the_same_command_on_a_finished_folder_changes_nothing(tmp_path):
    write_shards(alone(), tmp_path / "out", RUN, make)
    before, again = contents(tmp_path / "out"), Counting()
    results = in_ranks(2, lambda ranks: write_shards(ranks, tmp_path / "out", RUN, again))
    assert [manifest.run.num_nodes for manifest in results] == [23, 23]
    assert not again.made
    assert contents(tmp_path / "out") == before


def test_the_result_of_another_run_stays_until_the_new_one_is_whole(tmp_path):
    out = tmp_path / "out"
    write_shards(alone(), out, RUN, make)
    with pytest.raises(InputError, match="already holds a result, of another model, graph"):
        write_shards(alone(), out, OTHER, make)
    with pytest.raises(KeyboardInterrupt):
        write_shards(alone(), out, OTHER, Counting(2), overwrite=True)
    assert verify_shards(out).run.parts == RUN.parts
    write_shards(alone(), out, OTHER, make, overwrite=True)
    assert verify_shards(out).run.parts == OTHER.parts
    assert len(list(out.glob("*parts-*"))) == 1


def test_unfinished_work_of_another_run_is_not_mixed_in(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_shards(alone(), tmp_path / "out", RUN, Counting(2))
    with pytest.raises(InputError, match="unfinished result of another model"):
        write_shards(alone(), tmp_path / "out", OTHER, make)
    write_shards(alone(), tmp_path / "out", OTHER, make, overwrite=True)
    assert verify_shards(tmp_path / "out").run.parts == OTHER.parts


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"holds other files \(thesis.tex\)"):
        write_shards(alone(), tmp_path, RUN, make, overwrite=True)
    assert list(contents(tmp_path)) == ["thesis.tex"]


@pytest.mark.parametrize("harm", ["missing", "cut", "changed"])
def test_a_shard_that_is_missing_or_changed_is_an_error_that_names_it(tmp_path, harm):
    out = tmp_path / "out"
    parts = out / write_shards(alone(), out, RUN, make).run.parts
    path = parts / "part-00002.parquet"
    content = path.read_bytes()
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if harm == "cut" else content[:-1] + bytes([content[-1] ^ 1]))
    for read in (verify_shards, lambda folder: list(read_shards(folder))):
        with pytest.raises(InputError, match=r"part-00002.parquet is (missing|truncated or was changed)"):
            read(out)
    with pytest.raises(InputError, match=r"part-00002.parquet is missing or was changed .*--overwrite"):
        write_shards(alone(), out, RUN, make)
    again = Counting()
    with pytest.warns(UserWarning, match=r"part-00002.parquet is missing or was changed \(1 such"):
        write_shards(alone(), out, RUN, again, overwrite=True)
    assert again.made == [2]
    verify_shards(out)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "se-gnn-shards", "version": 1}'])
def test_a_damaged_manifest_is_an_error(tmp_path, text):
    (tmp_path / "parts-a").mkdir()
    (tmp_path / "parts-a" / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=MANIFEST):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "harm",
    [
        lambda about: about["shards"].pop(),
        lambda about: about["shards"].clear(),
        lambda about: about["values"].update(graph="b"),
        lambda about: about["values"].update(num_nodes="20"),
        lambda about: about.update(values=[]),
        lambda about: about["values"].update(kind="explanations"),
        lambda about: about["shards"][1].update(nodes=4),
    ],
    ids=["last shard", "all shards", "a value", "nodes", "no values", "kind", "rows"],
)
def test_a_manifest_that_was_changed_is_an_error(tmp_path, harm):
    out = tmp_path / "out"
    write_shards(alone(), out, RUN, make)
    path = out / RUN.parts / MANIFEST
    about = json.loads(path.read_text())
    harm(about)
    path.write_text(json.dumps(about))
    with pytest.raises(InputError, match=r"_manifest\.json is damaged"):
        verify_shards(out)


@pytest.mark.parametrize(
    "name", ["PARTS/part-00005.parquet", "PARTS/copy.parquet", "extra.parquet", "parts-0123456789ab"]
)
def test_a_file_that_readers_would_take_for_a_shard_is_an_error(tmp_path, name):
    out = tmp_path / "out"
    parts = out / write_shards(alone(), out, RUN, make).run.parts
    (out / "_notes").mkdir()  # which readers pass over
    verify_shards(out)
    stranger = out / name.replace("PARTS", parts.name)
    stranger.write_bytes((parts / "part-00000.parquet").read_bytes())
    with pytest.raises(InputError, match=f"{stranger.name} is none of the shards in _manifest.json"):
        verify_shards(out)
    assert nodes(out) == list(range(23))  # by the manifest all are there, each once


def test_a_folder_with_a_stranger_among_the_shards_is_not_called_finished(tmp_path):
    out = tmp_path / "out"
    parts = out / write_shards(alone(), out, RUN, make).run.parts
    (parts / "copy.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"holds other files \(parts-\w+/copy.parquet\)"):
        write_shards(alone(), out, RUN, make)


@pytest.mark.parametrize("old", [RUN, None], ids=["over another result", "into a new folder"])
@pytest.mark.parametrize("then", [RUN, OTHER], ids=["the old command", "the same command"])
@pytest.mark.parametrize("step", range(6))
def test_a_kill_at_any_step_of_the_end_leaves_one_whole_result_and_never_shows_two(
    tmp_path, monkeypatch, step, then, old
):
    """What was there is hidden, the manifest is written, the shards are shown, the rest goes."""
    out, steps = tmp_path / "out", itertools.count()

    def killed_at(real):
        def at(*arguments):
            if next(steps) == step:
                raise KeyboardInterrupt
            return real(*arguments)

        return at

    def finish(folder):
        with monkeypatch.context() as kill:
            kill.setattr(Path, "rename", killed_at(Path.rename))
            kill.setattr(module, "replace_file", killed_at(replace_file))
            kill.setattr(module, "remove_tree", killed_at(remove_tree))
            return real_finish(folder)

    real_finish = ShardFolder.finish
    if old is not None:
        write_shards(alone(), out, old, make)
    with monkeypatch.context() as kill, contextlib.suppress(KeyboardInterrupt):
        kill.setattr(ShardFolder, "finish", finish)
        write_shards(alone(), out, OTHER, make, overwrite=True)
    shown = [path.name for path in out.iterdir() if not path.name.startswith((".", "_"))]
    assert len(shown) <= 1
    if shown or old is not None:
        assert verify_shards(out).run.parts in (OTHER.parts, old and old.parts)
        assert nodes(out) == list(range(23))
    again = Counting()
    write_shards(alone(), out, then, again, overwrite=True)
    assert then == RUN or not again.made
    write_shards(alone(), tmp_path / "fresh", then, make)
    assert contents(out) == contents(tmp_path / "fresh")


def test_a_manifest_cannot_name_a_file_outside_its_folder(tmp_path):
    out = tmp_path / "out"
    write_shards(alone(), out, RUN, make)
    path = out / RUN.parts / MANIFEST
    path.write_text(path.read_text().replace("part-00001", "../part-00001"))
    with pytest.raises(InputError, match="damaged"):
        read_manifest(out)


def test_ranks_with_different_data_write_nothing(tmp_path):
    results = in_ranks(2, lambda ranks: write_shards(ranks, tmp_path / "out", (RUN, OTHER)[ranks.rank], make))
    assert all("all ranks must have the same graph" in str(error) for error in results)
    assert not (tmp_path / "out").exists()


def test_a_full_disk_in_one_rank_is_an_error_on_every_rank_and_leaves_nothing_that_looks_whole(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")

    def slowly(rows):
        time.sleep(0.1)  # so that the other rank gets a shard
        return make(rows)

    def work(ranks):
        return write_shards(ranks, tmp_path / "out", RUN, Counting(0, full) if ranks.rank == 1 else slowly)

    results = in_ranks(2, work)
    assert "No space left on device" in str(results[0])
    assert "No space left on device" in str(results[1])
    assert not list((tmp_path / "out").glob("parts-*"))


def test_a_rank_that_sees_another_folder_is_an_error_on_every_rank(tmp_path):
    results = in_ranks(2, lambda ranks: write_shards(ranks, tmp_path / str(ranks.rank), RUN, make))
    assert all("is not the same folder on every rank" in str(error) for error in results)
