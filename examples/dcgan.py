"""Trains two networks against each other: one draws 8x8 digits, one tells them from real ones."""

import argparse
from pathlib import Path

from tqdm import tqdm

import facula
from examples.digits import load_digits
from facula import nn, optim
from facula.nn import functional as F
from facula.vision.utils import save_image

N_LATENT = 32


def make_generator():
    """Images ``(N, 1, 8, 8)`` in [-1, 1] of noise ``(N, N_LATENT, 1, 1)``."""
    return nn.Sequential(
        nn.ConvTranspose2d(N_LATENT, 64, 2, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 1, 4, stride=2, padding=1),
        nn.Tanh(),
    )


def make_discriminator():
    """Logits ``(N,)`` of an image being real."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 4, stride=2, padding=1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(32, 64, 4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(64),
        nn.LeakyReLU(0.2),
        nn.Conv2d(64, 1, 2),
        nn.Flatten(0),
    )


def init(module):
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)


def loss_of(logits, is_real):
    return F.binary_cross_entropy_with_logits(logits, facula.full_like(logits, float(is_real)))


def train(n_epochs, batch_size=64):
    """The generator, and the losses of both networks at every step."""
    facula.manual_seed(0)
    (images, _), _ = load_digits()
    images = images * 2 - 1
    generator, discriminator = make_generator().apply(init), make_discriminator().apply(init)
    g_optimizer = optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    d_optimizer = optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    losses = []
    for _ in tqdm(range(n_epochs), "training", unit="epoch", disable=None):
        for batch in facula.randperm(len(images)).split(batch_size):
            real = images[batch]
            fake = generator(facula.randn(len(real), N_LATENT, 1, 1))

            d_optimizer.zero_grad()
            # Detached: this step is the discriminator's alone.
            d_loss = loss_of(discriminator(real), True) + loss_of(
                discriminator(fake.detach()), False
            )
            d_loss.backward()
            d_optimizer.step()

            g_optimizer.zero_grad()
            g_loss = loss_of(discriminator(fake), True)
            g_loss.backward()
            g_optimizer.step()
            losses.append((d_loss.item(), g_loss.item()))
    return generator, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--results", type=Path, default=Path("results/dcgan"))
    args = parser.parse_args()
    generator, losses = train(args.epochs)
    args.results.mkdir(parents=True, exist_ok=True)
    generator.eval()
    with facula.no_grad():
        drawn = generator(facula.randn(64, N_LATENT, 1, 1))
    save_image(drawn, args.results / "digits.png", value_range=(-1, 1), normalize=True)
    print("at last: discriminator {:.2f}, generator {:.2f}".format(*losses[-1]))
    print(f"drawn digits: {(args.results / 'digits.png').resolve()}")


if __name__ == "__main__":
    main()
