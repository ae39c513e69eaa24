"""Tiny datasets of images in the formats of the real ones, made for tests."""

import bz2
import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import numpy as np
from file_formats import idx, image, pixels, python2_pickle, tar, text
from PIL import Image

# Each of these makes one dataset in a folder.


def image_folder(root):
    for i, name in enumerate(("b/2.png", "b/deep/1.JPG", "a/3.bmp", "a/x.txt", "c d/4.png")):
        if name.endswith(".txt"):
            text(root / name)
        else:
            image(root / name, seed=i)
    text(root / "readme.png")


def mnist_files(n=(5, 3)):
    """The four files of MNIST, compressed."""
    files = {}
    for start, count in zip(("train", "t10k"), n, strict=True):
        digits = np.arange(count, dtype="uint8") % 10
        files[f"{start}-images-idx3-ubyte.gz"] = idx(pixels(count, 28, 28, seed=count))
        files[f"{start}-labels-idx1-ubyte.gz"] = idx(digits)
    return {name: gzip.compress(data) for name, data in files.items()}


def mnist(root, name="MNIST"):
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    for file, data in mnist_files().items():
        (folder / file[:-3]).write_bytes(gzip.decompress(data))


def emnist(root):
    folder = root / "EMNIST" / "raw"
    folder.mkdir(parents=True)
    for split in ("letters", "balanced"):
        for part in ("train", "test"):
            start = folder / f"emnist-{split}-{part}"
            Path(f"{start}-images-idx3-ubyte").write_bytes(idx(pixels(4, 28, 28)))
            Path(f"{start}-labels-idx1-ubyte").write_bytes(idx(np.arange(4, dtype="uint8")))


def qmnist(root):
    folder = root / "QMNIST" / "raw"
    folder.mkdir(parents=True)
    for start in ("qmnist-train", "qmnist-test", "xnist"):
        (folder / f"{start}-images-idx3-ubyte").write_bytes(idx(pixels(4, 28, 28)))
        labels = np.arange(32, dtype="int32").reshape(4, 8)
        (folder / f"{start}-labels-idx2-int").write_bytes(idx(labels))


def usps(root):
    for name in ("usps.bz2", "usps.t.bz2"):
        values = np.random.RandomState(len(name)).uniform(-1, 1, (3, 256))
        rows = (" ".join(f"{i + 1}:{v:.4f}" for i, v in enumerate(row)) for row in values)
        lines = "".join(f"{digit} {row}\n" for digit, row in zip((10, 1, 4), rows, strict=True))
        (root / name).write_bytes(bz2.compress(lines.encode()))


