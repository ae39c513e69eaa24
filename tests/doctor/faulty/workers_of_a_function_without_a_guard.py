import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset


def train(model, dataset):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(dataset, 16, shuffle=True, num_workers=1):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


torch.manual_seed(0)
data = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
train(nn.Linear(4, 2), data)  # finds F808
