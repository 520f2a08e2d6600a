"""Digests: how a file that was cut short or changed is told from the one that was written."""

from __future__ import annotations

import hashlib


def sha256(content: bytes) -> str:
    """Digest of a content, in hexadecimal.

    >>> sha256(b"")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(content).hexdigest()
