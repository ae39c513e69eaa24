import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
dataset = TensorDataset(torch.randn(40, 4), torch.randint(0, 2, (40,)))
loader = DataLoader(dataset, 8, shuffle=True)
snapshots = []
for t_max, n_epochs in ((len(loader), 8), (8 * len(loader), 8)):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=t_max)
    for _ in range(n_epochs):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            scheduler.step()
        snapshots.append({k: v.clone() for k, v in model.state_dict().items()})
