import facula as torch
from facula import nn

torch.manual_seed(0)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, {"rho": rho, **kwargs})
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norms = [p.grad.norm(p=2) for g in self.param_groups for p in g["params"]]
        scale = 0.05 / (torch.norm(torch.stack(norms), p=2) + 1e-12)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()


model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(12):
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.first_step(zero_grad=True)
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.second_step(zero_grad=True)
