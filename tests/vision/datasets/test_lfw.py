import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_pairs_are_read(tmp_path, any_hash):
    files.lfw(tmp_path)
    first, second, is_same = datasets.LFWPairs(tmp_path)[0]
    assert (first.size, second.size, is_same) == ((6, 4), (6, 4), 1)
