"""The limit of the memory that a block of code may add."""

import sys

import pytest

from autograder.core.memory_limit import limit_added_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the address space")


def test_a_block_may_add_no_more_memory_than_its_limit():
    import resource

    limits_before = resource.getrlimit(resource.RLIMIT_AS)
    with limit_added_memory(200):
        bytearray(100_000_000)
        with pytest.raises(MemoryError):
            bytearray(300_000_000)
    assert resource.getrlimit(resource.RLIMIT_AS) == limits_before
    bytearray(300_000_000)
