"""The names tutorial: an RNN by hand, Variable(torch.zeros), topk and Python numbers from tensors."""

import random

import torch
import torch.nn as nn
from torch.autograd import Variable

random.seed(0)
torch.manual_seed(0)
all_letters = "abcdefghijklmnopqrstuvwxyz"
n_letters = len(all_letters)
category_lines = {"Ab": ["abba", "baab", "aabb", "bab"], "Xy": ["xyyx", "yxxy", "xxyy", "yxy"]}
all_categories = sorted(category_lines)
n_categories = len(all_categories)


def lineToTensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][all_letters.find(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax()

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = self.i2h(combined)
        output = self.softmax(self.i2o(combined))
        return output, hidden

    def initHidden(self):
        return Variable(torch.zeros(1, self.hidden_size))


rnn = RNN(n_letters, 16, n_categories)
criterion = nn.NLLLoss()


def categoryFromOutput(output):
    top_n, top_i = output.data.topk(1)
    category_i = top_i[0][0]
    return all_categories[category_i], category_i


def randomTrainingPair():
    category = random.choice(all_categories)
    line = random.choice(category_lines[category])
    category_tensor = Variable(torch.LongTensor([all_categories.index(category)]))
    return category, line, category_tensor, Variable(lineToTensor(line))


def train(category_tensor, line_tensor):
    hidden = rnn.initHidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(-0.05, p.grad.data)
    return output, loss.data[0]


current_loss = 0
for it in range(1, 121):
    category, line, category_tensor, line_tensor = randomTrainingPair()
    output, loss = train(category_tensor, line_tensor)
    current_loss += loss
    if it % 30 == 0:
        guess, guess_i = categoryFromOutput(output)
        assert type(guess_i) is int
        print("%d %.4f %s / %s" % (it, current_loss / 30, line, guess))
        current_loss = 0

n_right = 0
confusion = torch.zeros(n_categories, n_categories)
for category in all_categories:
    for line in category_lines[category]:
        hidden = rnn.initHidden()
        for letter in Variable(lineToTensor(line)):
            output, hidden = rnn(letter, hidden)
        guess, guess_i = categoryFromOutput(output)
        confusion[all_categories.index(category)][guess_i] += 1
        n_right += guess == category
for i in range(n_categories):
    confusion[i] = confusion[i] / confusion[i].sum()
print(n_right, confusion.numpy().tolist())
