"""The same flows and stereo pairs read by torchvision and by facula.vision."""

import gc
import random

import file_formats
import flow_files as files
import numpy as np
import pytest

from tests.parity.test_vision_datasets import Apply, both, plain
from tests.parity.vision_oracle import torchvision

import facula  # isort: skip
from facula.vision import datasets

pytestmark = [
    pytest.mark.promise("D3"),
    # torchvision leaves image files open, and divides by depths of zero.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def _close_files():
    yield
    gc.collect()  # here, where a file that torchvision has left open is no error


FLOWS = {
    "FlyingChairs": (files.flying_chairs, [{}, {"split": "val"}]),
    "FlyingThings3D": (
        files.flying_things,
        [
            {},
            {"split": "test", "camera": "right"},
            {"pass_name": "both", "camera": "both"},
            {"pass_name": "final"},
        ],
    ),
    "HD1K": (files.hd1k, [{}, {"split": "test"}]),
    "KittiFlow": (files.kitti_flow, [{}, {"split": "test"}]),
    "Sintel": (
        files.sintel,
        [{}, {"pass_name": "final"}, {"pass_name": "both"}, {"split": "test"}],
    ),
}
STEREO = {
    "CREStereo": (files.crestereo, [{}]),
    "CarlaStereo": (files.carla, [{}]),
    "ETH3DStereo": (files.eth3d, [{}, {"split": "test"}]),
    "FallingThingsStereo": (
        files.falling_things,
        [{}, {"variant": "mixed"}, {"variant": "both"}],
    ),
    "InStereo2k": (files.in_stereo, [{}, {"split": "test"}]),
    "Kitti2012Stereo": (files.kitti_2012, [{}, {"split": "test"}]),
    "Kitti2015Stereo": (files.kitti_2015, [{}, {"split": "test"}]),
    "Middlebury2014Stereo": (
        files.middlebury,
        [
            {},
            {"calibration": "imperfect"},
            {"split": "additional", "calibration": "both"},
            {"split": "test", "calibration": None},
        ],
    ),
    "SceneFlowStereo": (
        files.scene_flow,
        [
            {},
            {"variant": "Monkaa", "pass_name": "both"},
            {"variant": "Driving", "pass_name": "final"},
        ],
    ),
    "SintelStereo": (files.sintel_stereo, [{}, {"pass_name": "clean"}, {"pass_name": "both"}]),
}
CASES = {**FLOWS, **STEREO}


def pair_of(name, root, **kwargs):
    theirs, ours = both(name, root, **kwargs)
    if name == "Sintel":  # its scenes are in the order of the disk
        order = sorted(range(len(theirs)), key=theirs._image_list.__getitem__)
        for listed in (theirs._image_list, theirs._flow_list):
            listed[:] = [listed[i] for i in order if listed]
    return theirs, ours


@pytest.mark.parametrize(
    "name, kwargs",
    [(name, kwargs) for name, (_, variants) in CASES.items() for kwargs in variants],
    ids=str,
)
def test_samples_agree(name, kwargs, tmp_path):
    CASES[name][0](tmp_path)
    theirs, ours = pair_of(name, tmp_path, **kwargs)
    assert repr(ours) == repr(theirs)
    assert len(ours) == len(theirs) > 0
    lists = ("_image_list", "_flow_list") if name in FLOWS else ("_images", "_disparities")
    for attribute in lists:
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    for index in range(len(theirs)):
        assert plain(ours[index]) == plain(theirs[index])
    assert plain(ours[-1]) == plain(theirs[-1])


TRANSFORMS = [
    lambda *parts: parts,
    lambda *parts: [*parts[:-1], parts[-1] if parts[-1] is not None else "a mask"],
]
STEREO_TRANSFORMS = [
    lambda images, maps, masks: (images[::-1], maps, masks),
    lambda images, maps, masks: [images, maps, ("left", "right")],
    lambda images, maps, masks: (images, ["map"], [None]),
]


@pytest.mark.parametrize("name", CASES)
def test_transforms_agree(name, tmp_path):
    make, variants = CASES[name]
    make(tmp_path)
    for kwargs in (variants[0], variants[-1]):
        for function in TRANSFORMS if name in FLOWS else STEREO_TRANSFORMS:
            theirs, ours = pair_of(name, tmp_path, transforms=Apply(function), **kwargs)
            assert repr(ours) == repr(theirs)
            assert plain(ours[0]) == plain(theirs[0])
        theirs, ours = pair_of(name, tmp_path, transforms=lambda *parts: parts[:2], **kwargs)
        for data in (theirs, ours):
            with pytest.raises(ValueError):
                data[0]


@pytest.mark.parametrize("name", ["FlyingThings3D", "HD1K", "KittiFlow", "Sintel"])
def test_loaders_get_the_same_paths(name, tmp_path):
    CASES[name][0](tmp_path)
    theirs, ours = pair_of(name, tmp_path, loader=str)
    assert plain(ours[0]) == plain(theirs[0])


def test_repeated_flows_agree(tmp_path):
    files.kitti_flow(tmp_path)
    theirs, ours = both("KittiFlow", tmp_path)
    assert isinstance(3 * ours, facula.utils.data.ConcatDataset)
    assert len(3 * ours) == len(3 * theirs) == 6
    for data in (theirs, ours):
        with pytest.raises(TypeError):
            data * 3


def test_training_sets_without_flows_agree(tmp_path):
    for name, make, folder in (
        ("Sintel", files.sintel, "Sintel/training/flow"),
        ("KittiFlow", files.kitti_flow, "KittiFlow/training/flow_occ"),
    ):
        make(tmp_path)
        (tmp_path / folder).rename(tmp_path / name / "elsewhere")
        theirs, ours = pair_of(name, tmp_path)
        assert plain(ours[0]) == plain(theirs[0])
        assert ours[0][2] is None


def test_views_in_other_lights_are_drawn_alike(tmp_path):
    files.middlebury(tmp_path)
    for gone in (None, "im1E.png", "im1L.png"):
        if gone is not None:
            (tmp_path / "Middlebury2014/train/Adirondack-perfect" / gone).unlink()
        found = []
        for data in both("Middlebury2014Stereo", tmp_path, use_ambient_views=True):
            random.seed(5)
            found.append([plain(data[0]) for _ in range(10)])
        assert found[0] == found[1]


@pytest.mark.parametrize("n_channels", [1, 3])
@pytest.mark.parametrize("big", [False, True])
def test_float_maps_of_either_order_agree(n_channels, big, tmp_path):
    files.carla(tmp_path)
    files.pfm(tmp_path / "carla-highres/trainingF/Town01/disp0GT.pfm", n_channels, 3, (5, 7), big)
    theirs, ours = both("CarlaStereo", tmp_path)
    assert plain(ours[0]) == plain(theirs[0])


@pytest.mark.parametrize("size", [(1, 1), (37, 23), (300, 200)])
def test_flows_of_16_bits_agree(size, tmp_path):
    files.kitti_flow(tmp_path)
    files.png16(tmp_path / "KittiFlow/training/flow_occ/000000_10.png", 3, 9, size)
    theirs, ours = both("KittiFlow", tmp_path)
    for part in (2, 3):
        np.testing.assert_array_equal(ours[0][part], theirs[0][part], strict=True)


def test_maps_of_8_bits_agree(tmp_path):
    files.kitti_2012(tmp_path)
    path = tmp_path / "Kitti2012/training/disp_noc/000000_10.png"
    file_formats.image(path, mode="L")
    theirs, ours = both("Kitti2012Stereo", tmp_path)
    assert plain(ours[0]) == plain(theirs[0])


BAD = [
    *((name, {}) for name in CASES),
    ("FlyingChairs", {"split": "test"}),
    ("FlyingThings3D", {"camera": "middle"}),
    ("FlyingThings3D", {"pass_name": "dirty"}),
    ("FlyingThings3D", {"split": "val"}),
    ("HD1K", {"split": "test"}),
    ("HD1K", {"split": "val"}),
    ("KittiFlow", {"split": 3}),
    ("Sintel", {"pass_name": None}),
    ("ETH3DStereo", {"split": "val"}),
    ("FallingThingsStereo", {"variant": "many"}),
    ("InStereo2k", {"split": "val"}),
    ("Kitti2012Stereo", {"split": "val"}),
    ("Kitti2015Stereo", {"split": "val"}),
    ("Middlebury2014Stereo", {"split": "test"}),
    ("Middlebury2014Stereo", {"split": "test", "calibration": None}),
    ("Middlebury2014Stereo", {"calibration": None}),
    ("Middlebury2014Stereo", {"calibration": "good"}),
    ("SceneFlowStereo", {"variant": "Sintel"}),
    ("SceneFlowStereo", {"pass_name": "dirty"}),
    ("SintelStereo", {"pass_name": "dirty"}),
]


@pytest.mark.parametrize("name, kwargs", BAD, ids=str)
def test_errors_have_the_same_type(name, kwargs, tmp_path):
    with pytest.raises(Exception) as theirs:
        getattr(torchvision.datasets, name)(tmp_path, **kwargs)
    with pytest.raises(theirs.type):
        getattr(datasets, name)(tmp_path, **kwargs)


# A dataset, what makes its files, one of them, and how many bytes of it are left.
DAMAGED = [
    ("Sintel", files.sintel, "Sintel/training/flow/alley_1/frame_0001.flo", 0),
    ("Sintel", files.sintel, "Sintel/training/flow/alley_1/frame_0001.flo", -4),
    ("CarlaStereo", files.carla, "carla-highres/trainingF/Town01/disp0GT.pfm", 0),
    ("CarlaStereo", files.carla, "carla-highres/trainingF/Town01/disp0GT.pfm", -4),
    ("KittiFlow", files.kitti_flow, "KittiFlow/training/flow_occ/000000_10.png", -30),
    ("Kitti2012Stereo", files.kitti_2012, "Kitti2012/training/disp_noc/000000_10.png", -30),
    ("SintelStereo", files.sintel_stereo, "Sintel/training/disparities/alley_1/frame_0001.png", 60),
    ("KittiFlow", files.kitti_flow, "KittiFlow/training/image_2/000000_10.png", 60),
]


@pytest.mark.parametrize(
    "name, make, path, end", DAMAGED, ids=[f"{name}{end}" for name, _, _, end in DAMAGED]
)
def test_damaged_files_raise_alike(name, make, path, end, tmp_path):
    make(tmp_path)
    path = tmp_path / path
    path.write_bytes(path.read_bytes()[:end])
    theirs, ours = pair_of(name, tmp_path)
    with pytest.raises(Exception) as expected:
        theirs[0]
    with pytest.raises(expected.type, match=path.name):
        ours[0]


@pytest.mark.parametrize("name", ["Sintel", "CarlaStereo"])
def test_wrapping_raises_alike(name, tmp_path):
    CASES[name][0](tmp_path)
    theirs, ours = both(name, tmp_path)
    for package, data in ((torchvision.datasets, theirs), (datasets, ours)):
        with pytest.raises(TypeError):
            package.wrap_dataset_for_transforms_v2(data)
