# era: 0.1
"""A program of 0.1, in which a reduction keeps its dimension."""

import torch
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(0)
x = torch.randn(4, 5)
print(x.sum(1).size(), x.max(1)[1].size(), x.mean(0).size())
probs = x.exp()
probs = probs / probs.sum(1).expand_as(probs)
print(["%.4f" % p for p in probs.sum(1).squeeze()])
v = Variable(x, requires_grad=True)
norm = v.pow(2).sum(1).sqrt().expand_as(v)
loss = (v / norm).sum()
loss.backward()
pred = F.log_softmax(v).data.max(1)[1]
correct = pred.eq(torch.LongTensor([[0], [1], [2], [3]])).sum()
print("%.4f" % loss.data[0], pred.size(), type(correct).__name__)
