import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(
    nn.Embedding(30, 12), nn.Flatten(), nn.Linear(48, 24), nn.LayerNorm(24), nn.ReLU()
)
head = nn.Linear(24, 3)
decay, no_decay = [], []
for name, p in [*model.named_parameters(), *head.named_parameters()]:
    if name.startswith("0"):
        continue
    (no_decay if p.ndim <= 1 or name.endswith("bias") else decay).append(p)
dense = optim.AdamW(
    [{"params": decay, "weight_decay": 0.05}, {"params": no_decay, "weight_decay": 0.0}], lr=1e-3
)
embedding = optim.Adagrad(model[0].parameters(), lr=0.05)
schedulers = [optim.lr_scheduler.StepLR(o, 10, 0.5) for o in (dense, embedding)]
tokens, y = torch.randint(0, 30, (32, 4)), torch.randint(0, 3, (32,))
for epoch in range(6):
    for tb, yb in zip(tokens.split(8), y.split(8), strict=True):
        for optimizer in (dense, embedding):
            optimizer.zero_grad()
        nn.functional.cross_entropy(head(model(tb)), yb).backward()
        dense.step()
        if epoch > 1:  # the embedding is left alone at first
            embedding.step()
    for scheduler in schedulers if epoch > 1 else schedulers[:1]:
        scheduler.step()
