"""Trains a small GPT on the characters of a text, and lets it go on writing.

Any text file will do; without one it reads the documentation of this project.
"""

import argparse
from pathlib import Path

from tqdm import tqdm

import facula
from facula import nn, optim
from facula.nn import functional as F

TEXTS = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))


class Block(nn.Module):
    """One layer: attention to what was before, then a network for each position."""

    def __init__(self, width, n_heads, dropout):
        super().__init__()
        self.n_heads, self.dropout = n_heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x):
        n, t, width = x.shape
        heads = self.qkv(self.norm1(x)).view(n, t, 3, self.n_heads, width // self.n_heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        p = self.dropout if self.training else 0.0
        seen = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        x = x + self.output(seen.transpose(1, 2).reshape(n, t, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Logits ``(N, T, n_chars)`` of the next character, of characters ``(N, T)``."""

    def __init__(self, n_chars, context, width=128, n_layers=4, n_heads=4, dropout=0.1):
        super().__init__()
        self.context = context
        self.chars, self.places = nn.Embedding(n_chars, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, n_heads, dropout) for _ in range(n_layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, n_chars, bias=False)
        self.head.weight = self.chars.weight  # one table for reading and for writing
        self.apply(self._init)

    @staticmethod
    def _init(module):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, x):
        places = facula.arange(x.size(1), device=x.device)
        return self.head(self.norm(self.blocks(self.chars(x) + self.places(places))))

    @facula.no_grad()
    def write(self, start, n, temperature=0.8):
        """``start``, characters ``(T,)``, with ``n`` more."""
        self.eval()
        text = start
        for _ in range(n):
            logits = self(text[-self.context :].unsqueeze(0))[0, -1] / temperature
            text = facula.cat([text, facula.multinomial(logits.softmax(0), 1)])
        self.train()
        return text


def train(text, n_steps, context=64, batch_size=16, device="cpu"):
    """The model, the loss of every step, and the characters in the order of their numbers."""
    facula.manual_seed(0)
    chars = sorted(set(text))
    numbers = {c: i for i, c in enumerate(chars)}
    data = facula.tensor([numbers[c] for c in text], device=device)
    model = GPT(len(chars), context).to(device)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=n_steps)
    losses = []
    for _ in tqdm(range(n_steps), "training", unit="step", disable=None):
        starts = facula.randint(0, len(data) - context, (batch_size, 1), device=device)
        batch = data[starts + facula.arange(context + 1, device=device)]
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return model, losses, chars


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="*", type=Path, default=TEXTS)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--device", default="cuda" if facula.cuda.is_available() else "cpu")
    args = parser.parse_args()
    text = "".join(path.read_text(encoding="utf-8") for path in args.text)
    model, losses, chars = train(text, args.steps, device=args.device)
    print(f"loss: {losses[0]:.2f} at first, {sum(losses[-20:]) / len(losses[-20:]):.2f} at last")
    start = facula.tensor([chars.index("\n")], device=args.device)
    print("".join(chars[i] for i in model.write(start, 300).tolist()))


if __name__ == "__main__":
    main()
