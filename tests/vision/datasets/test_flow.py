"""Datasets of optical flow and of stereo pairs, without torchvision to compare with."""

import os
import pickle
import random
import re
import struct
import zipfile
import zlib
from pathlib import Path

import file_formats
import flow_files as files
import numpy as np
import pytest
from PIL import Image

from facula import _download
from facula.vision import datasets
from facula.vision.datasets._flow_files import read_flo, read_gray, read_pfm, read_rgb16

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
        assert rest[0].shape == (1 if "Stereo" in name else 2, 4, 6)
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


def test_transforms_of_stereo_pairs_get_both_views(tmp_path):
    files.carla(tmp_path)
    seen = []
    data = datasets.CarlaStereo(tmp_path, lambda *parts: seen.append(parts) or parts)
    left, right, disparity = data[0]
    [(images, maps, masks)] = seen
    assert (images, masks) == ((left, right), (None, None))
    assert maps[0] is disparity
    assert not np.array_equal(maps[0], maps[1])


def test_a_flow_can_be_repeated(tmp_path):
    files.kitti_flow(tmp_path)
    data = 3 * datasets.KittiFlow(tmp_path)
    assert len(data) == 6
    assert np.array_equal(data[5][2], data[1][2])


def test_disparities_of_kitti_2015_are_those_of_their_frames(tmp_path):
    files.kitti_2015(tmp_path, frames=(10, 11))  # as in the archive
    data = datasets.Kitti2015Stereo(tmp_path)
    names = [path.rpartition("/")[2] for path, _ in data._images]
    assert names == [path.rpartition("/")[2] for path, _ in data._disparities]
    assert names == ["000000_10.png", "000001_10.png"]


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


def test_maps_have_the_numbers_of_their_files(tmp_path):
    files.flo(tmp_path / "a.flo", seed=3)
    expected = files.numbers(4, 6, 2, seed=3).transpose(2, 0, 1)
    assert np.array_equal(read_flo(str(tmp_path / "a.flo")), expected)
    for big in (False, True):
        files.pfm(tmp_path / "a.pfm", 3, seed=3, big=big)
        found = read_pfm(str(tmp_path / "a.pfm"), 2)
        expected = files.numbers(4, 6, 3, seed=3)[::-1, :, :2].transpose(2, 0, 1)
        assert found.dtype == np.dtype("float32")
        assert np.array_equal(found, expected)
    for n_channels, read in ((1, read_gray), (3, read_rgb16)):
        files.png16(tmp_path / "a.png", n_channels, seed=3)
        found = read(str(tmp_path / "a.png"))
        assert found.dtype == np.dtype("uint16")
        values = np.random.RandomState(3).randint(0, 1 << 16, (4, 6, n_channels))[1:, :, :2]
        assert np.array_equal(found.reshape(4, 6, -1)[1:, :, :2], values)


def head_of_flo(width, height, n_bytes=0):
    return b"PIEH" + struct.pack("<ii", width, height) + bytes(n_bytes)


def read_pfm_1(path):
    return read_pfm(path, 1)


# The reader, the content of the file, and the text of the error.
BAD = [
    (read_flo, b"", "is no .flo file"),
    (read_flo, b"FLOW" + bytes(20), "is no .flo file: it does not begin with b'PIEH'"),
    (read_flo, b"PIEH\1\0", "is damaged"),
    (
        read_flo,
        head_of_flo(2, 3, 47),
        r"is damaged: 47 bytes follow .* 3 rows of 2 pixels of 8 bytes",
    ),
    (read_flo, head_of_flo(2**31 - 1, 2**31 - 1, 8), "is damaged"),
    (read_flo, head_of_flo(-1, 4, 64), "is damaged"),
    (read_flo, head_of_flo(0, 4), "is damaged"),
    (read_pfm_1, b"", "is no .pfm file"),
    (read_pfm_1, b"x" * 10000, "is no .pfm file"),
    (read_pfm_1, b"P6\n2 2\n-1\n" + bytes(16), "is no .pfm file"),
    (read_pfm_1, b"Pf\n2\n-1\n" + bytes(16), "is no .pfm file"),
    (read_pfm_1, b"Pf\n2 x\n-1\n" + bytes(16), "is no .pfm file"),
    (read_pfm_1, b"Pf\n2 2\n\n" + bytes(16), "is no .pfm file"),
    (read_pfm_1, b"Pf\n2 2\nlow\n" + bytes(16), "is no .pfm file"),
    (read_pfm_1, b"Pf\n2 2\n-1\n" + bytes(15), r"is damaged: 15 bytes follow .* 2 rows of 2 pix"),
    (read_pfm_1, b"Pf\n-2 -2\n-1\n" + bytes(16), "is damaged"),
    (read_pfm_1, b"PF\n99999999999 99999999999\n-1\n", "is damaged"),
]


