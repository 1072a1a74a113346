"""The limit of the memory that a block of code may add."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux limits the address space"
)

PROGRAM = """
import resource
from autograder.core.address_space import limit_added_memory

limits = resource.getrlimit(resource.RLIMIT_AS)
with limit_added_memory(200):
    bytearray(100_000_000)
    try:
        bytearray(300_000_000)
    except MemoryError:
        print("refused")
assert resource.getrlimit(resource.RLIMIT_AS) == limits
bytearray(300_000_000)
"""


def test_a_block_may_add_no_more_memory_than_its_limit():
    """A process of its own: in that of the tests, memory may be freed meanwhile."""
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert finished.stdout == "refused\n"
