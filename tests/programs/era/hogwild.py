"""Hogwild of 0.1.12: processes that train one model in shared memory."""

import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable


def train(rank, model, x, y):
    torch.manual_seed(rank)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for step in range(20):
        optimizer.zero_grad()
        loss = F.nll_loss(F.log_softmax(model(Variable(x))), Variable(y))
        loss.backward()
        optimizer.step()
    assert loss.data[0] > 0


if __name__ == "__main__":
    torch.manual_seed(1)
    x = torch.randn(32, 4)
    y = (x[:, 0] > 0).long()
    model = nn.Linear(4, 2)
    model.share_memory()
    before = F.cross_entropy(model(Variable(x, volatile=True)), Variable(y)).data[0]
    processes = []
    for rank in range(2):
        p = mp.Process(target=train, args=(rank, model, x, y))
        p.start()
        processes.append(p)
    for p in processes:
        p.join()
    after = F.cross_entropy(model(Variable(x, volatile=True)), Variable(y)).data[0]
    print("%.4f" % before, after < before * 0.8, [p.exitcode for p in processes])
