import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_a_damaged_file_of_digits_is_named(tmp_path, any_hash):
    files.usps(tmp_path)
    path = tmp_path / "usps.bz2"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RuntimeError, match=r"usps.bz2' is damaged"):
        datasets.USPS(tmp_path)
