"""Trainings with sparse tensors, for Facula and, to make the expected numbers, for PyTorch."""

EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5), (5, 6), (6, 7), (4, 7), (1, 0)]
CLASSES = [0, 0, 0, 1, 1, 1, 2, 2]
CORPUS = [0, 1, 2, 3, 1, 0, 4, 5, 2, 6, 5, 4, 3, 7, 6, 2]


def spread(lib, *shape, scale=0.5):
    """Numbers that look random and are the same everywhere."""
    n = 1
    for size in shape:
        n *= size
    return (lib.arange(n, dtype=lib.float64) * 1.7).sin().reshape(shape) * scale


def graph_network(lib, layout="csr", n_steps=15):
    """Losses of a two-layer graph convolution on eight nodes, and its last weights."""
    pairs = [*EDGES, *((b, a) for a, b in EDGES), *((i, i) for i in range(8))]
    indices = lib.tensor(pairs).t()
    adjacency = lib.sparse_coo_tensor(
        indices, lib.ones(len(pairs), dtype=lib.float64), (8, 8)
    ).coalesce()  # two edges are in the list twice
    degree = lib.sparse.sum(adjacency, 1).to_dense()
    rows, columns = adjacency.indices()
    values = adjacency.values() / (degree[rows] * degree[columns]).sqrt()
    adjacency = lib.sparse_coo_tensor(adjacency.indices(), values, (8, 8)).coalesce()
    if layout == "csr":
        adjacency = adjacency.to_sparse_csr()
    features = spread(lib, 8, 5, scale=1.0)
    first = spread(lib, 5, 6).requires_grad_()
    second = spread(lib, 6, 3).requires_grad_()
    optimizer = lib.optim.Adam([first, second], lr=0.05)
    target, losses = lib.tensor(CLASSES), []
    for _ in range(n_steps):
        optimizer.zero_grad()
        hidden = (adjacency @ (features @ first)).relu()
        logits = lib.sparse.mm(adjacency, hidden @ second)
        loss = lib.nn.functional.cross_entropy(logits, target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [*first.detach()[0].tolist(), *second.detach()[0].tolist()]


def edge_weights(lib, n_steps=8):
    """Losses of a training of the values of a sparse matrix, with softmax over each row."""
    pattern = lib.tensor([[0, 0, 1, 2, 2, 2], [0, 2, 1, 0, 1, 2]])
    scores = spread(lib, 6).requires_grad_()
    dense = spread(lib, 3, 2, scale=1.0).requires_grad_()
    optimizer = lib.optim.SGD([scores, dense], lr=0.5)
    losses = []
    for _ in range(n_steps):
        optimizer.zero_grad()
        attention = lib.sparse.softmax(lib.sparse_coo_tensor(pattern, scores, (3, 3)), 1)
        loss = (lib.sparse.mm(attention, dense) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, scores.tolist()


def word_vectors(lib, optimizer="SparseAdam", n_steps=20, **options):
    """Losses of skip-grams with negative samples over a sparse table, and its last row."""
    table = lib.nn.Embedding(9, 4, sparse=True, padding_idx=8, dtype=lib.float64)
    context = lib.nn.EmbeddingBag(9, 4, sparse=True, mode="sum", dtype=lib.float64)
    with lib.no_grad():
        table.weight.copy_(spread(lib, 9, 4))
        context.weight.copy_(spread(lib, 9, 4).flip(0))
    parameters = [table.weight, context.weight]
    stepper = getattr(lib.optim, optimizer)(parameters, **options)
    losses = []
    for step in range(n_steps):
        at = 1 + step % (len(CORPUS) - 2)
        words = lib.tensor([CORPUS[at], CORPUS[at], 8])
        bags = lib.tensor([[CORPUS[at - 1], CORPUS[at + 1]], [(CORPUS[at] + 3) % 8, 7], [0, 1]])
        sign = lib.tensor([1.0, -1.0, 1.0], dtype=lib.float64)
        stepper.zero_grad()
        scores = (table(words) * context(bags)).sum(1)
        loss = lib.nn.functional.softplus(-sign * scores).mean()
        loss.backward()
        stepper.step()
        losses.append(loss.item())
    return losses, [*table.weight[2].tolist(), *context.weight[3].tolist()]


PROGRAMS = {
    "a graph network, CSR": lambda lib: graph_network(lib),
    "a graph network, COO": lambda lib: graph_network(lib, "coo"),
    "weights of edges": edge_weights,
    "word vectors, SparseAdam": lambda lib: word_vectors(lib, lr=0.05),
    "word vectors, SGD": lambda lib: word_vectors(lib, "SGD", lr=0.5, momentum=0.5),
    "word vectors, Adagrad": lambda lib: word_vectors(lib, "Adagrad", lr=0.1),
}
