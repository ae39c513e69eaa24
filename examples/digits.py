"""Trains a three-layer perceptron on 8x8 digits with plain tensors and autograd: ``make demo``."""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from tqdm import tqdm

import facula

DATA = Path(__file__).parent / "data" / "digits.npz"
SIZES = [64, 128, 64, 10]
LR, MOMENTUM, WEIGHT_DECAY = 0.05, 0.9, 1e-4


def load_digits():
    """Images in [0, 1] as rows of 64 and their labels, shuffled and cut into train and test."""
    with np.load(DATA) as file:
        images = facula.from_numpy(file["images"]).reshape(-1, 64).float() / 16
        labels = facula.from_numpy(file["labels"]).long()
    order = facula.randperm(len(labels))
    train, test = order[:1437], order[1437:]
    return (images[train], labels[train]), (images[test], labels[test])


def make_parameters():
    """Weights (He's initialisation) and zero biases of every layer."""
    parameters = []
    for n_in, n_out in pairwise(SIZES):
        weight = facula.randn(n_in, n_out) * (2 / n_in) ** 0.5
        parameters += [weight.requires_grad_(), facula.zeros(n_out, requires_grad=True)]
    return parameters


def forward(parameters, x):
    """Logits ``(N, 10)`` of images ``(N, 64)``."""
    *hidden, (weight, bias) = zip(parameters[::2], parameters[1::2], strict=True)
    for w, b in hidden:
        x = facula.relu(x @ w + b)
    return x @ weight + bias


def cross_entropy(logits, labels):
    """Mean negative log-probability of the right class."""
    return -facula.log_softmax(logits, dim=1).gather(1, labels[:, None]).mean()


@facula.no_grad()
def sgd_step(parameters, velocities):
    for parameter, velocity in zip(parameters, velocities, strict=True):
        velocity.mul_(MOMENTUM).add_(parameter.grad).add_(parameter, alpha=WEIGHT_DECAY)
        parameter.sub_(velocity, alpha=LR)
        parameter.grad = None


@facula.no_grad()
def accuracy(parameters, images, labels):
    return (forward(parameters, images).argmax(dim=1) == labels).float().mean().item()


def train(n_epochs, batch_size, seed):
    """The trained parameters, the loss of every step and the accuracy on the test images."""
    facula.manual_seed(seed)
    (images, labels), test = load_digits()
    parameters = make_parameters()
    velocities = [facula.zeros_like(p) for p in parameters]
    losses = []
    with tqdm(range(n_epochs), desc="training", unit="epoch") as epochs:
        for _ in epochs:
            for batch in facula.randperm(len(labels)).split(batch_size):
                loss = cross_entropy(forward(parameters, images[batch]), labels[batch])
                loss.backward()
                sgd_step(parameters, velocities)
                losses.append(loss.item())
            epochs.set_postfix(loss=f"{losses[-1]:.4f}")
    return parameters, losses, accuracy(parameters, *test)


def save(folder, parameters, losses):
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {f"parameter{i}": p.detach().numpy() for i, p in enumerate(parameters)}
    np.savez(folder / "weights.npz", **arrays)
    lines = [f"{step},{loss:.6f}" for step, loss in enumerate(losses)]
    (folder / "loss.csv").write_text("\n".join(["step,loss", *lines, ""]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path("results/digits"))
    args = parser.parse_args()
    parameters, losses, test_accuracy = train(args.epochs, args.batch_size, args.seed)
    save(args.results, parameters, losses)
    print(f"test accuracy: {test_accuracy:.1%}")
    print(f"weights and loss curve: {args.results.resolve()}")


if __name__ == "__main__":
    main()
