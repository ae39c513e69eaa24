"""The translation tutorial: attention decoder, topi[0][0] as a dict's key, masked cross entropy."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.autograd import Variable
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

random.seed(1)
torch.manual_seed(1)
SOS_token, EOS_token, MAX_LENGTH = 0, 1, 6
index2word = {0: "SOS", 1: "EOS", 2: "un", 3: "deux", 4: "trois"}
pairs = [([2, 3], [3, 2]), ([2, 4], [4, 2]), ([3, 4], [4, 3]), ([2, 3, 4], [4, 3, 2])]


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)

    def forward(self, input, hidden):
        embedded = self.embedding(input).view(1, 1, -1)
        return self.gru(embedded, hidden)

    def initHidden(self):
        return Variable(torch.zeros(1, 1, self.hidden_size))


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, max_length=MAX_LENGTH):
        super(AttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attn = nn.Linear(hidden_size * 2, max_length)
        self.attn_combine = nn.Linear(hidden_size * 2, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden, encoder_outputs):
        embedded = self.embedding(input).view(1, 1, -1)
        attn_weights = F.softmax(self.attn(torch.cat((embedded[0], hidden[0]), 1)))
        attn_applied = torch.bmm(attn_weights.unsqueeze(0), encoder_outputs.unsqueeze(0))
        output = torch.cat((embedded[0], attn_applied[0]), 1)
        output = F.relu(self.attn_combine(output).unsqueeze(0))
        output, hidden = self.gru(output, hidden)
        return F.log_softmax(self.out(output[0])), hidden, attn_weights


encoder, decoder = EncoderRNN(5, 16), AttnDecoderRNN(16, 5)
encoder_optimizer = optim.SGD(encoder.parameters(), lr=0.1)
decoder_optimizer = optim.SGD(decoder.parameters(), lr=0.1)
criterion = nn.NLLLoss()


def variable(ids):
    return Variable(torch.LongTensor(ids + [EOS_token]).view(-1, 1))


def encode(input_variable):
    hidden = encoder.initHidden()
    encoder_outputs = Variable(torch.zeros(MAX_LENGTH, encoder.hidden_size))
    for ei in range(input_variable.size()[0]):
        output, hidden = encoder(input_variable[ei], hidden)
        encoder_outputs[ei] = output[0][0]
    return encoder_outputs, hidden


def train(input_variable, target_variable, use_teacher_forcing):
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    encoder_outputs, decoder_hidden = encode(input_variable)
    loss = 0
    decoder_input = Variable(torch.LongTensor([[SOS_token]]))
    target_length = target_variable.size()[0]
    for di in range(target_length):
        decoder_output, decoder_hidden, attention = decoder(
            decoder_input, decoder_hidden, encoder_outputs
        )
        loss += criterion(decoder_output, target_variable[di])
        if use_teacher_forcing:
            decoder_input = target_variable[di]
        else:
            topv, topi = decoder_output.data.topk(1)
            ni = topi[0][0]
            decoder_input = Variable(torch.LongTensor([[ni]]))
            if ni == EOS_token:
                break
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    return loss.data[0] / target_length


total = 0
for it in range(1, 241):
    source, target = random.choice(pairs)
    total += train(variable(source), variable(target), random.random() < 0.7)
    if it % 80 == 0:
        print("%d %.4f" % (it, total / 80))
        total = 0

for source, _ in pairs:
    encoder_outputs, decoder_hidden = encode(variable(source))
    decoder_input = Variable(torch.LongTensor([[SOS_token]]))
    decoded_words = []
    for di in range(MAX_LENGTH):
        decoder_output, decoder_hidden, attention = decoder(
            decoder_input, decoder_hidden, encoder_outputs
        )
        topv, topi = decoder_output.data.topk(1)
        ni = topi[0][0]
        if ni == EOS_token:
            break
        decoded_words.append(index2word[ni])
        decoder_input = Variable(torch.LongTensor([[ni]]))
    print(" ".join(decoded_words))


def sequence_mask(sequence_length, max_len=None):
    if max_len is None:
        max_len = sequence_length.data.max()
    batch_size = sequence_length.size(0)
    seq_range = torch.arange(0, max_len).long()
    seq_range_expand = Variable(seq_range.unsqueeze(0).expand(batch_size, max_len))
    seq_length_expand = sequence_length.unsqueeze(1).expand_as(seq_range_expand)
    return seq_range_expand < seq_length_expand


def masked_cross_entropy(logits, target, length):
    logits_flat = logits.view(-1, logits.size(-1))
    log_probs_flat = F.log_softmax(logits_flat)
    losses_flat = -torch.gather(log_probs_flat, dim=1, index=target.view(-1, 1))
    losses = losses_flat.view(*target.size())
    mask = sequence_mask(sequence_length=length, max_len=target.size(1))
    losses = losses * mask.float()
    return losses.sum() / length.float().sum()


length = Variable(torch.LongTensor([3, 2]))
logits = Variable(torch.randn(2, 3, 5), requires_grad=True)
loss = masked_cross_entropy(logits, Variable(torch.LongTensor([[1, 2, 3], [4, 0, 0]])), length)
loss.backward()
mask = sequence_mask(length)
print(
    "%.4f" % loss.data[0],
    mask.data.tolist(),
    (1 - mask).data.tolist(),
    logits.grad.data[1, 2].abs().sum(),
)

packed = pack_padded_sequence(Variable(torch.randn(3, 2, 4)), [3, 2])
data, batch_sizes = packed
print(data.size(), [int(n) for n in batch_sizes])
output, lengths = pad_packed_sequence(nn.GRU(4, 5)(packed)[0])
print(output.size(), [int(n) for n in lengths])
