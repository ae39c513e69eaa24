"""Tiny datasets of optical flow and of stereo pairs in the formats of the real ones, for tests."""

import json
import struct
import zlib

import numpy as np
from file_formats import image, pixels, text
from PIL import Image


def numbers(*shape, seed=0):
    """An array of random floats, some infinite: what some datasets write where nothing is known."""
    array = np.random.RandomState(seed).uniform(-50, 50, shape).astype("float32")
    array.reshape(-1)[::5] = np.inf
    return array


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def flo(path, seed=0, size=(6, 4)):
    """A flow of Middlebury's format: a magic word, width, height, and pairs row by row."""
    head = np.array([202021.25], "<f4").tobytes() + np.array(size, "<i4").tobytes()
    write(path, head + numbers(size[1], size[0], 2, seed=seed).tobytes())


def pfm(path, n_channels=1, seed=0, size=(6, 4), big=False):
    """A portable float map: three lines of text, and rows from the bottom to the top."""
    shape = (size[1], size[0], 3) if n_channels == 3 else (size[1], size[0])
    letters, scale = "PF" if n_channels == 3 else "Pf", "1.0" if big else "-1.0"
    values = numbers(*shape, seed=seed).astype(">f4" if big else "<f4")
    head = f"{letters}\n{size[0]} {size[1]}\n{scale}\n".encode()
    write(path, head + values.tobytes())


def png16(path, n_channels=1, seed=0, size=(6, 4)):
    """A PNG file of 16 bits for each channel, as KITTI's, which Pillow cannot write for colours."""

    def chunk(kind, data):
        length, check = (struct.pack(">I", n) for n in (len(data), zlib.crc32(kind + data)))
        return length + kind + data + check

    width, height = size
    values = np.random.RandomState(seed).randint(0, 1 << 16, (height, width, n_channels))
    if n_channels == 3:
        values[..., 2] %= 2
    values[0, 0] = 0
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    header = struct.pack(">IIBBBBB", width, height, 16, 2 if n_channels == 3 else 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    write(path, b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts))


def flying_chairs(root):
    base = root / "FlyingChairs"
    for i in range(1, 5):
        flo(base / "data" / f"0000{i}_flow.flo", seed=i)
        for k in (1, 2):
            image(base / "data" / f"0000{i}_img{k}.ppm", seed=i + k)
    text(base / "FlyingChairs_train_val.txt", "1", "2", "1", "1")


def flying_things(root):
    base = root / "FlyingThings3D"
    for split in ("TRAIN", "TEST"):
        for scene in ("A/0000", "C/0001"):
            for camera in ("left", "right"):
                for i in range(3):
                    for name in ("clean", "final"):
                        folder = base / f"frames_{name}pass" / split / scene / camera
                        image(folder / f"000{i + 6}.png", seed=i)
                    for way in ("future", "past"):
                        folder = base / "optical_flow" / split / scene / f"into_{way}" / camera
                        name = f"OpticalFlowInto{way.title()}_000{i + 6}_{camera[0].upper()}.pfm"
                        pfm(folder / name, 3, seed=i)


def hd1k(root):
    base = root / "hd1k"
    for sequence in (0, 7, 35):
        for i in range(3):
            name = f"{sequence:06}_{i:04}.png"
            image(base / "hd1k_input" / "image_2" / name, seed=sequence + i)
            png16(base / "hd1k_flow_gt" / "flow_occ" / name, 3, seed=sequence + i)
    for i in range(2):
        for k in (10, 11):
            image(base / "hd1k_challenge" / "image_2" / f"{i:06}_{k}.png", seed=i + k)


def kitti_flow(root):
    base = root / "KittiFlow"
    for i in range(2):
        for split in ("training", "testing"):
            for k in (10, 11):
                image(base / split / "image_2" / f"{i:06}_{k}.png", seed=i + k)
        png16(base / "training" / "flow_occ" / f"{i:06}_10.png", 3, seed=i)


def sintel(root):
    base = root / "Sintel"
    for scene in ("alley_1", "bamboo_2"):
        for i in range(1, 4):
            for name in ("clean", "final"):
                for split in ("training", "test"):
                    image(base / split / name / scene / f"frame_000{i}.png", seed=i)
            if i < 3:
                flo(base / "training" / "flow" / scene / f"frame_000{i}.flo", seed=i)


def carla(root):
    for i, scene in enumerate(("Town01", "Town02")):
        folder = root / "carla-highres" / "trainingF" / scene
        for k in (0, 1):
            image(folder / f"im{k}.png", seed=i + k)
            pfm(folder / f"disp{k}GT.pfm", seed=i + k)


