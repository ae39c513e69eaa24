"""torch.utils.trainer: a loop with plugins that watch the loss and the accuracy."""

import torch
import torch.nn as nn
import torch.utils.trainer as trainer
from torch.utils.trainer.plugins import AccuracyMonitor, Logger, LossMonitor, Plugin

torch.manual_seed(0)
x = torch.randn(32, 4)
y = (x[:, 0] > 0).long()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
model = nn.Linear(4, 2)
t = trainer.Trainer(
    model, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.5), loader
)


class Count(Plugin):
    def __init__(self):
        super(Count, self).__init__([(2, "batch"), (1, "epoch")])
        self.n_batches = 0

    def register(self, trainer):
        self.trainer = trainer

    def batch(self, i, input, target):
        self.n_batches += 1

    def epoch(self, i):
        print("epoch", i, "batches", self.n_batches)


t.register_plugin(LossMonitor())
t.register_plugin(AccuracyMonitor())
t.register_plugin(Count())
t.register_plugin(Logger(["loss", "accuracy"], [(1, "epoch")]))
t.run(3)
