import file_formats
import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_a_damaged_annotation_is_named(tmp_path):
    files.voc(tmp_path)
    file_formats.text(tmp_path / "VOCdevkit/VOC2012/Annotations/2007_01.xml", "<annotation>")
    with pytest.raises(SyntaxError, match=r"2007_01.xml is damaged"):
        datasets.VOCDetection(tmp_path)[0]


def test_voc_of_2007_has_a_test_set(tmp_path):
    files.voc(tmp_path, "VOCdevkit/VOC2007", ("test",))
    assert len(datasets.VOCDetection(tmp_path, "2007", "test")) == 2
