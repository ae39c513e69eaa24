import file_formats
import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_a_damaged_list_of_boxes_is_named(tmp_path, any_hash):
    files.widerface(tmp_path)
    file_formats.text(
        tmp_path / "widerface/wider_face_split/wider_face_val_bbx_gt.txt", "a.jpg", "2", "1"
    )
    with pytest.raises(RuntimeError, match=r"wider_face_val_bbx_gt.txt is damaged at 'a.jpg'"):
        datasets.WIDERFace(tmp_path, "val")
