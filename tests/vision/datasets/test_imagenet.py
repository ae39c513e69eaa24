import os
import tarfile

import pytest
import vision_files as files

from facula.vision import datasets
from facula.vision.datasets import imagenet

pytestmark = pytest.mark.promise("D3")


@pytest.mark.parametrize("split, targets", [("train", [0, 1]), ("val", [0, 0, 1])])
def test_imagenet_is_unpacked_once(split, targets, tmp_path, any_hash):
    files.imagenet_archives(tmp_path)
    for _ in range(2):
        data = datasets.ImageNet(tmp_path, split)
        assert data.targets == targets
        for name in os.listdir(tmp_path):
            if "ILSVRC" in name:
                os.remove(tmp_path / name)
    assert data.classes == [("cat",), ("dog", "hound")]
    assert data.class_to_idx == {"cat": 0, "dog": 1, "hound": 1}
    assert sorted(os.listdir(tmp_path)) == ["meta.bin", split]


def test_imagenet_says_which_archive_is_missing(tmp_path):
    with pytest.raises(RuntimeError, match=r"the archive ILSVRC2012_devkit_t12.tar.gz is not in"):
        datasets.ImageNet(tmp_path)
    with pytest.raises(RuntimeError, match=r"there is no '.*meta.bin'"):
        imagenet.load_meta_file(tmp_path)


def test_broken_imagenet_archive_leaves_no_half_folder(tmp_path, any_hash):
    files.imagenet_archives(tmp_path)
    path = tmp_path / "ILSVRC2012_img_train.tar"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(tarfile.TarError, match=r"train.tar cannot be unpacked"):
        datasets.ImageNet(tmp_path)
    assert not (tmp_path / "train").exists()