def id_of(value):
    return getattr(value, "__name__", str(value)[-20:])


@pytest.mark.parametrize("read, content, text", BAD, ids=id_of)
def test_damaged_maps_are_named(read, content, text, tmp_path):
    path = tmp_path / "map"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}' {text}"):
        read(str(path))


def test_maps_of_too_few_channels_are_refused(tmp_path):
    path = str(tmp_path / "map.pfm")
    files.pfm(tmp_path / "map.pfm", 1)
    with pytest.raises(ValueError, match=r"map.pfm': expected 2 channels, got 1"):
        read_pfm(path, 2)
    file_formats.image(tmp_path / "map.png")
    with pytest.raises(ValueError, match=r"map.png': expected an image of one channel, got mode"):
        read_gray(str(tmp_path / "map.png"))
    files.sintel_stereo(tmp_path)
    path = tmp_path / "Sintel/training/disparities/alley_1/frame_0001.png"
    file_formats.image(path, mode="L")
    with pytest.raises(ValueError, match=r"frame_0001.png': expected an image of mode 'RGB', got"):
        datasets.SintelStereo(tmp_path)[0]


def png_that_says(width, height, path):
    """Change the size in the head of a PNG file, and its checksum."""
    data = path.read_bytes()
    head = b"IHDR" + struct.pack(">II", width, height) + data[24:29]
    path.write_bytes(data[:12] + head + struct.pack(">I", zlib.crc32(head)) + data[33:])


def test_flows_that_are_no_png_of_16_bits_are_named(tmp_path):
    path = tmp_path / "flow.png"
    texts = []
    files.png16(path, 3)
    content = path.read_bytes()
    damage = (
        lambda: path.write_bytes(b""),
        lambda: path.write_bytes(content[:-30]),
        lambda: path.write_bytes(content[:40]),
        lambda: files.png16(path, 1),
        lambda: file_formats.image(path),
        lambda: Image.new("RGB", (6, 4)).save(path, "JPEG"),
        lambda: (path.write_bytes(content), png_that_says(9000, 9000, path)),
        lambda: (path.write_bytes(content), png_that_says(1 << 30, 1 << 30, path)),
    )
    for spoil in damage:
        spoil()
        with pytest.raises(RuntimeError, match=r"cannot read the flow '.*flow.png': ") as error:
            read_rgb16(str(path))
        texts.append(str(error.value).partition("png': ")[2])
    assert texts[3:5] == ["it has not three channels of 16 bits"] * 2
    assert texts[6] == "it is too short for 9000 x 9000 pixels"
    with pytest.raises(FileNotFoundError):
        read_rgb16(str(tmp_path / "none.png"))


@pytest.mark.parametrize("size, text", [(9000, "it is too short"), (1 << 30, "exceeds limit")])
def test_disparities_that_claim_too_many_pixels_are_named(size, text, tmp_path):
    path = tmp_path / "disparity.png"
    files.png16(path, 1)
    png_that_says(size, size, path)
    with pytest.raises(Exception, match=rf"cannot read the image '.*disparity.png': .*{text}"):
        read_gray(str(path))


def test_spoilt_bytes_never_do_more_than_raise(tmp_path):
    draw = random.Random(0)
    path = tmp_path / "map"
    makers = {read_flo: files.flo, read_pfm_1: files.pfm, read_rgb16: files.png16}
    for read, make in makers.items():
        make(path, **({"n_channels": 3} if read is read_rgb16 else {}))
        content = path.read_bytes()
        for _ in range(200):
            spoilt = bytearray(content[: draw.randrange(8, len(content) + 1)])
            for _ in range(draw.randrange(3)):
                spoilt[draw.randrange(len(spoilt))] = draw.randrange(256)
            path.write_bytes(spoilt)
            try:
                read(str(path))
            except (RuntimeError, ValueError) as error:
                assert str(path) in str(error)
