import facula as torch
from facula import nn, optim
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
model = nn.Linear(4, 2)
optimizer = optim.Adam(model.parameters(), lr=0.01)


def train_step(batch, label):
    loss = nn.functional.cross_entropy(model(batch), label)
    loss.backward()  # finds F301
    optimizer.step()
    return loss.item()


for _ in range(2):
    total = 0.0
    for batch, label in DataLoader(data, batch_size=16, shuffle=True):
        total += train_step(batch, label)
