"""Trains one network in several processes at once, none of which waits for another.

The parameters lie in shared memory. Every process reads and writes them without a lock, as in
"Hogwild!: A Lock-Free Approach to Parallelizing Stochastic Gradient Descent" (Niu et al., 2011).
"""

import argparse

import facula
from examples.digits import accuracy, load_digits
from facula import multiprocessing as mp
from facula import nn, optim
from facula.nn import functional as F


def make_model():
    """Logits ``(N, 10)`` of images ``(N, 1, 8, 8)``."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def train(rank, model, images, labels, n_epochs, batch_size):
    facula.set_num_threads(1)  # a processor for each process
    facula.manual_seed(rank)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(n_epochs):
        for batch in facula.randperm(len(labels)).split(batch_size):
            optimizer.zero_grad()
            F.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimizer.step()


def run(n_processes, n_epochs, batch_size, start_method):
    """The accuracy on the test images after ``n_epochs`` in each process."""
    facula.manual_seed(0)
    (images, labels), test = load_digits()
    model = make_model().share_memory()
    args = model, images, labels, n_epochs, batch_size
    mp.start_processes(train, args, n_processes, start_method=start_method)
    return accuracy(model, *test)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--start-method", default="spawn", choices=mp.get_all_start_methods())
    args = parser.parse_args()
    found = run(args.processes, args.epochs, args.batch_size, args.start_method)
    print(f"test accuracy: {found:.1%}")


if __name__ == "__main__":
    main()
