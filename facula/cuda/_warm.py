"""Compiles ahead what most trainings run: a step of small networks of each kind.

Programs are kept on disk by their content, whatever the sizes of tensors; so the first step of a
training finds them there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import facula
from facula import nn
from facula.nn import functional as F

__all__ = ["warm"]


def _networks() -> Iterator[tuple[str, nn.Module, Callable[[nn.Module], facula.Tensor]]]:
    """Names, networks, and their losses on inputs of a fitting shape."""
    device = "cuda"
    classes = facula.arange(8, device=device) % 4

    def classify(model: nn.Module, *shape: int) -> facula.Tensor:
        x = facula.randn(8, *shape, device=device, dtype=next(model.parameters()).dtype)
        return F.cross_entropy(model(x), classes)

    yield (
        "linear layers",
        nn.Sequential(
            nn.Linear(16, 32),
            nn.ReLU(),
            nn.Linear(32, 32),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(32, 4),
        ),
        lambda model: classify(model, 16),
    )
    yield (
        "convolutions",
        nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(0.5),
            nn.Linear(16, 4),
        ),
        lambda model: classify(model, 3, 16, 16),
    )
    yield ("transformers", _Transformer(), _transformer_loss)


class _Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(16, 32), nn.Embedding(8, 32)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, 0.1, "gelu", batch_first=True)
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 16)

    def forward(self, tokens: facula.Tensor) -> facula.Tensor:
        places = facula.arange(tokens.size(1), device=tokens.device)
        x = self.layer(self.tokens(tokens) + self.places(places))
        q, k, v = (x.view(*x.shape[:2], 4, -1).transpose(1, 2) for _ in range(3))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(x.shape)
        scores: facula.Tensor = self.head(self.norm(x + y))
        return scores.flatten(0, 1)


def _transformer_loss(model: nn.Module) -> facula.Tensor:
    text = facula.randint(16, (4, 9), device="cuda")
    return F.cross_entropy(model(text[:, :-1]), text[:, 1:].flatten())


def _step(model: nn.Module, loss_of: Callable[[nn.Module], facula.Tensor]) -> None:
    for make in (
        lambda p: facula.optim.AdamW(p),
        lambda p: facula.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-4),
    ):
        optimizer = make(list(model.parameters()))
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()


def warm() -> Iterator[str]:
    """Runs the steps; says before each what it is, and after each how long it took.

    Example:
        >>> from facula.cuda._warm import warm
        >>> for words in warm() if facula.cuda.is_available() else ():
        ...     print(words, end="", flush=True)  # doctest: +SKIP
        warm:            float32, linear layers: 0.8 s
    """
    state = facula.get_rng_state(), facula.cuda.get_rng_state()
    for dtype in (facula.float32, facula.bfloat16):
        for name, model, loss_of in _networks():
            yield f"{'warm:':<17}{str(dtype)[6:]}, {name}: "
            start = time.perf_counter()
            _step(model.to("cuda", dtype), loss_of)
            model.eval()
            with facula.no_grad():
                loss_of(model)
            facula.cuda.synchronize()
            yield f"{time.perf_counter() - start:.1f} s\n"
    facula.set_rng_state(state[0])
    facula.cuda.set_rng_state(state[1])
