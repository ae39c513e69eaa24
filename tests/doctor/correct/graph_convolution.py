import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class GCNLayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_in, n_out))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.spmm(adj, x @ self.weight)


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1, self.gc2 = GCNLayer(8, 16), GCNLayer(16, 3)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, 0.5, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


n = 40
a = (torch.rand(n, n) < 0.1).float()
a = ((a + a.t() + torch.eye(n)) > 0).float()
d = a.sum(1).pow(-0.5)
adj = (d[:, None] * a * d[None, :]).to_sparse()
features, labels = torch.randn(n, 8), torch.randint(0, 3, (n,))
train, val = torch.arange(20), torch.arange(20, 40)
model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for _ in range(15):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    F.nll_loss(output[train], labels[train]).backward()
    optimizer.step()
    model.eval()
    output = model(features, adj)  # without no_grad, as many write it
    loss_val = F.nll_loss(output[val], labels[val]).item()
    acc_val = output[val].max(1)[1].eq(labels[val]).double().mean().item()
