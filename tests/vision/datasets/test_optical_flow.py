import pickle
import re

import file_formats
import flow_files as files
import numpy as np
import pytest

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")

# The name of a dataset, what makes its files, its arguments, its length, and what a sample has
# beside two images: names of types of numbers, or None.
CASES = [
    ("FlyingChairs", files.flying_chairs, {}, 3, ["float32"]),
    ("FlyingChairs", files.flying_chairs, {"split": "val"}, 1, ["float32"]),
    ("FlyingThings3D", files.flying_things, {"camera": "both"}, 16, ["float32"]),
    ("HD1K", files.hd1k, {}, 6, ["float32", "bool"]),
    ("HD1K", files.hd1k, {"split": "test"}, 2, [None, None]),
    ("KittiFlow", files.kitti_flow, {}, 2, ["float32", "bool"]),
    ("Sintel", files.sintel, {"pass_name": "both"}, 8, ["float32"]),
    ("Sintel", files.sintel, {"split": "test"}, 4, [None]),
]


@pytest.mark.parametrize("name, make, kwargs, n, kinds", CASES, ids=lambda v: str(v)[:20])
def test_dataset_is_read(name, make, kwargs, n, kinds, tmp_path):
    make(tmp_path)
    data = pickle.loads(pickle.dumps(getattr(datasets, name)(tmp_path, **kwargs)))
    assert len(data) == n
    assert repr(data).startswith(f"Dataset {name}\n    Number of datapoints: {n}\n")
    first, second, *rest = data[n - 1]
    assert (first.mode, second.mode, first.size) == ("RGB", "RGB", (6, 4))
    assert [part if part is None else str(part.dtype) for part in rest] == kinds
    if rest[0] is not None:
        assert rest[0].shape == (2, 4, 6)
        assert rest[0].flags.writeable
    if rest[1:] and rest[1] is not None:
        assert rest[1].shape == (4, 6)


@pytest.mark.parametrize("name", sorted({name for name, *_ in CASES}))
def test_missing_dataset_is_told(name, tmp_path):
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path))):
        getattr(datasets, name)(tmp_path)


def test_transforms_of_flows_get_four_parts_and_may_make_a_mask(tmp_path):
    files.sintel(tmp_path)
    data = datasets.Sintel(tmp_path, transforms=lambda a, b, flow, valid: (b, a, flow * 2, valid))
    plain = datasets.Sintel(tmp_path)
    assert data[0][0].tobytes() == plain[0][1].tobytes()
    assert np.array_equal(data[0][2], plain[0][2] * 2)
    data.transforms = lambda a, b, flow, valid: (a, b, flow, flow[0] < 10)
    assert data[0][3].shape == (4, 6)


def test_a_flow_can_be_repeated(tmp_path):
    files.kitti_flow(tmp_path)
    data = 3 * datasets.KittiFlow(tmp_path)
    assert len(data) == 6
    assert np.array_equal(data[5][2], data[1][2])


def test_names_that_are_patterns_and_hidden_files_do_no_harm(tmp_path):
    root = tmp_path / "[a]*"
    files.kitti_flow(root)
    (root / "KittiFlow/training/image_2/._000000_10.png").touch()
    assert len(datasets.KittiFlow(root)) == 2


# A dataset, what makes its files, one that is deleted, the text of the error.
INCOMPLETE = [
    ("Sintel", files.sintel, "training/flow/alley_1/frame_0002.flo", "3 flows and 4 pairs"),
    ("KittiFlow", files.kitti_flow, "training/image_2/000001_11.png", "got 2 and 1"),
    ("KittiFlow", files.kitti_flow, "training/flow_occ/000001_10.png", "1 flows and 2 pairs"),
    ("HD1K", files.hd1k, "hd1k_input/image_2/000007_0001.png", "6 flows and 5 pairs"),
    ("FlyingChairs", files.flying_chairs, "data/00003_img2.ppm", "got 4 and 3"),
    ("FlyingChairs", files.flying_chairs, "data/00003_flow.flo", "3 flows and 4 pairs"),
]


@pytest.mark.parametrize("name, make, path, text", INCOMPLETE, ids=lambda v: str(v)[:20])
def test_incomplete_datasets_are_refused(name, make, path, text, tmp_path):
    make(tmp_path)
    [folder] = tmp_path.iterdir()
    (folder / path).unlink()
    with pytest.raises(ValueError, match=rf"{name}: expected .*{text}"):
        getattr(datasets, name)(tmp_path)


def test_folders_without_flows_are_told(tmp_path):
    files.hd1k(tmp_path)
    (tmp_path / "hd1k/hd1k_flow_gt").rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match=r"HD1K: there are no flows of it in"):
        datasets.HD1K(tmp_path)


def test_damaged_lists_are_refused(tmp_path):
    files.flying_chairs(tmp_path)
    path = tmp_path / "FlyingChairs/FlyingChairs_train_val.txt"
    for lines in (["1", "2"], ["1", "2", "3", "1"]):
        file_formats.text(path, *lines)
        with pytest.raises(ValueError, match=r"train_val.txt' is damaged: expected 1 or 2 for"):
            datasets.FlyingChairs(tmp_path)
