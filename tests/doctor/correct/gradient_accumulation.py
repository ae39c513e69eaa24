import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
data = TensorDataset(torch.randn(100, 10), torch.randint(0, 5, (100,)))
loader = DataLoader(data, batch_size=10, shuffle=True)
accumulation_steps = 4

for _ in range(3):
    optimizer.zero_grad()
    running_loss = 0.0
    for i, (inputs, labels) in enumerate(loader):
        loss = criterion(model(inputs), labels) / accumulation_steps
        loss.backward()
        running_loss += loss.item()
        if (i + 1) % accumulation_steps == 0 or i + 1 == len(loader):
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
