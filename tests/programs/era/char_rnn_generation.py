"""Practical PyTorch's character generation: target[c] as a target, multinomial of output.data.exp()."""

import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(3)
all_characters = "abcd"
n_characters = len(all_characters)
file = "abcd" * 30
chunk_len = 20


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, n_layers=1):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.n_layers = n_layers
        self.encoder = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, n_layers)
        self.decoder = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden):
        input = self.encoder(input.view(1, -1))
        output, hidden = self.gru(input.view(1, 1, -1), hidden)
        output = self.decoder(output.view(1, -1))
        return output, hidden

    def init_hidden(self):
        return Variable(torch.zeros(self.n_layers, 1, self.hidden_size))


def char_tensor(string):
    tensor = torch.zeros(len(string)).long()
    for c in range(len(string)):
        tensor[c] = all_characters.index(string[c])
    return Variable(tensor)


decoder = RNN(n_characters, 16, n_characters)
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss()


def evaluate(prime_str="a", predict_len=12, temperature=0.2):
    hidden = decoder.init_hidden()
    prime_input = char_tensor(prime_str)
    predicted = prime_str
    inp = prime_input[-1]
    for p in range(predict_len):
        output, hidden = decoder(inp, hidden)
        output_dist = output.data.view(-1).div(temperature).exp()
        top_i = torch.multinomial(output_dist, 1)[0]
        predicted_char = all_characters[top_i]
        predicted += predicted_char
        inp = char_tensor(predicted_char)
    return predicted


for epoch in range(1, 13):
    start = epoch % 4
    inp, target = (
        char_tensor(file[start : start + chunk_len]),
        char_tensor(file[start + 1 : start + 1 + chunk_len]),
    )
    hidden = decoder.init_hidden()
    decoder.zero_grad()
    loss = 0
    for c in range(chunk_len):
        output, hidden = decoder(inp[c], hidden)
        loss += criterion(output, target[c])
    loss.backward()
    decoder_optimizer.step()
    if epoch % 4 == 0:
        print("%d %.4f" % (epoch, loss.data[0] / chunk_len))
print(evaluate())
