import file_formats
import pytest

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_a_damaged_table_of_pixels_is_named(tmp_path, any_hash):
    file_formats.text(tmp_path / "fer2013" / "train.csv", "emotion,pixels", "3,1 2 3")
    with pytest.raises(ValueError, match=r"train.csv' is damaged"):
        datasets.FER2013(tmp_path)
