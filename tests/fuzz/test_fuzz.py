"""A few thousand of the cases of `make fuzz`: files that others hand over give a clean error or load right."""

from __future__ import annotations

import pytest

from fuzz.runner import fuzz

CASES = 3000


def test_spoiled_files_give_a_clean_error_or_load_right(tmp_path, capsys):
    found = fuzz(range(CASES), tmp_path)
    with capsys.disabled():
        print(f"\n{found}")
    assert not found.failures, str(found)
    assert found.megabytes < 1000
    assert found.outcomes["refused"] > CASES // 2


@pytest.mark.slow
def test_more_spoiled_files_give_a_clean_error_or_load_right(tmp_path):
    found = fuzz(range(CASES, CASES + 40_000), tmp_path)
    assert not found.failures, str(found)
    assert found.megabytes < 1000
