"""Styles and scripts, read once when an application is made: a request names one, and never a path."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from importlib import resources

from fastapi import FastAPI, Response

from se_gnn.apps.web.problems import ProblemError

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


class Assets:
    """Files by name; :meth:`href` changes with the content, so that browsers may keep them."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = dict(files)
        digest = hashlib.sha256()
        for name in sorted(self._files):
            digest.update(name.encode() + b"\0" + self._files[name])
        self.version = digest.hexdigest()[:12]

    @classmethod
    def of_packages(cls, packages: Iterable[str], more: Mapping[str, bytes] | None = None) -> Assets:
        """The files in the folder `assets` of each of some packages, and others that are made."""
        files: dict[str, bytes] = {}
        for package in packages:
            for file in resources.files(package).joinpath("assets").iterdir():
                if file.name.endswith(tuple(TYPES)):
                    files[file.name] = file.read_bytes()
        return cls({**files, **(more or {})})

    def href(self, name: str) -> str:
        """Where a page finds a file. Modules import their neighbors by name, so the version is a folder."""
        if name not in self._files:
            raise KeyError(name)
        return f"/assets/{self.version}/{name}"

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Content and type of a file; None where there is none of that name."""
        content = self._files.get(name)
        ending = name[name.rfind(".") :]
        return None if content is None else (content, TYPES[ending])

    def serve(self, app: FastAPI) -> None:
        """Answer for the files."""

        @app.get("/assets/{version}/{name}", include_in_schema=False)
        async def asset(version: str, name: str) -> Response:
            found = self.get(name) if version == self.version else None
            if found is None:
                raise ProblemError(404, "there is no such asset")
            keep = {"Cache-Control": "public, max-age=31536000, immutable"}
            return Response(found[0], media_type=found[1], headers=keep)
