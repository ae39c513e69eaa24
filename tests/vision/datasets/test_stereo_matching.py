import os
import pickle
import random
import re
import zipfile
from pathlib import Path

import file_formats
import flow_files as files
import numpy as np
import pytest

from facula import _download
from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")

# The name of a dataset, what makes its files, its arguments, its length, and what a sample has
# beside two images: names of types of numbers, or None.
CASES = [
    ("CREStereo", files.crestereo, {}, 4, ["float32", None]),
    ("CarlaStereo", files.carla, {}, 2, ["float32"]),
    ("ETH3DStereo", files.eth3d, {}, 2, ["float32", "bool"]),
    ("ETH3DStereo", files.eth3d, {"split": "test"}, 2, [None, None]),
    ("FallingThingsStereo", files.falling_things, {"variant": "both"}, 4, ["float32"]),
    ("InStereo2k", files.in_stereo, {}, 2, ["float32"]),
    ("Kitti2012Stereo", files.kitti_2012, {}, 2, ["float64", None]),
    ("Kitti2015Stereo", files.kitti_2015, {"split": "test"}, 2, [None, None]),
    ("Middlebury2014Stereo", files.middlebury, {"calibration": "both"}, 2, ["float32", "bool"]),
    ("SceneFlowStereo", files.scene_flow, {"variant": "Monkaa"}, 4, ["float32"]),
    ("SintelStereo", files.sintel_stereo, {}, 4, ["float32", "bool"]),
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
        assert rest[0].shape == (1, 4, 6)
        assert rest[0].flags.writeable
    if rest[1:] and rest[1] is not None:
        assert rest[1].shape == (4, 6)


@pytest.mark.parametrize("name", sorted({name for name, *_ in CASES}))
def test_missing_dataset_is_told(name, tmp_path):
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path))):
        getattr(datasets, name)(tmp_path)


def test_transforms_of_stereo_pairs_get_both_views(tmp_path):
    files.carla(tmp_path)
    seen = []
    data = datasets.CarlaStereo(tmp_path, lambda *parts: seen.append(parts) or parts)
    left, right, disparity = data[0]
    [(images, maps, masks)] = seen
    assert (images, masks) == ((left, right), (None, None))
    assert maps[0] is disparity
    assert not np.array_equal(maps[0], maps[1])


def test_disparities_of_kitti_2015_are_those_of_their_frames(tmp_path):
    files.kitti_2015(tmp_path, frames=(10, 11))  # as in the archive
    data = datasets.Kitti2015Stereo(tmp_path)
    names = [path.rpartition("/")[2] for path, _ in data._images]
    assert names == [path.rpartition("/")[2] for path, _ in data._disparities]
    assert names == ["000000_10.png", "000001_10.png"]


# A dataset, what makes its files, one that is deleted, the text of the error.
INCOMPLETE = [
    ("CarlaStereo", files.carla, "trainingF/Town01/im1.png", r"\*/im0.png as \*/im1.png"),
    ("CarlaStereo", files.carla, "trainingF/Town01/disp1GT.pfm", "got 2 and 1"),
    ("Kitti2012Stereo", files.kitti_2012, "training/disp_noc/000000_10.png", "got 1 and 2"),
]


@pytest.mark.parametrize("name, make, path, text", INCOMPLETE, ids=lambda v: str(v)[:20])
def test_incomplete_datasets_are_refused(name, make, path, text, tmp_path):
    make(tmp_path)
    [folder] = tmp_path.iterdir()
    (folder / path).unlink()
    with pytest.raises(ValueError, match=rf"{name}: expected .*{text}"):
        getattr(datasets, name)(tmp_path)


def test_damaged_settings_of_cameras_are_refused(tmp_path):
    files.falling_things(tmp_path)
    path = tmp_path / "FallingThings/single/002_can/kitchen_0/_camera_settings.json"
    for content in ("", "[]", '{"camera_settings": []}', '{"camera_settings": null}'):
        path.write_text(content)
        with pytest.raises(ValueError, match=r"_camera_settings.json' is damaged"):
            datasets.FallingThingsStereo(tmp_path)[0]


# The split, what it is opened with, the folder of a scene that stands for all, and how many scenes
# and archives there are.
DOWNLOADS = [
    ("train", "perfect", "Adirondack-perfect", 10, 20),
    ("additional", "imperfect", "Backpack-imperfect", 13, 26),
    ("test", None, "Plants", 1, 1),
]


@pytest.mark.parametrize("split, kind, scene, n_scenes, n_archives", DOWNLOADS)
def test_middlebury_is_downloaded_once(
    split, kind, scene, n_scenes, n_archives, tmp_path, monkeypatch
):
    files.middlebury(tmp_path / "made")
    asked = []

    def fetch(urls, path, checksum, **kwargs):
        asked.append(urls[0])
        folder = "MiddEval3/testF/Plants" if split == "test" else Path(path).stem
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive:
            for file in (tmp_path / "made/Middlebury2014" / split / scene).iterdir():
                archive.write(file, f"{folder}/{file.name}")

    monkeypatch.setattr(_download, "fetch", fetch)
    for _ in range(2):
        data = datasets.Middlebury2014Stereo(tmp_path / "root", split, kind, download=True)
        assert (len(data), len(asked)) == (n_scenes, n_archives)
    assert os.listdir(tmp_path / "root/Middlebury2014") == [split]
    assert all(url.startswith("https://vision.middlebury.edu/stereo/") for url in asked)


def test_other_exposures_are_drawn(tmp_path):
    files.middlebury(tmp_path)
    data = datasets.Middlebury2014Stereo(tmp_path, use_ambient_views=True)
    random.seed(0)
    assert len({data[0][1].tobytes() for _ in range(20)}) == 3
    assert len({data[0][0].tobytes() for _ in range(20)}) == 1


def test_disparities_of_another_mode_are_refused(tmp_path):
    files.sintel_stereo(tmp_path)
    path = tmp_path / "Sintel/training/disparities/alley_1/frame_0001.png"
    file_formats.image(path, mode="L")
    with pytest.raises(ValueError, match=r"frame_0001.png': expected an image of mode 'RGB', got"):
        datasets.SintelStereo(tmp_path)[0]
