"""A beam search of 0.2: whole division of indices, masked_fill_ on data, scores as numbers."""

import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(4)
size, num_words, PAD, BOS, EOS = 3, 6, 0, 1, 2


class Beam(object):
    def __init__(self):
        self.scores = torch.FloatTensor(size).zero_()
        self.prevKs = []
        self.nextYs = [torch.LongTensor(size).fill_(PAD)]
        self.nextYs[0][0] = BOS
        self.done = False

    def advance(self, wordLk):
        if len(self.prevKs) > 0:
            beamLk = wordLk + self.scores.unsqueeze(1).expand_as(wordLk)
        else:
            beamLk = wordLk[0]
        flatBeamLk = beamLk.view(-1)
        bestScores, bestScoresId = flatBeamLk.topk(size, 0, True, True)
        self.scores = bestScores
        # bestScoresId is flattened beam x word array, so calculate which word and beam
        prevK = bestScoresId / num_words
        self.prevKs.append(prevK)
        self.nextYs.append(bestScoresId - prevK * num_words)
        if self.nextYs[-1][0] == EOS:
            self.done = True
        return self.done

    def getHyp(self, k):
        hyp = []
        for j in range(len(self.prevKs) - 1, -1, -1):
            hyp.append(self.nextYs[j + 1][k])
            k = self.prevKs[j][k]
        return hyp[::-1]


embedding, cell, out = nn.Embedding(num_words, 8), nn.GRUCell(8, 8), nn.Linear(8, num_words)
beam = Beam()
hidden = Variable(torch.randn(1, 8).expand(size, 8).contiguous(), volatile=True)
steps = 0
while steps < 5:
    inp = Variable(beam.nextYs[-1], volatile=True)
    hidden = cell(embedding(inp), hidden)
    scores = out(hidden)
    mask = torch.ByteTensor(size, num_words).zero_()
    mask[:, PAD] = 1
    scores.data.masked_fill_(mask, -1e4)
    wordLk = nn.functional.log_softmax(scores).data
    if beam.advance(wordLk):
        break
    hidden = hidden.index_select(0, Variable(beam.prevKs[-1]))
    steps += 1
scores, order = torch.sort(beam.scores, 0, True)
hyp = beam.getHyp(order[0])
assert all(type(w) is int for w in hyp)
print(hyp, "%.4f" % scores[0])
lengths = torch.LongTensor([3, 1, 2])
mask = torch.ByteTensor([[i >= n for i in range(3)] for n in lengths])
attention = Variable(torch.ones(3, 3))
attention.data.masked_fill_(mask, -float("inf"))
print(nn.functional.softmax(attention).data.tolist())
keep = lengths.gt(1)
print(keep.sum(), (1 - keep).tolist(), (~keep).tolist(), lengths[keep].tolist(), keep.type())
