import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.weight, self.bias = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))
        self.register_buffer("running_mean", torch.zeros(4))
        self.register_buffer("running_var", torch.ones(4))

    def forward(self, x):
        x = self.conv(x)
        x = F.batch_norm(  # finds F204
            x, self.running_mean, self.running_var, self.weight, self.bias, True
        )
        return F.relu(x)


net = Block()
net(torch.rand(4, 1, 5, 5))
net.eval()
net(torch.rand(4, 1, 5, 5))
