"""The CPU's allocator: blocks above 1 MB are kept, cut and joined."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import facula

MB = 1 << 20
is_plain = pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="under the sanitisers every block is the system's"
)


def block(n_mb, value=0):
    return facula.full((int(n_mb * MB),), value, dtype=facula.uint8)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(1, 12), st.integers(0, 9)), min_size=5, max_size=60))
def test_live_blocks_share_no_memory(steps):
    live = {}
    for number, (n_mb, place) in enumerate(steps):
        live.pop(place, None)
        if number % 3:
            live[place] = block(n_mb, number), number
    for tensor, number in live.values():
        assert tensor.min() == tensor.max() == number


def run_step():
    """At its peak two large blocks of 48 MB together; then smaller ones."""
    first, second = block(24), block(24)
    del first, second
    kept = [block(n_mb) for n_mb in (7, 3.5, 6, 2.25)]
    del kept[1:3]
    kept += [block(n_mb) for n_mb in (5, 8)]


@is_plain
def test_a_loop_over_many_sizes_gets_no_fresh_pages():
    for _ in range(5):
        run_step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        run_step()
    # One large block alone would be 12 pages of 2 MB or 6,144 of 4 kB at every step.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 100


@is_plain
def test_of_equal_blocks_the_one_freed_last_is_used_again():
    several = [block(3) for _ in range(6)]
    del several[1], several[2], several[3]
    assert len({block(3).data_ptr() for _ in range(5)}) == 1


@is_plain
def test_what_is_kept_hardly_raises_the_peak():
    code = f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 48 * MB < int(result.stdout) < 65 * MB


def peak_bytes():
    """Of this process alone: what getrusage tells begins with the parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    block(2)
    begin = peak_bytes()
    for _ in range(10):
        run_step()
    print(peak_bytes() - begin)
