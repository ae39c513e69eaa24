import facula as torch
from facula import nn
from facula.optim.swa_utils import SWALR, AveragedModel, update_bn
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
swa_model = AveragedModel(model)
swa_scheduler = SWALR(optimizer, swa_lr=0.05)
data = TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)))
loader = DataLoader(data, batch_size=12, shuffle=True)
for epoch in range(10):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    if epoch > 5:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
update_bn(loader, swa_model)
swa_model.eval()
with torch.inference_mode():
    x, y = data.tensors
    print((swa_model(x).argmax(1) == y).sum().item())
