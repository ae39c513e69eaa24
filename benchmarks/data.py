"""The loader: its first batch, a trivial dataset, and images, in the caller and with 2 workers."""

import io
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path

from harness import Case, main

BATCH_SIZE = 64
EPOCH = "for batch in loader: pass"


def trivial(torch, n_batches, **kwargs):
    """Samples that are their index."""
    data = import_module(f"{torch.__name__}.utils.data")

    class Indices(data.Dataset):
        def __len__(self):
            return n_batches * BATCH_SIZE

        def __getitem__(self, i):
            return i

    return {"data": data, "loader": data.DataLoader(Indices(), BATCH_SIZE, **kwargs)}


def tensors(torch, **kwargs):
    """Rows of two tensors."""
    data = import_module(f"{torch.__name__}.utils.data")
    rows = data.TensorDataset(torch.rand(50 * BATCH_SIZE, 32), torch.arange(50 * BATCH_SIZE))
    return {"loader": data.DataLoader(rows, BATCH_SIZE, shuffle=True, **kwargs)}


def transforms_of(torch):
    if torch.__name__ == "facula":
        return import_module("facula.vision.transforms")
    sys.path.append(str(Path(__file__).resolve().parent.parent))
    return import_module("tests.parity.vision_oracle").torchvision.transforms


def images(torch, **kwargs):
    """JPEG files of photographic size, which are cropped, flipped and normalised."""
    from PIL import Image

    data = import_module(f"{torch.__name__}.utils.data")
    T = transforms_of(torch)
    noise = Image.effect_noise((320, 256), 60).convert("RGB")
    file = io.BytesIO()
    noise.resize((640, 512)).save(file, "JPEG", quality=85)
    jpeg = file.getvalue()
    transform = T.Compose(
        [
            T.RandomResizedCrop(224),
            T.RandomHorizontalFlip(),
            T.ToTensor(),
            T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )

    class Photos(data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, i):
            return transform(Image.open(io.BytesIO(jpeg))), i % 10

    return {"loader": data.DataLoader(Photos(), 16, shuffle=True, **kwargs)}


WORKERS = {"num_workers": 2, "persistent_workers": True}
NEW = f"next(iter(data.DataLoader(loader.dataset, {BATCH_SIZE}, num_workers=2)))"
CASES = [
    Case("loader: first batch, 2 processes", NEW, partial(trivial, n_batches=10), 2),
    Case("loader: 100 trivial batches of 64", EPOCH, partial(trivial, n_batches=100), 3),
    Case(
        "loader: 100 trivial batches, 2 processes",
        EPOCH,
        partial(trivial, n_batches=100, **WORKERS),
        3,
    ),
    Case(
        "loader: trivial batches, CPU time of the caller",
        EPOCH,
        partial(trivial, n_batches=100, **WORKERS),
        1,
        clock=time.process_time,
    ),
    Case("loader: 50 batches of rows of tensors", EPOCH, tensors, 1),
    Case("loader: rows of tensors, 2 processes", EPOCH, partial(tensors, **WORKERS), 1),
    Case("loader: 64 JPEG images to 3x224x224", EPOCH, images, 1),
    Case("loader: JPEG images, 2 processes", EPOCH, partial(images, **WORKERS), 1),
    Case(
        "loader: JPEG images, CPU time of the caller",
        EPOCH,
        partial(images, **WORKERS),
        1,
        clock=time.process_time,
    ),
]

if __name__ == "__main__":
    main(__file__)
