"""Small trainings, each written once for both frameworks: ``train(torch)`` gives its losses.

All draw their weights, their data and their dropout from the seed, so that two frameworks with the
same random numbers must follow the same curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

N_STEPS = 100


def mlp(torch: Any) -> Iterator[Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(20, 64),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(64, 64),
        nn.Tanh(),
        nn.Linear(64, 5),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    x, y = torch.randn(64, 20), torch.randint(5, (64,))
    loss_of = nn.CrossEntropyLoss()
    for _ in range(N_STEPS):
        yield _step(optimizer, loss_of(model(x), y))


def cnn(torch: Any) -> Iterator[Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3),
        nn.ReLU(),
        nn.Dropout2d(0.1),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 4),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, N_STEPS)
    x, y = torch.randn(16, 1, 12, 12), torch.randint(4, (16,))
    for _ in range(N_STEPS):
        yield _step(optimizer, nn.functional.cross_entropy(model(x), y, label_smoothing=0.1))
        scheduler.step()


def lstm_language_model(torch: Any) -> Iterator[Any]:
    """Truncated back-propagation: the state is carried on, detached."""
    nn = torch.nn
    embedding = nn.Embedding(30, 16)
    lstm = nn.LSTM(16, 24, num_layers=2, dropout=0.2)
    decoder = nn.Linear(24, 30)
    parameters = [p for m in (embedding, lstm, decoder) for p in m.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    text = torch.randint(30, (11, 8))
    state = None
    for _ in range(N_STEPS):
        output, state = lstm(embedding(text[:-1]), state)
        state = tuple(s.detach() for s in state)
        loss = nn.functional.cross_entropy(decoder(output).flatten(0, 1), text[1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.25)
        optimizer.step()
        yield loss


def transformer(torch: Any) -> Iterator[Any]:
    nn = torch.nn
    embedding = nn.Embedding(30, 16)
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    head = nn.Linear(16, 30)
    parameters = [p for m in (embedding, encoder, head) for p in m.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    text = torch.randint(30, (4, 13))
    mask = nn.Transformer.generate_square_subsequent_mask(12)
    for _ in range(N_STEPS):
        hidden = encoder(embedding(text[:, :-1]), mask=mask, is_causal=True)
        loss = nn.functional.cross_entropy(head(hidden).flatten(0, 1), text[:, 1:].flatten())
        yield _step(optimizer, loss)


def gan(torch: Any) -> Iterator[Any]:
    nn = torch.nn
    generator = nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4), nn.BatchNorm2d(16), nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1), nn.Tanh(),
    )  # fmt: skip
    critic = nn.Sequential(
        nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Dropout(0.3),
        nn.Flatten(), nn.Linear(256, 1),
    )  # fmt: skip
    optimizers = [
        torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (generator, critic)
    ]
    loss_of = nn.BCEWithLogitsLoss()
    real = torch.randn(8, 1, 8, 8)
    ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
    for _ in range(N_STEPS):
        fake = generator(torch.randn(8, 8, 1, 1))
        yield _step(
            optimizers[1], loss_of(critic(real), ones) + loss_of(critic(fake.detach()), zeros)
        )
        yield _step(optimizers[0], loss_of(critic(fake), ones))


def vae(torch: Any) -> Iterator[Any]:
    nn = torch.nn
    encoder = nn.Sequential(nn.Linear(36, 32), nn.SiLU(), nn.Linear(32, 8))
    decoder = nn.Sequential(nn.Linear(4, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 36))
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.RMSprop(parameters, lr=1e-3)
    x = torch.rand(16, 36)
    for _ in range(N_STEPS):
        mean, log_variance = encoder(x).chunk(2, dim=1)
        sample = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        rebuilt = nn.functional.binary_cross_entropy(decoder(sample).sigmoid(), x, reduction="sum")
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        yield _step(optimizer, rebuilt + divergence)


def _step(optimizer: Any, loss: Any) -> Any:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


CURVES: dict[str, Callable[[Any], Iterator[Any]]] = {
    f.__name__: f for f in (mlp, cnn, lstm_language_model, transformer, gan, vae)
}
