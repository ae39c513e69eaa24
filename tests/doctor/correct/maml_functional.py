import facula as torch
from facula import nn
from facula.func import functional_call

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Linear(20, 1))
meta_optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.MSELoss()
inner_lr = 0.01


def sample_task():
    amplitude, phase = torch.rand(1) * 4 + 0.1, torch.rand(1) * 3.14
    x = torch.rand(10, 1) * 10 - 5
    return x, amplitude * torch.sin(x + phase)


for _ in range(8):
    meta_optimizer.zero_grad()
    meta_loss = 0.0
    for _ in range(3):
        x, y = sample_task()
        fast = dict(model.named_parameters())
        for _ in range(2):
            loss = loss_fn(functional_call(model, fast, (x[:5],)), y[:5])
            grads = torch.autograd.grad(loss, tuple(fast.values()), create_graph=True)
            pairs = zip(fast.items(), grads, strict=True)
            fast = {name: p - inner_lr * g for (name, p), g in pairs}
        meta_loss = meta_loss + loss_fn(functional_call(model, fast, (x[5:],)), y[5:])
    meta_loss = meta_loss / 3
    meta_loss.backward()
    meta_optimizer.step()
