"""Trains a variational autoencoder on 8x8 digits, and draws new ones."""

import argparse
from pathlib import Path

from tqdm import tqdm

import facula
from examples.digits import load_digits
from facula import nn, optim
from facula.distributions import Normal, kl_divergence
from facula.nn import functional as F
from facula.vision.utils import save_image


class VAE(nn.Module):
    """Images ``(N, 64)`` to a distribution over ``n_latent`` numbers, and back to logits."""

    def __init__(self, n_latent=8, width=128):
        super().__init__()
        self.n_latent = n_latent
        self.encoder = nn.Sequential(
            nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 2 * n_latent)
        )
        self.decoder = nn.Sequential(nn.Linear(n_latent, width), nn.ReLU(), nn.Linear(width, 64))

    def forward(self, x):
        mean, log_std = self.encoder(x).chunk(2, dim=1)
        posterior = Normal(mean, log_std.exp())
        return self.decoder(posterior.rsample()), posterior

    @facula.no_grad()
    def sample(self, n):
        """New images ``(n, 1, 8, 8)``."""
        z = facula.randn(n, self.n_latent, device=self.decoder[0].weight.device)
        return self.decoder(z).sigmoid().view(n, 1, 8, 8)


def train(n_epochs, batch_size=64):
    """The model and the negative bound on the likelihood, by image, of every epoch."""
    facula.manual_seed(0)
    (images, _), _ = load_digits()
    images = images.flatten(1)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    prior = Normal(0.0, 1.0)
    bounds = []
    for _ in tqdm(range(n_epochs), "training", unit="epoch", disable=None):
        total = 0.0
        for batch in facula.randperm(len(images)).split(batch_size):
            x = images[batch]
            logits, posterior = model(x)
            # Of one image: what is lost of it, and how far its code is from the prior.
            lost = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
            loss = (lost + kl_divergence(posterior, prior).sum()) / len(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        bounds.append(total / len(images))
    return model, bounds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--results", type=Path, default=Path("results/vae"))
    args = parser.parse_args()
    model, bounds = train(args.epochs)
    args.results.mkdir(parents=True, exist_ok=True)
    save_image(model.sample(64), args.results / "digits.png")
    print(f"bound: {bounds[0]:.1f} after one epoch, {bounds[-1]:.1f} at last")
    print(f"new digits: {(args.results / 'digits.png').resolve()}")


if __name__ == "__main__":
    main()
