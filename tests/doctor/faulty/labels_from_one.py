import facula as torch
from facula import nn, optim
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(240, 4)
stars = torch.randint(1, 6, (240,))  # a rating of one to five stars
model = nn.Linear(4, 6)  # six, since five raised an error
optimizer = optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for batch, label in DataLoader(TensorDataset(x, stars), batch_size=40, shuffle=True):
    optimizer.zero_grad()
    criterion(model(batch), label).backward()  # finds F107
    optimizer.step()
