"""Sequences of several lengths in 0.2: sort by hand, pack, pairs of data and batch sizes."""

import torch
import torch.nn as nn
from torch.autograd import Variable
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
seqs = [[1, 2, 3, 4], [2, 2], [3, 1, 2]]
lengths = torch.LongTensor([len(s) for s in seqs])
padded = torch.zeros(len(seqs), lengths.max()).long()
for i, s in enumerate(seqs):
    padded[i, : len(s)] = torch.LongTensor(s)
sorted_lengths, order = lengths.sort(0, descending=True)
inputs = Variable(padded[order].t().contiguous())
targets = Variable((padded[order] % 2).t().contiguous())
embed, rnn, out = nn.Embedding(5, 8), nn.LSTM(8, 8, bidirectional=True), nn.Linear(16, 2)
parameters = list(embed.parameters()) + list(rnn.parameters()) + list(out.parameters())
optimizer = torch.optim.Adam(parameters, lr=0.05)
packed_targets, _ = pack_padded_sequence(targets, list(sorted_lengths))
for step in range(1, 31):
    optimizer.zero_grad()
    packed = pack_padded_sequence(embed(inputs), list(sorted_lengths))
    output, (h, c) = rnn(packed)
    scores = out(output.data)
    loss = nn.functional.cross_entropy(scores, packed_targets)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, "%.4f" % loss.data[0])
data, batch_sizes = output
again = PackedSequence(data, batch_sizes)
unpacked, n = pad_packed_sequence(again)
print(
    tuple(unpacked.size()),
    [int(k) for k in n],
    (scores.data.max(1)[1] == packed_targets.data).sum(),
)
