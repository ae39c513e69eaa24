"""PyTorch Geometric: edges and indices as tensors of their own classes, by `__torch_dispatch__`."""

import copy
import pickle

import torch
from torch_geometric import EdgeIndex, Index
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv, GraphConv, SAGEConv

torch.manual_seed(0)
edges = EdgeIndex(
    [[0, 1, 1, 2], [1, 0, 2, 1]], sparse_size=(3, 3), sort_order="row", is_undirected=True
)
edges.validate().fill_cache_()
print(edges, edges.get_csr(), edges.get_csc())
print(edges.flip(0), edges[:, 1:3], edges[:, torch.tensor([0, 2])], edges.narrow(1, 0, 2))
print(edges[0], edges + 1, edges.unbind(0), torch.cat([edges, edges], dim=1))
print(edges.sum(), edges == 1, edges.to(torch.int32).dtype, edges.sort_by("col"), edges.to_dense())

x = torch.randn(3, 4, requires_grad=True)
edges.matmul(x).sum().backward()
print(x.grad)
for layer in (GCNConv(4, 2), SAGEConv(4, 2), GraphConv(4, 2)):
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
    for _ in range(3):
        loss = layer(x.detach(), edges).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{type(layer).__name__} {loss.item():.4f}")

index = Index([0, 1, 1, 2], dim_size=3, is_sorted=True)
print(index, index.get_indptr(), index + 1, index[1:], torch.cat([index, index]), index.sort())
print(pickle.loads(pickle.dumps(edges)), copy.deepcopy(edges))
data = Data(x=x.detach(), edge_index=edges)
print(data, Batch.from_data_list([data, data]).edge_index)
