"""Trains a convolutional network on 8x8 digits: ``make demo``.

Stopped at any time, also by kill -9, it goes on from the last epoch when it is started again.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
from tqdm import tqdm

import facula
from facula import nn, optim
from facula.nn import functional as F
from facula.resume import Checkpoints
from facula.utils.tensorboard import SummaryWriter

DATA = Path(__file__).parent / "data" / "digits.npz"


def load_digits():
    """Images ``(N, 1, 8, 8)`` in [0, 1] and their labels, shuffled and cut into train and test."""
    with np.load(DATA) as file:
        images = facula.from_numpy(file["images"]).reshape(-1, 1, 8, 8).float() / 16
        labels = facula.from_numpy(file["labels"]).long()
    order = facula.randperm(len(labels))
    train, test = order[:1437], order[1437:]
    return (images[train], labels[train]), (images[test], labels[test])


class Net(nn.Module):
    """Logits ``(N, 10)`` of images ``(N, 1, 8, 8)``."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.dropout = nn.Dropout(0.25)
        self.hidden = nn.Linear(64 * 4 * 4, 128)
        self.output = nn.Linear(128, 10)

    def forward(self, x):
        x = self.dropout(self.features(x).flatten(1))
        return self.output(self.dropout(F.relu(self.hidden(x))))


def train(folder, logs, n_epochs, batch_size, seed):
    """The trained network, the loss of every step and the accuracy on the test images."""
    facula.manual_seed(seed)
    (images, labels), test = load_digits()
    model = Net()
    optimizer = optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    n_steps = n_epochs * -(-len(labels) // batch_size)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    checkpoints = Checkpoints(folder / f"{n_epochs}-{batch_size}-{seed}", keep_last=2, **parts)
    state = checkpoints.restore() or {"step": 0, "losses": []}
    done, losses = state["step"], state["losses"]
    if done:
        print(f"going on after epoch {done} of {n_epochs}")
    options = {"initial": done, "unit": "epoch", "disable": None}  # no bar without a terminal
    progress = tqdm(range(done, n_epochs), "training", n_epochs, **options)
    # What was logged after the checkpoint is hidden: it comes again.
    writer = SummaryWriter(logs, purge_step=len(losses) + 1)
    with progress as epochs, writer:
        writer.add_images("digits", test[0][:32])
        for epoch in epochs:
            for batch in facula.randperm(len(labels)).split(batch_size):
                loss = F.cross_entropy(model(images[batch]), labels[batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                scheduler.step()
                losses.append(loss.item())
                writer.add_scalar("loss", losses[-1], len(losses))
            writer.add_scalar("test accuracy", accuracy(model, *test), len(losses))
            checkpoints.save(epoch + 1, losses=losses)
            epochs.set_postfix(loss=f"{losses[-1]:.4f}")
    return model, losses, accuracy(model, *test)


@facula.no_grad()
def accuracy(model, images, labels):
    model.eval()
    right = model(images).argmax(dim=1) == labels
    model.train()
    return right.float().mean().item()


def save(folder, model, losses):
    folder.mkdir(parents=True, exist_ok=True)
    facula.save(model.state_dict(), folder / "weights.pt")
    lines = [f"{step},{loss:.6f}" for step, loss in enumerate(losses)]
    (folder / "loss.csv").write_text("\n".join(["step,loss", *lines, ""]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path("results/digits"))
    args = parser.parse_args()
    checkpoints, logs = args.results / "checkpoints", args.results / "logs"
    if not checkpoints.exists():
        shutil.rmtree(logs, ignore_errors=True)
    model, losses, test_accuracy = train(checkpoints, logs, args.epochs, args.batch_size, args.seed)
    save(args.results, model, losses)
    shutil.rmtree(checkpoints)  # the next start is a new training
    print(f"test accuracy: {test_accuracy:.1%}")
    print(f"weights and loss curve: {args.results.resolve()}")
    print(f"in pictures: facula view {logs.resolve()}")


if __name__ == "__main__":
    main()
