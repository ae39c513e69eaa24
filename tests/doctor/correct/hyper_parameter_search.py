import itertools

import facula as torch
from facula import nn, optim

torch.manual_seed(0)
X, Y = torch.randn(60, 5), torch.randint(0, 3, (60,))
folds = torch.arange(60) % 3
results = {}
for lr, width, kind in itertools.product([0.1, 0.01], [4, 16], [optim.SGD, optim.Adam]):
    scores = []
    for k in range(3):
        model = nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 3))
        optimizer = kind(model.parameters(), lr=lr)
        criterion = nn.CrossEntropyLoss()
        for _ in range(6):
            model.train()
            optimizer.zero_grad()
            loss = criterion(model(X[folds != k]), Y[folds != k])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            prediction = model(X[folds == k]).argmax(dim=1)
        scores.append((prediction == Y[folds == k]).float().mean().item())
    results[lr, width, kind.__name__] = sum(scores) / 3
print(max(results, key=results.get))
