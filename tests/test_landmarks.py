"""The example with a dataset and transforms of one's own."""

import numpy as np
import pytest

import facula
from examples import landmarks
from facula.utils.data import DataLoader
from facula.vision import transforms

pytestmark = pytest.mark.promise("D5")


@pytest.fixture
def csv_path(tmp_path):
    return landmarks.draw_faces(tmp_path / "faces", n=16)


@pytest.mark.parametrize("n_workers", [0, 2])
def test_landmarks_follow_their_image_through_the_transforms(csv_path, n_workers):
    steps = [landmarks.Rescale(40), landmarks.RandomCrop(32), landmarks.ToTensor()]
    faces = landmarks.LandmarksDataset(csv_path, transforms.Compose(steps))
    assert faces.names == ["left_eye", "right_eye", "nose", "mouth"]
    facula.manual_seed(1)
    batches = list(DataLoader(faces, 6, shuffle=True, num_workers=n_workers))
    assert [tuple(batch["image"].shape) for batch in batches] == [
        (6, 3, 32, 32),
        (6, 3, 32, 32),
        (4, 3, 32, 32),
    ]
    assert batches[0]["landmarks"].shape == (6, 4, 2)
    n_dark = n_inside = 0
    for batch in batches:
        for image, points in zip(batch["image"], batch["landmarks"], strict=True):
            for x, y in points.round().long().tolist():
                if 0 <= x < 32 and 0 <= y < 32:
                    n_inside += 1
                    n_dark += image[:, y, x].max().item() < 0.5
    assert n_inside > 30
    assert n_dark > 0.9 * n_inside  # landmarks are drawn dark on a light face


def test_batches_do_not_depend_on_the_workers(csv_path):
    steps = [landmarks.Rescale(40), landmarks.RandomCrop(32), landmarks.ToTensor()]
    faces = landmarks.LandmarksDataset(csv_path, transforms.Compose(steps))

    def images(n_workers):
        facula.manual_seed(1)
        loader = DataLoader(faces, 4, shuffle=True, num_workers=n_workers)
        return facula.cat([batch["image"] for batch in loader])

    assert facula.equal(images(0), images(2))


def test_the_model_learns(csv_path):
    facula.manual_seed(0)
    distances = landmarks.train(csv_path, n_epochs=4, n_workers=0, size=32)
    assert distances[-1] < 0.7 * distances[0]


def test_a_missing_column_is_named(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("image_name,nose_x,mouth_x,mouth_y\na.png,1,2,3\n")
    with pytest.raises(ValueError, match=r"bad.csv: expected the columns .*; missing: nose_y\."):
        landmarks.LandmarksDataset(path)
    path.write_text("")
    with pytest.raises(ValueError, match="got none; missing: image_name"):
        landmarks.LandmarksDataset(path)


def test_a_missing_image_is_named(csv_path):
    (csv_path.parent / "003.png").unlink()
    faces = landmarks.LandmarksDataset(csv_path)
    with pytest.raises(FileNotFoundError, match=r"003\.png"):
        list(DataLoader(faces, None, num_workers=1))


def test_an_image_that_is_too_small_is_refused():
    sample = {"image": np.zeros((5, 9, 3), np.uint8), "landmarks": np.zeros((1, 2), np.float32)}
    with pytest.raises(ValueError, match=r"at least 6x6 pixels, got 5x9\. Rescale it first"):
        landmarks.RandomCrop(6)(sample)