def cifar10_files():
    files = {}
    for i, name in enumerate([f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"]):
        labels = [(i + k) % 10 for k in range(3)]
        batch = {"batch_label": name, "labels": labels, "data": pixels(3, 3072, seed=i)}
        files[f"cifar-10-batches-py/{name}"] = python2_pickle(batch)
    names = {"label_names": [f"class {i}" for i in range(10)], "num_vis": 3072}
    files["cifar-10-batches-py/batches.meta"] = python2_pickle(names)
    return files


def cifar10(root):
    _write(root, cifar10_files())


def cifar100(root):
    files = {}
    for i, name in enumerate(("train", "test")):
        batch = {"fine_labels": [3, 99], "coarse_labels": [1, 2], "data": pixels(2, 3072, seed=i)}
        files[f"cifar-100-python/{name}"] = python2_pickle(batch)
    names = {"fine_label_names": [f"fine {i}" for i in range(100)]}
    files["cifar-100-python/meta"] = python2_pickle(names)
    _write(root, files)


def _write(root, files):
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def svhn(root):
    from scipy import io as scipy_io

    for split in ("train", "test", "extra"):
        arrays = {"X": pixels(32, 32, 3, 4), "y": np.array([[10], [1], [9], [2]], "uint8")}
        scipy_io.savemat(root / f"{split}_32x32.mat", arrays)


def stl10(root):
    folder = root / "stl10_binary"
    folder.mkdir(parents=True)
    for name, n in (("train", 5), ("test", 3), ("unlabeled", 2)):
        pixels(n, 3, 96, 96, seed=n).tofile(folder / f"{name}_X.bin")
        if name != "unlabeled":
            (np.arange(n, dtype="uint8") + 1).tofile(folder / f"{name}_y.bin")
    text(folder / "class_names.txt", "airplane", "bird", "car")
    text(folder / "fold_indices.txt", *(f"{i % 5} {(i + 1) % 5} " for i in range(10)))


_ANNOTATION = """<annotation><folder>VOC</folder><size><width>6</width><height>4</height></size>
<object><name>dog</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>3</xmax><ymax>3</ymax></bndbox>
</object>{more}</annotation>"""


def voc(root, base="VOCdevkit/VOC2012", sets=("train", "val", "trainval")):
    base = root / base
    for i, name in enumerate(("2007_01", "2007_02")):
        image(base / "JPEGImages" / f"{name}.jpg", seed=i)
        image(base / "SegmentationClass" / f"{name}.png", mode="P", seed=i)
        more = "<object><name>cat</name><part>a</part><part>b</part></object><empty/>" * i
        text(base / "Annotations" / f"{name}.xml", _ANNOTATION.format(more=more))
    for kind in ("Segmentation", "Main"):
        for which in sets:
            text(base / "ImageSets" / kind / f"{which}.txt", "2007_01", "2007_02")


def coco(root):
    for i, name in enumerate(("a.jpg", "b.png", "c.png")):
        image(root / name, seed=i)
    box = {"bbox": [1, 0, 3, 2], "area": 6.0, "iscrowd": 0}
    polygon = {"segmentation": [[1.0, 0.0, 4.0, 0.0, 4.0, 2.0, 1.0, 2.0]]}
    runs = {"segmentation": {"size": [4, 6], "counts": [2, 5, 17]}}
    content = {
        "images": [
            {"id": i, "file_name": name, "height": 4, "width": 6}
            for i, name in ((9, "a.jpg"), (4, "b.png"), (5, "c.png"))
        ],
        "categories": [
            {"id": 1, "name": "dog", "supercategory": "animal"},
            {"id": 3, "name": "cup", "supercategory": "kitchen"},
        ],
        "annotations": [
            {"id": 11, "image_id": 9, "category_id": 3, "caption": "a cup", **box, **polygon},
            {"id": 12, "image_id": 4, "category_id": 1, "caption": "a dog", **box, **polygon},
            {"id": 13, "image_id": 9, "category_id": 1, "caption": "two", **box, **runs},
        ],
    }
    (root / "instances.json").write_text(json.dumps(content))


def celeba(root):
    folder = root / "celeba"
    names = [f"{i:06}.jpg" for i in range(1, 8)]
    for i, name in enumerate(names):
        image(folder / "img_align_celeba" / name, seed=i)
    splits = (0, 0, 1, 2, 0, 1, 2)
    text(folder / "list_eval_partition.txt", *map("{} {}".format, names, splits))
    text(folder / "identity_CelebA.txt", *map("{} {}".format, names, (7, 8, 9, 7, 3, 3, 4)))
    attributes = [f"{n} {' '.join('1' if i % 3 else '-1' for i in range(40))}" for n in names]
    header = " ".join(f"Attr{i}" for i in range(40))
    text(folder / "list_attr_celeba.txt", "7", header, *attributes)
    boxes = (f"{n}  1  2 30  {40 + i}" for i, n in enumerate(names))
    text(folder / "list_bbox_celeba.txt", "7", "image_id x_1 y_1 width height", *boxes)
    marks = (f"{n}  {' '.join(str(i + k) for k in range(10))}" for i, n in enumerate(names))
    header = "lefteye_x lefteye_y righteye_x righteye_y nose_x nose_y a b c d"
    text(folder / "list_landmarks_align_celeba.txt", "7", header, *marks)


def food101(root):
    base = root / "food-101"
    for split in ("train", "test"):
        listed = {"sushi": ["sushi/1"], "apple_pie": ["apple_pie/1", "apple_pie/2"]}
        text(base / "meta" / f"{split}.json", json.dumps(listed))
    for i, name in enumerate([*listed["sushi"], *listed["apple_pie"]]):
        image(base / "images" / f"{name}.jpg", seed=i)


def stanford_cars(root):
    from scipy import io as scipy_io

    base = root / "stanford_cars"
    (base / "devkit").mkdir(parents=True)
    names = np.array(["AM General Hummer", "Acura RL"], dtype=object)
    scipy_io.savemat(base / "devkit" / "cars_meta.mat", {"class_names": names})
    fields = [("bbox_x1", "u1"), ("class", "u1"), ("fname", object)]
    cars = np.array([(1, 2, "00001.jpg"), (3, 1, "00002.jpg")], dtype=fields)
    scipy_io.savemat(base / "devkit" / "cars_train_annos.mat", {"annotations": cars})
    scipy_io.savemat(base / "cars_test_annos_withlabels.mat", {"annotations": cars})
    for folder in ("cars_train", "cars_test"):
        for i, name in enumerate(("00001.jpg", "00002.jpg")):
            image(base / folder / name, seed=i)


def oxford_pets(root):
    base = root / "oxford-iiit-pet"
    rows = ("Abyssinian_100 1 1 1", "american_bulldog_1 2 2 1", "Abyssinian_7 1 1 1")
    for split in ("trainval", "test"):
        text(base / "annotations" / f"{split}.txt", *rows)
    for i, row in enumerate(rows):
        image(base / "images" / f"{row.split()[0]}.jpg", seed=i)
        image(base / "annotations" / "trimaps" / f"{row.split()[0]}.png", mode="L", seed=i)


def dtd(root):
    base = root / "dtd" / "dtd"
    names = ("banded/banded_1.jpg", "braided/braided_2.jpg", "banded/banded_3.jpg")
    for split in ("train", "val", "test"):
        for partition in (1, 10):
            text(base / "labels" / f"{split}{partition}.txt", *names[partition == 10 :])
    for i, name in enumerate(names):
        image(base / "images" / name, seed=i)


def gtsrb(root):
    base = root / "gtsrb"
    names = ("00000/00000_0.ppm", "00000/00000_1.ppm", "00014/00000_0.ppm")
    for i, name in enumerate(names):
        image(base / "GTSRB" / "Training" / name, seed=i)
    test = base / "GTSRB" / "Final_Test" / "Images"
    for i in range(2):
        image(test / f"0000{i}.ppm", seed=i)
    header = "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId"
    rows = ("00000.ppm;53;54;6;5;48;49;16", "00001.ppm;42;45;5;5;36;40;1")
    text(base / "GT-final_test.csv", header, *rows)


def country211(root):
    for split in ("train", "valid", "test"):
        for i, name in enumerate(("AD/1.jpg", "ZW/2.jpg")):
            image(root / "country211" / split / name, seed=i)


def eurosat(root):
    for i, name in enumerate(("AnnualCrop/AnnualCrop_1.jpg", "River/River_1.jpg")):
        image(root / "eurosat" / "2750" / name, seed=i)


def fgvc_aircraft(root):
    data = root / "fgvc-aircraft-2013b" / "data"
    names = {
        "variant": ["707-320", "Challenger 600"],
        "family": ["Boeing 707", "Challenger"],
        "manufacturer": ["Boeing", "Bombardier"],
    }
    plural = {"variant": "variants", "family": "families", "manufacturer": "manufacturers"}
    for level, labels in names.items():
        text(data / f"{plural[level]}.txt", *labels)
        for split in ("train", "val", "trainval", "test"):
            rows = (f"{1000 + i} {labels[i % 2]}" for i in (1, 0, 3))
            text(data / f"images_{level}_{split}.txt", *rows)
    for i in (0, 1, 3):
        image(data / "images" / f"{1000 + i}.jpg", seed=i)


def flowers102(root):
    from scipy import io as scipy_io

    base = root / "flowers-102"
    for i in range(1, 7):
        image(base / "jpg" / f"image_{i:05}.jpg", seed=i)
    labels = np.array([[77, 1, 102, 4, 5, 6]], "uint8")
    scipy_io.savemat(base / "imagelabels.mat", {"labels": labels})
    splits = {"trnid": [[2, 1]], "valid": [[3, 4]], "tstid": [[6, 5]]}
    splits = {name: np.array(ids, "uint16") for name, ids in splits.items()}
    scipy_io.savemat(base / "setid.mat", splits)


def sun397(root):
    base = root / "SUN397"
    text(base / "ClassName.txt", "/a/abbey", "/a/apse/indoor", "/b/bar")
    for i, name in enumerate(("a/abbey/sun_1", "a/apse/indoor/sun_2", "b/bar/sun_3")):
        image(base / f"{name}.jpg", seed=i)


def rendered_sst2(root):
    for split in ("train", "valid", "test"):
        for i, name in enumerate(("negative/1.png", "positive/1.png", "positive/2.png")):
            image(root / "rendered-sst2" / split / name, seed=i)


IMAGENETTE = (
    *("n01440764", "n02102040", "n02979186", "n03000684", "n03028079"),
    *("n03394916", "n03417042", "n03425413", "n03445777", "n03888257"),
)


def imagenette(root):
    for folder in ("imagenette2", "imagenette2-160"):
        for split in ("train", "val"):
            for i, name in enumerate(IMAGENETTE):
                image(root / folder / split / name / f"{name}_1.JPEG", seed=i)


def clevr(root):
    base = root / "clevr" / "CLEVR_v1.0"
    for split in ("train", "val", "test"):
        names = [f"CLEVR_{split}_{i}.png" for i in (1, 0)]
        for i, name in enumerate(names):
            image(base / "images" / split / name, seed=i)
        scenes = [{"image_filename": n, "objects": [{}] * (3 + i)} for i, n in enumerate(names)]
        if split != "test":
            text(base / "scenes" / f"CLEVR_{split}_scenes.json", json.dumps({"scenes": scenes}))


def caltech101(root):
    base = root / "caltech101"
    for i, name in enumerate(("BACKGROUND_Google", "Faces", "Motorbikes", "airplanes", "ant")):
        for k in (1, 2):
            image(base / "101_ObjectCategories" / name / f"image_000{k}.jpg", seed=i + k)
    from scipy import io as scipy_io

    for name in ("Faces_2", "Motorbikes_16", "Airplanes_Side_2", "ant"):
        folder = base / "Annotations" / name
        folder.mkdir(parents=True)
        for k in (1, 2):
            outline = np.arange(6.0).reshape(2, 3) + k
            scipy_io.savemat(folder / f"annotation_000{k}.mat", {"obj_contour": outline})


def caltech256(root):
    base = root / "caltech256" / "256_ObjectCategories"
    for i, name in enumerate(("001.ak47", "002.american-flag")):
        for k in (1, 2):
            image(base / name / f"{i + 1:03}_000{k}.jpg", seed=i + k)
    image(base / "002.american-flag" / "002_0003.jpg", mode="L")


def omniglot(root):
    for i, part in enumerate(("images_background", "images_evaluation")):
        folder = root / "omniglot-py" / part
        for alphabet in ("Greek", "Latin"):
            for character in ("character02", "character01"):
                for k in (1, 2):
                    image(folder / alphabet / character / f"000{k}_01.png", mode="L", seed=i + k)
        (root / "omniglot-py" / f"{part}.zip").touch()


def fer2013(root, name="train.csv"):
    base = root / "fer2013"
    rows = [" ".join(map(str, pixels(48 * 48, seed=i))) for i in range(4)]
    if name in ("train.csv", "test.csv"):
        text(base / "train.csv", "emotion,pixels", *(f"{i},{row}" for i, row in enumerate(rows)))
        text(base / "test.csv", "pixels", *rows)
        return
    usage = ("Training", "PublicTest", "PrivateTest", "Training")
    rows = zip(range(4), rows, usage, strict=True)
    if name == "fer2013.csv":
        text(base / name, "emotion,pixels,Usage", *(f"{i},{row},{use}" for i, row, use in rows))
    else:
        text(base / name, "emotion, Usage, pixels", *(f"{i},{use},{row}" for i, row, use in rows))


def places365(root):
    text(root / "categories_places365.txt", *(f"/a/cat{i} {i}" for i in range(365)))
    lists = {
        "train_standard": ["/a/cat0/1.png 0", "/a/cat1/2.png 1"],
        "train_challenge": ["/a/cat0/1.png 0", "/a/cat1/2.png 1"],
        "val": ["V_1.png 3", "V_2.png 0"],
        "test": ["T_1.png", "T_2.png"],
    }
    for name, rows in lists.items():
        text(root / f"places365_{name}.txt", *rows)
        for size in ("large", "256"):
            part = name.partition("_")
            folder = f"data_{size}_{part[2]}" if part[0] == "train" else f"{name}_{size}"
            for i, row in enumerate(rows):
                image(root / folder / row.split()[0].lstrip("/"), seed=i)


def inaturalist(root, version="2021_train"):
    base = root / version
    if version.startswith("2021"):
        names = ("Animalia_Chordata_Aves_Anseriformes_Anatidae_Anas_acuta",)
        names += ("Plantae_Tracheophyta_Magnoliopsida_Rosales_Rosaceae_Rosa_canina",)
        folders = [f"0000{i}_{name}" for i, name in enumerate(names)]
    else:
        numbered = version != "2017"
        folders = ["Aves/1", "Plantae/0"] if numbered else ["Aves/Anas acuta", "Plantae/Rosa"]
    for i, folder in enumerate(folders):
        for k in (1, 2):
            image(base / folder / f"{k}.jpg", seed=i + k)


def kitti(root):
    base = root / "Kitti" / "raw"
    for i, name in enumerate(("000000", "000001")):
        image(base / "training" / "image_2" / f"{name}.png", seed=i)
        image(base / "testing" / "image_2" / f"{name}.png", seed=i)
        row = "{} 0.00 0 -0.20 712.40 143.00 810.73 307.92 1.89 0.48 1.20 1.84 1.47 8.41 0.01"
        rows = [row.format("Pedestrian"), row.format("Car")][: i + 1]
        text(base / "training" / "label_2" / f"{name}.txt", *rows)


def lfw(root):
    base = root / "lfw-py"
    people = {"Ann_Lee": 3, "Bob": 1, "Cy_Doe": 2}
    for folder in ("lfw", "lfw_funneled", "lfw-deepfunneled"):
        for i, (name, count) in enumerate(people.items()):
            for k in range(1, count + 1):
                image(base / folder / name / f"{name}_{k:04}.jpg", seed=i + k)
        (base / f"{folder.replace('_', '-')}.tgz").touch()
    text(base / "lfw-names.txt", *(f"{name}\t{n}" for name, n in people.items()))
    rows = ("Ann_Lee\t1\t2", "Cy_Doe\t1\t2", "Bob\t1\tCy_Doe\t1", "Ann_Lee\t3\tBob\t1")
    for split in ("Train", "Test"):
        text(base / f"pairsDev{split}.txt", "2", *rows)
        text(base / f"peopleDev{split}.txt", "2", "Ann_Lee\t2", "Bob\t1")
    text(base / "pairs.txt", "2\t2", *rows, *rows)
    text(base / "people.txt", "2", "2", "Ann_Lee\t2", "Bob\t1", "1", "Cy_Doe\t2")


def semeion(root):
    rows = []
    for i in range(3):
        bits = pixels(256, seed=i) % 2
        digit = [int(k == (i + 7)) for k in range(10)]
        rows.append(" ".join(f"{b}.0000" for b in bits) + " " + " ".join(map(str, digit)) + " ")
    text(root / "semeion.data", *rows)


def sbu(root):
    (root / "SBUCaptionedPhotoDataset.tar.gz").touch()
    base = root / "dataset"
    urls = [f"http://example.org/4385/{i}_abc.jpg" for i in range(3)]
    text(base / "SBU_captioned_photo_dataset_urls.txt", *urls)
    text(base / "SBU_captioned_photo_dataset_captions.txt", "one  ", "two", "three")
    for i in (0, 2):
        image(base / f"4385_{i}_abc.jpg", seed=i)
        image(base / f"{i}_abc.jpg", seed=i)


def sbd(root):
    from scipy import io as scipy_io

    for i, name in enumerate(("2008_01", "2008_02")):
        image(root / "img" / f"{name}.jpg", seed=i)
        (root / "cls").mkdir(exist_ok=True)
        edges = np.empty((20, 1), object)
        for k in range(20):
            from scipy.sparse import csc_matrix

            edges[k, 0] = csc_matrix(pixels(4, 6, seed=k) % 2)
        classes = {"Segmentation": pixels(4, 6, seed=i) % 21, "Boundaries": edges}
        scipy_io.savemat(root / "cls" / f"{name}.mat", {"GTcls": classes})
    for split in ("train", "val", "train_noval"):
        text(root / f"{split}.txt", "2008_01", "2008_02")


def widerface(root):
    base = root / "widerface"
    for split in ("train", "val", "test"):
        for i, name in enumerate(("0--Parade/p_1.jpg", "0--Parade/p_2.jpg", "1--Hand/h_1.jpg")):
            image(base / f"WIDER_{split}" / "images" / name, seed=i)
    for split in ("train", "val"):
        rows = ["0--Parade/p_1.jpg", "2", "1 2 3 4 0 0 0 0 0 0 ", "5 6 7 8 1 0 1 0 2 1 "]
        rows += ["0--Parade/p_2.jpg", "1", "9 8 7 6 2 0 0 1 0 0 "]
        rows += ["1--Hand/h_1.jpg", "0", "0 0 0 0 0 0 0 0 0 0 "]
        text(base / "wider_face_split" / f"wider_face_{split}_bbx_gt.txt", *rows)
    names = ("0--Parade/p_1.jpg", "1--Hand/h_1.jpg")
    text(base / "wider_face_split" / "wider_face_test_filelist.txt", *names)


def cityscapes(root):
    for mode, kinds in (("gtFine", ("train", "val", "test")), ("gtCoarse", ("train", "val"))):
        for split in (*kinds, *(["train_extra"] if mode == "gtCoarse" else [])):
            for i, name in enumerate(("aachen_000000_000019", "bochum_000001_000019")):
                city = name.partition("_")[0]
                image(root / "leftImg8bit" / split / city / f"{name}_leftImg8bit.png", seed=i)
                start = root / mode / split / city / f"{name}_{mode}"
                for kind, pixel in (("labelIds", "L"), ("instanceIds", "L"), ("color", "RGB")):
                    image(f"{start}_{kind}.png", mode=pixel, seed=i, limit=34)
                content = {"imgHeight": 4, "objects": [{"label": "road", "polygon": [[0, 1]]}]}
                text(f"{start}_polygons.json", json.dumps(content))


def photo_tour(root, n=300):
    base = root / "liberty"
    sheet = pixels(1024, 1024)
    base.mkdir(parents=True)
    for i in range(-(-n // 256)):
        Image.fromarray(sheet).save(base / f"patches{i:04}.bmp")
    text(base / "info.txt", *(f"{i // 3} 0" for i in range(n)))
    rows = ("0 0 0 1 0 0 0", "5 1 0 9 3 0 0", "298 99 0 299 99 0 0")
    text(base / "m50_100000_100000_0.txt", *rows)


def moving_mnist(root):
    base = root / "MovingMNIST"
    base.mkdir()
    np.save(base / "mnist_test_seq.npy", pixels(20, 3, 64, 64))


def flickr8k(root):
    rows = []
    for i, number in enumerate((1000268201, 1001773457)):
        image(root / f"{number}_693b08cb.jpg", seed=i)
        url = f"http://www.flickr.com/photos/user/{number}/"
        captions = f"<li>A dog number {i} . </li><li>It runs</li>"
        rows.append(f"<tr><td><a href='{url}'>{url}</a></td><td><ul>{captions}</ul></td></tr>")
    rows.append("<tr><td>Image Not Found</td><td><ul><li>Nothing</li></ul></td></tr>")
    text(root / "captions.html", "<h5>Flickr8k</h5>", "<table border=1>", *rows, "</table>")


def flickr30k(root):
    for i in range(2):
        image(root / f"{i}.jpg", seed=i)
    rows = ("1.jpg#0\tA dog .", "0.jpg#0\tA cat sits", "1.jpg#1\tIt runs")
    text(root / "results.token", *rows)


def lsun(root):
    import lmdb

    for name in ("bedroom_val", "tower_val"):
        env = lmdb.open(str(root / f"{name}_lmdb"), map_size=1 << 20)
        with env.begin(write=True) as transaction:
            for i in range(2):
                out = io.BytesIO()
                Image.fromarray(pixels(4, 6, 3, seed=i)).save(out, "PNG")
                transaction.put(f"key{i}".encode(), out.getvalue())
        env.close()


def pcam(root):
    import h5py

    (root / "pcam").mkdir()
    for split in ("train", "test", "valid"):
        start = root / "pcam" / f"camelyonpatch_level_2_split_{split}"
        with h5py.File(f"{start}_x.h5", "w") as file:
            file["x"] = pixels(3, 96, 96, 3)
        with h5py.File(f"{start}_y.h5", "w") as file:
            file["y"] = np.array([1, 0, 1], "uint8").reshape(3, 1, 1, 1)


def imagenet_archives(root):
    from scipy import io as scipy_io

    fields = [("ILSVRC2012_ID", "i4"), ("WNID", object), ("words", object)]
    fields += [("gloss", object), ("num_children", "i4")]
    rows = [(1, "n02", "dog, hound", "a dog", 0), (2, "n01", "cat", "a cat", 0)]
    rows += [(3, "n03", "animal", "a living thing", 2)]
    meta = io.BytesIO()
    scipy_io.savemat(meta, {"synsets": np.array(rows, dtype=fields)})
    data = "ILSVRC2012_devkit_t12/data"
    devkit = {f"{data}/meta.mat": meta.getvalue()}
    devkit[f"{data}/ILSVRC2012_validation_ground_truth.txt"] = b"2\n1\n2\n"
    (root / "ILSVRC2012_devkit_t12.tar.gz").write_bytes(tar(devkit, "w:gz"))
    pictures = []
    for i in range(3):
        out = io.BytesIO()
        Image.fromarray(pixels(4, 6, 3, seed=i)).save(out, "JPEG")
        pictures.append(out.getvalue())
    train = {f"n0{i}.tar": tar({f"n0{i}_1.JPEG": pictures[i]}) for i in (1, 2)}
    (root / "ILSVRC2012_img_train.tar").write_bytes(tar(train))
    val = {f"ILSVRC2012_val_0000000{i + 1}.JPEG": picture for i, picture in enumerate(pictures)}
    (root / "ILSVRC2012_img_val.tar").write_bytes(tar(val))


def archive_of(folder, name):
    """The bytes of a tar or zip archive of all files in a folder."""
    out = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(out, "w") as archive:
            for path in folder.rglob("*"):
                archive.write(path, path.relative_to(folder))
    else:
        with tarfile.open(fileobj=out, mode="w" if name.endswith("tar") else "w:gz") as archive:
            archive.add(folder, ".")
    return out.getvalue()


def made(make, tmp_path, *args):
    """The folder of a dataset that is made apart, to be packed."""
    folder = tmp_path / "made"
    folder.mkdir()
    make(folder, *args)
    return folder
