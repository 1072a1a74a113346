"""The limit of the memory that a block of code may add."""

import subprocess
import sys
from contextlib import suppress

import pytest

from autograder.core import address_space

resource = pytest.importorskip("resource")

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


@pytest.mark.parametrize("hard", [resource.RLIM_INFINITY, 1 << 60, 1_000])
def test_the_limit_of_a_block_is_no_higher_than_that_of_its_process(monkeypatch, hard):
    limits = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (77, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: limits.append(pair))
    with suppress(KeyError), address_space.limit_added_memory(10):
        raise KeyError
    (soft, kept_hard), restored = limits
    assert kept_hard == hard and restored == (77, hard)
    if hard == 1_000:
        assert soft == 1_000
    else:
        assert 10_000_000 < soft < 1 << 50
