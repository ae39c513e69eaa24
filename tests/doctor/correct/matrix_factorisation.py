import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MatrixFactorisation(nn.Module):
    def __init__(self, n_users, n_items, n_factors=6):
        super().__init__()
        self.users, self.items = nn.Embedding(n_users, n_factors), nn.Embedding(n_items, n_factors)
        self.user_bias, self.item_bias = nn.Embedding(n_users, 1), nn.Embedding(n_items, 1)

    def forward(self, user, item):
        pred = self.user_bias(user) + self.item_bias(item)
        pred += (self.users(user) * self.items(item)).sum(dim=1, keepdim=True)
        return pred.squeeze()


ratings = TensorDataset(
    torch.randint(0, 20, (90,)), torch.randint(0, 30, (90,)), torch.randint(1, 6, (90,)).float()
)
model = MatrixFactorisation(20, 30)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=1e-4)
loss_func = nn.MSELoss()
for _ in range(4):
    for user, item, rating in DataLoader(ratings, batch_size=15, shuffle=True):
        optimizer.zero_grad()
        loss = loss_func(model(user, item), rating)
        loss.backward()
        optimizer.step()
