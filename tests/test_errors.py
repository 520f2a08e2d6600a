"""Errors of a user's making."""

from __future__ import annotations

import pytest

from se_gnn.errors import InputError, did_you_mean


def test_an_input_error_is_a_value_error():
    assert issubclass(InputError, ValueError)


@pytest.mark.parametrize(
    ("given", "hint"),
    [("coar", " (did you mean 'cora'?)"), ("Cora", " (did you mean 'cora'?)"), ("quux", ""), ("", "")],
)
def test_a_close_name_is_offered_and_no_other(given, hint):
    assert did_you_mean(given, ["cora", "citeseer", "digits"]) == hint


def test_nothing_is_offered_where_nothing_is_known():
    assert did_you_mean("cora", []) == ""
    assert did_you_mean("cora", iter(["cora2"])) == " (did you mean 'cora2'?)"
