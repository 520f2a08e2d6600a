"""Packages that only some features need: one helper, called at use."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

from se_gnn.errors import InputError


class MissingPackage(InputError):
    """A package that a feature needs is not installed."""


def require(package: str, *, extra: str, feature: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

    >>> require("no_such_package", extra="plot", feature="pictures")
    Traceback (most recent call last):
    ...
    se_gnn.optional.MissingPackage: pictures need the package 'no_such_package': pip install 'se-gnn[plot]'
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on import a package may use names that others deprecated
            return importlib.import_module(package)
    except ImportError as error:
        raise MissingPackage(f"{feature} need the package {package!r}: pip install 'se-gnn[{extra}]'") from error
