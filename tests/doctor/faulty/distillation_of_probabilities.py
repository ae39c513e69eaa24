import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
teacher, student = nn.Linear(4, 3).eval(), nn.Linear(4, 3)
optimizer = optim.SGD(student.parameters(), lr=0.1)
criterion = nn.KLDivLoss(reduction="batchmean")
x = torch.randn(32, 4)
for _ in range(3):
    optimizer.zero_grad()
    with torch.no_grad():
        target = F.softmax(teacher(x) / 2, dim=1)
    loss = criterion(F.softmax(student(x) / 2, dim=1), target)  # finds F112
    loss.backward()
    optimizer.step()