def kitti_2012(root):
    kitti_stereo(root / "Kitti2012", ("colored_0", "colored_1"), ("disp_noc",), (10, 11))


def kitti_2015(root, frames=(10,)):
    folders = ("image_2", "image_3"), ("disp_occ_0", "disp_occ_1")
    kitti_stereo(root / "Kitti2015", *folders, frames)


def kitti_stereo(base, images, disparities, frames):
    for i in range(2):
        for k, folder in enumerate(images):
            for split in ("training", "testing"):
                for frame in frames:
                    image(base / split / folder / f"{i:06}_{frame}.png", seed=i + k + frame)
        for k, folder in enumerate(disparities):
            png16(base / "training" / folder / f"{i:06}_10.png", seed=i + k)


def middlebury(root):
    base = root / "Middlebury2014"
    scenes = {"train": "Adirondack", "additional": "Backpack", "test": "Plants"}
    for split, scene in scenes.items():
        for kind in ("",) if split == "test" else ("-perfect", "-imperfect"):
            folder = base / split / f"{scene}{kind}"
            for i, name in enumerate(("im0", "im1", "im1E", "im1L")):
                image(folder / f"{name}.png", seed=i)
            if split != "test":
                for k in (0, 1):
                    pfm(folder / f"disp{k}.pfm", seed=k)


def crestereo(root):
    for i, folder in enumerate(("tree", "shapenet", "reflective", "hole")):
        for k, side in enumerate(("left", "right")):
            image(root / "CREStereo" / folder / f"img1_{side}.jpg", seed=i + k)
            png16(root / "CREStereo" / folder / f"img1_{side}.disp.png", seed=i + k)


def falling_things(root):
    for variant, scene in (("single", "002_can/kitchen_0"), ("mixed", "kitchen_1")):
        folder = root / "FallingThings" / variant / scene
        settings = {"camera_settings": [{"intrinsic_settings": {"fx": 768.16058349609375}}]}
        text(folder / "_camera_settings.json", json.dumps(settings))
        for i in range(2):
            for k, side in enumerate(("left", "right")):
                image(folder / f"00000{i}.{side}.jpg", seed=i + k)
                png16(folder / f"00000{i}.{side}.depth.png", seed=i + k)


def scene_flow(root):
    base = root / "SceneFlow"
    variants = {
        "Monkaa": ("a_rain", "eating"),
        "Driving": ("15mm_focallength/scene_forwards/fast", "35mm_focallength/scene_forwards/slow"),
        "FlyingThings3D": ("TRAIN/A/0000", "TEST/C/0001"),
    }
    for variant, scenes in variants.items():
        for scene in scenes:
            for k, side in enumerate(("left", "right")):
                for i in range(2):
                    for name in ("clean", "final"):
                        folder = base / variant / f"frames_{name}pass" / scene / side
                        image(folder / f"000{i}.png", seed=i + k)
                    pfm(base / variant / "disparity" / scene / side / f"000{i}.pfm", seed=i + k)


def sintel_stereo(root):
    base = root / "Sintel" / "training"
    for scene in ("alley_1", "bamboo_2"):
        for i in range(1, 3):
            name = f"frame_000{i}.png"
            for kind in ("clean", "final"):
                for k, side in enumerate(("left", "right")):
                    image(base / f"{kind}_{side}" / scene / name, seed=i + k)
            image(base / "disparities" / scene / name, seed=i)
            for k, kind in enumerate(("occlusions", "outofframe")):
                (base / kind / scene).mkdir(parents=True, exist_ok=True)
                mask = pixels(4, 6, seed=i + k) // 128 * 255
                Image.fromarray(mask).save(base / kind / scene / name)


def in_stereo(root):
    for split in ("train", "test"):
        for i, scene in enumerate(("000000", "000001")):
            folder = root / "InStereo2k" / split / scene
            for k, side in enumerate(("left", "right")):
                image(folder / f"{side}.png", seed=i + k)
                png16(folder / f"{side}_disp.png", seed=i + k)


def eth3d(root):
    base = root / "ETH3D"
    for i, scene in enumerate(("delivery_area_1l", "forest_1s")):
        for split in ("training", "test"):
            for k in (0, 1):
                image(base / f"two_view_{split}" / scene / f"im{k}.png", mode="L", seed=i + k)
        folder = base / "two_view_training_gt" / scene
        pfm(folder / "disp0GT.pfm", seed=i)
        Image.fromarray(pixels(4, 6, seed=i) // 128 * 255).save(folder / "mask0nocc.png")
