"""The lock that the operating system keeps on an open file: it ends with the process, however that ends."""

from __future__ import annotations

import errno
import os

try:
    import fcntl
except ImportError:  # only on systems without it
    fcntl = None  # type: ignore[assignment]

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}


def try_lock(descriptor: int) -> bool:
    """Lock an open file, unless another process (or another opening of it) has; True also where nothing can lock."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def lock(descriptor: int) -> None:
    """Wait for the lock of an open file."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def same_file(descriptor: int, path: os.PathLike[str]) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        named = os.lstat(path)
    except FileNotFoundError:
        return False
    opened = os.fstat(descriptor)
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)
