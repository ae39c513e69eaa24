"""The VAE example of 0.1.12: size_average, in-place chains of operations, noise of std.size()."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(1)
images = (torch.rand(48, 36) > 0.8).float()
images[:24, :18] = 1
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(images, torch.zeros(48)), batch_size=12, shuffle=False
)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(36, 20)
        self.fc21 = nn.Linear(20, 4)
        self.fc22 = nn.Linear(20, 4)
        self.fc3 = nn.Linear(4, 20)
        self.fc4 = nn.Linear(20, 36)
        self.relu = nn.ReLU()
        self.sigmoid = nn.Sigmoid()

    def encode(self, x):
        h1 = self.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparametrize(self, mu, logvar):
        std = logvar.mul(0.5).exp_()
        eps = torch.FloatTensor(std.size()).normal_()
        eps = Variable(eps)
        return eps.mul(std).add_(mu)

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 36))
        z = self.reparametrize(mu, logvar)
        return self.sigmoid(self.fc4(self.relu(self.fc3(z)))), mu, logvar


model = VAE()
reconstruction_function = nn.BCELoss()
reconstruction_function.size_average = False


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x, size_average=False)
    KLD_element = mu.pow(2).add_(logvar.exp()).mul_(-1).add_(1).add_(logvar)
    KLD = torch.sum(KLD_element).mul_(-0.5)
    return BCE + KLD


optimizer = optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(1, 5):
    model.train()
    train_loss = 0
    for batch_idx, (data, _) in enumerate(loader):
        data = Variable(data)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.data[0]
        optimizer.step()
    print(f"====> Epoch: {epoch} Average loss: {train_loss / len(loader.dataset):.4f}")

model.eval()
data = Variable(images[:4], volatile=True)
recon_batch, mu, logvar = model(data)
test_loss = loss_function(recon_batch, data, mu, logvar).data[0]
print(f"test {test_loss:.4f} {recon_batch.volatile}")
