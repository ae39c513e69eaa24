"""Fine-tunes a ResNet-18 on a folder of images: a new head is trained, all else stays frozen.

The folder has a folder ``train`` and a folder ``val``, both with one folder of images for each
class. Without ``--data``, discs, squares and stripes are drawn for a try.
"""

import argparse
from pathlib import Path

from PIL import Image, ImageDraw
from tqdm import tqdm

import facula
from facula import hub, nn, optim
from facula.nn import functional as F
from facula.utils.data import DataLoader
from facula.vision import datasets, models, transforms

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def draw_shapes(folder, n_train=40, n_val=12, size=96):
    """A folder of images to train on: red discs, green squares and blue stripes."""
    for part, n in (("train", n_train), ("val", n_val)):
        for channel, shape in enumerate(("disc", "square", "stripes")):
            (folder / part / shape).mkdir(parents=True, exist_ok=True)
            for i in range(n):
                image = draw_shape(shape, channel, size)
                image.save(folder / part / shape / f"{i:03}.png")


def draw_shape(shape, channel, size):
    background, colour = facula.randint(0, 120, (2, 3)).tolist()
    colour[channel] = 255
    image = Image.new("RGB", (size, size), tuple(background))
    draw = ImageDraw.Draw(image)
    x, y, side = facula.randint(size // 4, size // 2, (3,)).tolist()
    if shape == "disc":
        draw.ellipse((x, y, x + side, y + side), tuple(colour))
    elif shape == "square":
        draw.rectangle((x, y, x + side, y + side), tuple(colour))
    else:
        for top in range(y // 2, size, size // 6):
            draw.rectangle((0, top, size, top + size // 12), tuple(colour))
    return image


def make_loaders(folder, size, batch_size, n_workers):
    """Batches of ``train``, augmented, and of ``val``; and the names of the classes."""
    normalize = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    augment = [
        transforms.RandomResizedCrop(size, scale=(0.5, 1.0)),
        transforms.RandomHorizontalFlip(),
        *normalize,
    ]
    middle = [transforms.Resize(size * 8 // 7), transforms.CenterCrop(size), *normalize]
    train = datasets.ImageFolder(folder / "train", transforms.Compose(augment))
    val = datasets.ImageFolder(folder / "val", transforms.Compose(middle))
    return (
        DataLoader(train, batch_size, shuffle=True, num_workers=n_workers),
        DataLoader(val, batch_size, num_workers=n_workers),
        train.classes,
    )


def make_model(n_classes, weights=None):
    """A ResNet-18 of which only the head, for so many classes, can be trained.

    The weights are those of a file, else those in the cache, else random ones.
    """
    known = models.ResNet18_Weights.DEFAULT
    cached = Path(hub.get_dir()) / "checkpoints" / Path(known.url).name
    if weights is None and cached.exists():
        model = models.resnet18(weights=known)
    else:
        model = models.resnet18()
        if weights is not None:
            model.load_state_dict(facula.load(weights))
    model.requires_grad_(False)
    model.fc = nn.Linear(model.fc.in_features, n_classes)
    return model


def train(model, batches, val, n_epochs, lr=0.003):
    """The losses of all steps, and the accuracy on ``val``."""
    optimizer = optim.Adam(model.fc.parameters(), lr=lr)
    losses = []
    with tqdm(range(n_epochs), "training", unit="epoch", disable=None) as epochs:
        for _ in epochs:
            model.train()
            for images, labels in batches:
                loss = F.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            epochs.set_postfix(loss=f"{losses[-1]:.4f}")
    return losses, accuracy(model, val)


@facula.no_grad()
def accuracy(model, batches):
    model.eval()
    right = [(model(images).argmax(dim=1) == labels).float() for images, labels in batches]
    return facula.cat(right).mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder with train and val")
    parser.add_argument("--weights", type=Path, help="a file such as resnet18-f37072fd.pth")
    parser.add_argument("--size", type=int, default=64, help="of the images; 224 for photos")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path("results/finetune"))
    args = parser.parse_args()
    facula.manual_seed(args.seed)
    if args.data is None:
        args.data = args.results / "shapes"
        draw_shapes(args.data)
    batches, val, classes = make_loaders(args.data, args.size, args.batch_size, args.workers)
    model = make_model(len(classes), args.weights)
    _, val_accuracy = train(model, batches, val, args.epochs)
    args.results.mkdir(parents=True, exist_ok=True)
    facula.save({"model": model.state_dict(), "classes": classes}, args.results / "model.pt")
    print(f"accuracy on {len(val.dataset)} images of {len(classes)} classes: {val_accuracy:.1%}")
    print(f"model: {(args.results / 'model.pt').resolve()}")


if __name__ == "__main__":
    main()
