import facula as torch
from facula import nn

torch.manual_seed(0)


class Student(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.net = nn.Linear(4, 3)
        self._teacher = [teacher.eval().requires_grad_(False)]  # not saved with the student

    def forward(self, x):
        with torch.no_grad():
            target = self._teacher[0](x)
        return self.net(x), target


model = Student(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 4)
for _ in range(12):
    out, target = model(x)
    log_p = nn.functional.log_softmax(out, dim=1)
    log_q = nn.functional.log_softmax(target, dim=1)
    forward_kl = nn.functional.kl_div(log_p, log_q.exp(), reduction="batchmean")
    reverse_kl = nn.functional.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
    optimizer.zero_grad()
    (forward_kl + reverse_kl).backward()
    optimizer.step()
