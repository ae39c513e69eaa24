"""Trains an LSTM on one long text, in pieces: truncated back-propagation through time.

The state of the network goes on from piece to piece, its history does not: ``detach`` cuts it.
"""

import argparse
import math
from pathlib import Path

from tqdm import tqdm

import facula
from examples.char_gpt import TEXTS
from facula import nn, optim
from facula.nn import functional as F


class LanguageModel(nn.Module):
    """Logits of the next word, and the state that the next piece begins with."""

    def __init__(self, n_words, width=64, n_layers=2):
        super().__init__()
        self.words = nn.Embedding(n_words, width)
        self.lstm = nn.LSTM(width, width, n_layers, dropout=0.2)
        self.dropout = nn.Dropout(0.2)
        self.output = nn.Linear(width, n_words)
        self.output.weight = self.words.weight

    def forward(self, x, state=None):
        out, state = self.lstm(self.dropout(self.words(x)), state)
        return self.output(self.dropout(out)), state


def read(paths, n_words):
    """The text as numbers of words, the most frequent first; 0 stands for all rare ones."""
    words = [word for path in paths for word in path.read_text(encoding="utf-8").split()]
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    common = sorted(counts, key=counts.get, reverse=True)[: n_words - 1]
    numbers = {word: i + 1 for i, word in enumerate(common)}
    return facula.tensor([numbers.get(word, 0) for word in words])


def train(text, n_words, n_epochs, n_columns=16, length=20):
    """The model and the perplexity of every epoch."""
    facula.manual_seed(0)
    # Columns that are read side by side: (length of a column, n_columns).
    columns = text[: len(text) // n_columns * n_columns].view(n_columns, -1).t()
    model = LanguageModel(n_words)
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    perplexities = []
    for _ in tqdm(range(n_epochs), "training", unit="epoch", disable=None):
        state, total, n = None, 0.0, 0
        for begin in range(0, len(columns) - 1, length):
            piece = columns[begin : begin + length + 1]
            if state is not None:
                state = tuple(x.detach() for x in state)
            logits, state = model(piece[:-1], state)
            loss = F.cross_entropy(logits.flatten(0, 1), piece[1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            total, n = total + loss.item() * (len(piece) - 1), n + len(piece) - 1
        perplexities.append(math.exp(total / n))
    return model, perplexities


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="*", type=Path, default=TEXTS)
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    _, perplexities = train(read(args.text, args.words), args.words, args.epochs)
    print("perplexity of each epoch:", ", ".join(f"{p:.0f}" for p in perplexities))


if __name__ == "__main__":
    main()
