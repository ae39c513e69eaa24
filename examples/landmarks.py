"""Learns where the landmarks of a face are: a dataset of one's own with transforms of one's own.

The CSV file has a row for each image: the column ``image_name``, then pairs of columns such as
``left_eye_x, left_eye_y``. Without ``--csv``, a few faces are drawn for a try.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import facula
from facula import nn, optim
from facula.utils.data import DataLoader, Dataset
from facula.vision import transforms

NAMES = ("left_eye", "right_eye", "nose", "mouth")


class LandmarksDataset(Dataset):
    """Samples ``{"image": (H, W, 3) uint8, "landmarks": (N, 2) float32}``, in pixels."""

    def __init__(self, csv_path, transform=None):
        self.folder = Path(csv_path).parent
        self.transform = transform
        with open(csv_path, newline="") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            rows = list(reader)
        self.names = [column[:-2] for column in columns if column.endswith("_x")]
        wanted = ["image_name", *(f"{name}_y" for name in self.names)]
        missing = [column for column in wanted if column not in columns]
        if missing or not self.names:
            raise ValueError(
                f"{csv_path}: expected the columns image_name, <landmark>_x and <landmark>_y, "
                f"got {', '.join(columns) or 'none'}; missing: {', '.join(missing) or 'all x'}."
            )
        self.images = [row["image_name"] for row in rows]
        coordinates = [[row[f"{n}_{axis}"] for n in self.names for axis in "xy"] for row in rows]
        self.landmarks = np.array(coordinates, np.float32).reshape(len(rows), -1, 2)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        with Image.open(self.folder / self.images[index]) as image:
            sample = {"image": np.array(image.convert("RGB")), "landmarks": self.landmarks[index]}
        return self.transform(sample) if self.transform else sample


class Rescale:
    """Makes the shorter side of the image this long."""

    def __init__(self, size):
        self.size = size

    def __call__(self, sample):
        height, width = sample["image"].shape[:2]
        scale = self.size / min(height, width)
        size = round(width * scale), round(height * scale)
        image = Image.fromarray(sample["image"]).resize(size, Image.Resampling.BILINEAR)
        return {"image": np.array(image), "landmarks": sample["landmarks"] * np.float32(scale)}


class RandomCrop:
    """Cuts out a square at a random place."""

    def __init__(self, size):
        self.size = size

    def __call__(self, sample):
        image, size = sample["image"], self.size
        if min(image.shape[:2]) < size:
            raise ValueError(
                f"RandomCrop: expected an image of at least {size}x{size} pixels, got "
                f"{image.shape[0]}x{image.shape[1]}. Rescale it first."
            )
        top, left = (facula.randint(0, n - size + 1, ()).item() for n in image.shape[:2])
        corner = np.array([left, top], np.float32)
        return {
            "image": image[top : top + size, left : left + size],
            "landmarks": sample["landmarks"] - corner,
        }


class ToTensor:
    """Makes tensors: the image with its channels first, in [0, 1]."""

    def __call__(self, sample):
        image = facula.from_numpy(sample["image"].copy()).permute(2, 0, 1).float() / 255
        return {"image": image, "landmarks": facula.from_numpy(sample["landmarks"].copy())}


def draw_faces(folder, n=48, size=64):
    """A CSV file and the images of round faces somewhere in the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "landmarks.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_name", *(f"{name}_{axis}" for name in NAMES for axis in "xy")])
        for i in range(n):
            image, points = draw_face(size + 8 * (i % 3), size)
            image.save(folder / f"{i:03}.png")
            writer.writerow([f"{i:03}.png", *(v for point in points for v in point)])
    return folder / "landmarks.csv"


def draw_face(width, height):
    radius = height * 5 // 16
    x, y = (facula.randint(radius, n - radius, ()).item() for n in (width, height))
    image = Image.new("RGB", (width, height), (40, 60, 90))
    draw = ImageDraw.Draw(image)
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), (230, 190, 150))
    shifts = [(-0.4, -0.3), (0.4, -0.3), (0, 0.1), (0, 0.5)]
    points = [(x + round(dx * radius), y + round(dy * radius)) for dx, dy in shifts]
    for px, py in points:
        draw.ellipse((px - 2, py - 2, px + 2, py + 2), (30, 20, 20))
    return image, points


def make_model(size, n_landmarks):
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * (size // 4) ** 2, 64),
        nn.ReLU(),
        nn.Linear(64, 2 * n_landmarks),
        nn.Unflatten(1, (n_landmarks, 2)),
    )


def train(csv_path, n_epochs, n_workers, size=48):
    """The mean distance in pixels between landmarks and where the model sees them, by epoch."""
    transform = transforms.Compose([Rescale(size * 9 // 8), RandomCrop(size), ToTensor()])
    faces = LandmarksDataset(csv_path, transform)
    batches = DataLoader(faces, batch_size=8, shuffle=True, num_workers=n_workers)
    model = make_model(size, len(faces.names))
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    distances = []
    for epoch in range(n_epochs):
        total = 0.0
        for batch in batches:
            predicted = model(batch["image"])
            loss = nn.functional.mse_loss(predicted, batch["landmarks"] / size)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            errors = (predicted.detach() * size - batch["landmarks"]).norm(dim=-1).mean(dim=1)
            total += errors.sum().item()
        distances.append(total / len(faces))
        print(f"epoch {epoch + 1}: {distances[-1]:.2f} pixels off")
    return distances


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", type=Path, help="images lie beside it")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    facula.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        csv_path = args.csv or draw_faces(Path(folder))
        train(csv_path, args.epochs, args.workers)


if __name__ == "__main__":
    main()
