"""Finds communities in a graph with attention between neighbours (Velickovic et al., 2018).

The graph is drawn at random: members of a community know each other more often than others. Only
a few nodes are labelled; the network finds the rest by who knows whom.
"""

import argparse

from tqdm import tqdm

import facula
from facula import nn, optim
from facula.nn import functional as F


def draw_graph(n_nodes=300, n_communities=3, within=0.08, between=0.008, n_features=16):
    """Edges ``(2, E)``, features ``(n_nodes, n_features)`` and the community of each node."""
    labels = facula.arange(n_nodes) % n_communities
    is_same = labels.unsqueeze(0) == labels.unsqueeze(1)
    chance = facula.where(is_same, within, between)
    is_edge = (facula.rand(n_nodes, n_nodes) < chance).triu(1)
    is_edge = is_edge | is_edge.t() | facula.eye(n_nodes, dtype=facula.bool)
    # Features say little: a faint mark of the community under noise.
    features = facula.randn(n_nodes, n_features) + 0.5 * F.one_hot(labels, n_features)
    return is_edge.nonzero().t(), features, labels


class GraphAttention(nn.Module):
    """One layer: every node takes from its neighbours, by how much they matter to it."""

    def __init__(self, n_in, n_out, n_heads):
        super().__init__()
        self.n_heads, self.n_out = n_heads, n_out
        self.linear = nn.Linear(n_in, n_heads * n_out, bias=False)
        self.source = nn.Parameter(nn.init.xavier_uniform_(facula.empty(n_heads, n_out)))
        self.target = nn.Parameter(nn.init.xavier_uniform_(facula.empty(n_heads, n_out)))

    def forward(self, x, edges):
        n, (source, target) = len(x), edges
        h = self.linear(x).view(n, self.n_heads, self.n_out)
        scores = (h * self.source).sum(-1)[source] + (h * self.target).sum(-1)[target]
        scores = F.leaky_relu(scores, 0.2)
        # A softmax over the edges that end at the same node.
        places = target.unsqueeze(1).expand_as(scores)
        most = facula.full((n, self.n_heads), -facula.inf).scatter_reduce(
            0, places, scores.detach(), "amax"
        )
        weights = (scores - most[target]).exp()
        total = facula.zeros(n, self.n_heads).index_add(0, target, weights)
        weights = weights / total[target]
        out = facula.zeros_like(h).index_add(0, target, weights.unsqueeze(-1) * h[source])
        return out.flatten(1)


class Net(nn.Module):
    """Logits of the communities."""

    def __init__(self, n_features, n_communities, width=8, n_heads=4):
        super().__init__()
        self.first = GraphAttention(n_features, width, n_heads)
        self.second = GraphAttention(width * n_heads, n_communities, 1)
        self.dropout = nn.Dropout(0.4)

    def forward(self, x, edges):
        x = F.elu(self.first(self.dropout(x), edges))
        return self.second(self.dropout(x), edges)


def train(n_steps, n_labelled=30):
    """The accuracy on the nodes without a label, after training."""
    facula.manual_seed(0)
    edges, features, labels = draw_graph()
    known = facula.randperm(len(labels))[:n_labelled]
    unknown = facula.ones(len(labels), dtype=facula.bool).index_fill(0, known, False)
    model = Net(features.size(1), int(labels.max()) + 1)
    optimizer = optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in tqdm(range(n_steps), "training", unit="step", disable=None):
        loss = F.cross_entropy(model(features, edges)[known], labels[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with facula.no_grad():
        is_right = model(features, edges).argmax(1) == labels
    return is_right[unknown].float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    print(f"communities found without a label: {train(args.steps):.0%}")


if __name__ == "__main__":
    main()
