"""Averages of weights, schedules, every optimiser, and one of the program's own."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(40, 6)
y = (x.sum(1) > 0).long()
dl = DataLoader(TensorDataset(x, y), 10, shuffle=True)
m = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
swa = AveragedModel(m)
ema = AveragedModel(m, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
sch = torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=4)
ss = SWALR(o, swa_lr=0.05, anneal_epochs=2)
for e in range(6):
    for a, b in dl:
        o.zero_grad()
        loss = F.cross_entropy(m(a), b, weight=torch.tensor([1.0, 2.0]))
        loss.backward()
        o.step()
        ema.update_parameters(m)
    if e > 3:
        swa.update_parameters(m)
        ss.step()
    else:
        sch.step()
    print(e, f"{loss.item():.5f}", f"{o.param_groups[0]['lr']:.5f}")
update_bn(dl, swa)
swa.eval()
print(
    swa(x).sum(),
    swa.n_averaged,
    swa.module[1].running_mean,
    ema.module[1].num_batches_tracked,
    sorted(swa.state_dict())[:2],
)
for name, kw in {
    "Adam": {},
    "AdamW": {"amsgrad": True},
    "Adagrad": {},
    "Adadelta": {},
    "Adamax": {},
    "NAdam": {"decoupled_weight_decay": True},
    "RAdam": {},
    "RMSprop": {"centered": True},
    "Rprop": {},
    "ASGD": {},
    "SGD": {"momentum": 0.9, "dampening": 0.1},
    "Adafactor": {},
}.items():
    torch.manual_seed(1)
    n = nn.Linear(3, 2)
    op = getattr(torch.optim, name)(n.parameters(), lr=0.01, **kw)
    for _ in range(3):
        op.zero_grad()
        n(torch.ones(2, 3)).pow(2).sum().backward()
        op.step()
    print(name, n.weight.detach().sum(), sorted(op.state[n.weight]))
emb = nn.Embedding(5, 3, sparse=True)
sa = torch.optim.SparseAdam(emb.parameters(), lr=0.1)
emb(torch.tensor([1, 1, 2])).sum().backward()
print(emb.weight.grad)
sa.step()
print(emb.weight.detach().sum())
op = torch.optim.Adam(
    [{"params": [nn.Parameter(torch.ones(1))], "name": "a"}], lr=torch.tensor(0.1)
)
op.add_param_group({"params": nn.Parameter(torch.ones(2)), "lr": 0.5})
print(op)
h = op.register_step_post_hook(lambda *a: print("stepped"))
op.step()


class SignDescent(Optimizer):
    def __init__(self, params, lr=1e-3, momentum=0.9):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure):
        with torch.enable_grad():
            loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                mean.lerp_(p.grad, 1 - group["momentum"])
                p.sub_(mean.sign(), alpha=group["lr"])
        return loss


def closure():
    sign.zero_grad()
    loss = F.cross_entropy(m(x), y)
    loss.backward()
    return loss


sign = SignDescent(m.parameters(), lr=0.01)
print(sign.step(closure), sign.step(closure), sign)
print(len(sign.state_dict()["state"]))
