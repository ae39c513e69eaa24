import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
teacher, student = nn.Linear(4, 3).eval(), nn.Linear(4, 3)
optimizer = optim.Adam(student.parameters(), lr=0.01)
x = torch.randn(32, 4)
for _ in range(3):
    with torch.no_grad():
        target = F.log_softmax(teacher(x), dim=1)
    log_p = F.log_softmax(student(x), dim=1)
    loss = F.kl_div(log_p, target, reduction="batchmean")  # finds F112
    optimizer.zero_grad()
    loss.backward()  # finds F701
    optimizer.step()
