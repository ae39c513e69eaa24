"""The sine wave example of 0.1.12: LSTMCell by hand, LBFGS with a closure that prints loss.data."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

np.random.seed(0)
torch.manual_seed(0)
phase = np.arange(6)[:, None]
data = np.sin((np.arange(24)[None] + phase) / 3.0).astype("float64")


class Sequence(nn.Module):
    def __init__(self):
        super(Sequence, self).__init__()
        self.lstm1 = nn.LSTMCell(1, 12)
        self.linear = nn.Linear(12, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = Variable(torch.zeros(input.size(0), 12).double(), requires_grad=False)
        c_t = Variable(torch.zeros(input.size(0), 12).double(), requires_grad=False)
        for i, input_t in enumerate(input.chunk(input.size(1), dim=1)):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            output = self.linear(h_t)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            output = self.linear(h_t)
            outputs += [output]
        return torch.stack(outputs, 1).squeeze(2)


input = Variable(torch.from_numpy(data[2:, :-1]), requires_grad=False)
target = Variable(torch.from_numpy(data[2:, 1:]), requires_grad=False)
test_input = Variable(torch.from_numpy(data[:2, :-1]), requires_grad=False)
test_target = Variable(torch.from_numpy(data[:2, 1:]), requires_grad=False)
seq = Sequence()
seq.double()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=5)
for i in range(3):

    def closure():
        optimizer.zero_grad()
        out = seq(input)
        loss = criterion(out, target)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    print("%d loss: %.5f" % (i, loss.data.numpy()[0]))
pred = seq(test_input, future=4)
loss = criterion(pred[:, :-4], test_target)
print("test loss: %.5f" % loss.data.numpy()[0], tuple(pred.data.numpy().shape))
