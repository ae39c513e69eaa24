import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 4))
student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
x, y = torch.randn(48, 6), torch.randint(0, 4, (48,))

optimizer = torch.optim.Adam(teacher.parameters(), lr=0.01)
teacher.train()
for _ in range(10):
    optimizer.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    optimizer.step()

T, alpha = 4.0, 0.7
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
teacher.eval()
for _ in range(20):
    with torch.no_grad():
        soft_targets = F.softmax(teacher(x) / T, dim=1)
    logits = student(x)
    kd = F.kl_div(F.log_softmax(logits / T, dim=1), soft_targets, reduction="batchmean") * T * T
    soft_ce = -(soft_targets * F.log_softmax(logits, dim=-1)).sum(dim=1).mean()
    loss = alpha * kd + (1 - alpha) * F.cross_entropy(logits, y) + 0.01 * soft_ce
    loss = loss + 0.01 * F.cross_entropy(logits, soft_targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
