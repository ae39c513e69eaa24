import facula as torch
from facula import nn

# Pseudo-labels by a copy that keeps its dropout, and dropout that is switched on on purpose.
torch.manual_seed(0)


def make():
    return nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.2), nn.ReLU(), nn.Linear(16, 3))


student, teacher = make(), make()
optimizer = torch.optim.Adam(student.parameters())
for _ in range(10):
    teacher.load_state_dict(student.state_dict())
    x = torch.randn(16, 4)
    with torch.no_grad():
        labels = teacher(x).argmax(1)
    optimizer.zero_grad()
    nn.functional.cross_entropy(student(x), labels).backward()
    optimizer.step()
torch.save(student.state_dict(), "weights.pt")
restored = make()
restored.load_state_dict(torch.load("weights.pt"))
restored.train()
with torch.no_grad():
    samples = torch.stack([restored(x).softmax(1) for _ in range(5)])
    print(samples.mean(0).argmax(1), samples.std(0).max())
