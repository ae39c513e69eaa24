import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
centres = torch.randn(4, 5)
memory = []
# Tasks of two classes each, with a few examples of the earlier ones.
for task in range(2):
    for _ in range(10):
        y = torch.randint(0, 2, (16,)) + 2 * task
        x = centres[y] + 0.3 * torch.randn(16, 5)
        loss = nn.functional.cross_entropy(model(x), y)
        if memory:
            old_x, old_y = memory[int(torch.randint(0, len(memory), ()))]
            loss = loss + nn.functional.cross_entropy(model(old_x), old_y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    memory.append((x.clone(), y.clone()))
