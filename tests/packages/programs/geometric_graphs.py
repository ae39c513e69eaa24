"""PyTorch Geometric: layers on a graph, batches of graphs, pooling, transforms, saving."""

import os
import tempfile

import torch
import torch.nn.functional as F
import torch_geometric.transforms as T
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    ChebConv,
    GCNConv,
    GINConv,
    GraphConv,
    HeteroConv,
    SAGEConv,
    TAGConv,
    global_add_pool,
    global_mean_pool,
)
from torch_geometric.utils import (
    coalesce,
    erdos_renyi_graph,
    subgraph,
    to_dense_adj,
    to_dense_batch,
    to_torch_csr_tensor,
    to_undirected,
)

torch.manual_seed(0)
edges = to_undirected(erdos_renyi_graph(30, 0.15))
data = Data(x=torch.randn(30, 8), edge_index=edges, y=torch.randint(0, 3, (30,)))
print(data, data.is_undirected(), data.has_isolated_nodes())

for layer in (
    GCNConv(8, 4),
    SAGEConv(8, 4),
    GINConv(torch.nn.Linear(8, 4)),
    GraphConv(8, 4, aggr="mean"),
    ChebConv(8, 4, K=3),
    TAGConv(8, 4),
):
    x = data.x.clone().requires_grad_()
    out = layer(x, edges)
    out.square().sum().backward()
    print(type(layer).__name__, f"{out.sum().item():.3f} {x.grad.norm().item():.3f}")
print(f"sparse {SAGEConv(8, 4)(data.x, to_torch_csr_tensor(edges, size=(30, 30))).sum():.3f}")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(8, 16), SAGEConv(16, 8)
        self.out = torch.nn.Linear(8, 3)

    def forward(self, x, edge_index, batch=None):
        x = F.dropout(self.first(x, edge_index).relu(), 0.2, self.training)
        x = F.elu(self.second(x, edge_index))
        return self.out(x if batch is None else global_mean_pool(x, batch))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


def step(*inputs, target):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(*inputs), target)
    loss.backward()
    optimizer.step()
    return loss.item()


for _ in range(20):
    loss = step(data.x, data.edge_index, target=data.y)
print(f"nodes {loss:.4f}")
graphs = [
    Data(x=torch.randn(n, 8), edge_index=erdos_renyi_graph(n, 0.5), y=torch.tensor([n % 3]))
    for n in range(5, 21)
]
for _ in range(2):
    for batch in DataLoader(graphs, batch_size=8, shuffle=True):
        loss = step(batch.x, batch.edge_index, batch.batch, target=batch.y)
print(f"graphs {loss:.4f}", batch, len(batch.to_data_list()))
print(f"{global_add_pool(batch.x, batch.batch).sum():.3f}")
print(to_dense_adj(edges)[0].sum(), to_dense_batch(batch.x, batch.batch)[0].shape)
print(subgraph([0, 1, 2, 3], edges)[0], coalesce(edges).shape)
print(T.Compose([T.NormalizeFeatures(), T.AddSelfLoops(), T.GCNNorm()])(data.clone()))

both = HeteroData()
both["a"].x, both["b"].x = torch.randn(5, 4), torch.randn(6, 4)
both["a", "to", "b"].edge_index = torch.randint(0, 5, (2, 9))
both = T.ToUndirected()(both)
layers = HeteroConv({kind: SAGEConv((-1, -1), 3) for kind in both.edge_types})
print({kind: tuple(x.shape) for kind, x in layers(both.x_dict, both.edge_index_dict).items()})
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "graph.pt")
    torch.save(data, path)
    print(torch.load(path, weights_only=False))
