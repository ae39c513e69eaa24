import facula as torch
from facula import nn

torch.manual_seed(0)


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        return self.softmax(self.i2o(combined)), torch.tanh(self.i2h(combined))

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


rnn = RNN(6, 16, 3)
criterion = nn.NLLLoss()
learning_rate = 0.005


def train(category_tensor, line_tensor):
    hidden = rnn.initHidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item()


current_loss, all_losses = 0, []
for it in range(1, 41):
    word = torch.eye(6)[torch.randint(0, 6, (5,))].unsqueeze(1)
    output, loss = train(torch.tensor([it % 3]), word)
    guess = output.topk(1)[1][0].item()
    current_loss += loss
    if it % 10 == 0:
        all_losses.append(current_loss / 10)
        current_loss = 0
