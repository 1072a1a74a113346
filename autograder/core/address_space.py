"""Limit the memory that a block of code may add to its process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def limit_added_memory(megabytes: int) -> Iterator[None]:
    """Limit the address space in the `with` block, so that adding too much raises MemoryError.

    Only Linux tells the size of the address space. On other systems the block has no limit.
    """
    try:
        import resource

        current = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = current + megabytes * 1_000_000
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (ImportError, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
