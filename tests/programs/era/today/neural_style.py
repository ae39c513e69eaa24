"""As the program of this name, in the form of today."""

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class ContentLoss(nn.Module):
    def __init__(self, target, weight):
        super().__init__()
        self.target = target.detach() * weight
        self.weight = weight
        self.criterion = nn.MSELoss()

    def forward(self, input):
        self.loss = self.criterion.forward(input * self.weight, self.target)
        self.output = input
        return self.output

    def backward(self, retain_variables=True):
        self.loss.backward(retain_graph=retain_variables)
        return self.loss.item()


class GramMatrix(nn.Module):
    def forward(self, input):
        a, b, c, d = input.data.size()
        features = input.view(a * b, c * d)
        return torch.mm(features, features.t()).div_(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target, weight):
        super().__init__()
        self.target = target.detach() * weight
        self.weight = weight
        self.gram = GramMatrix()
        self.criterion = nn.MSELoss()

    def forward(self, input):
        self.output = input.clone()
        self.G = self.gram.forward(input)
        self.G.mul_(self.weight)
        self.loss = self.criterion.forward(self.G, self.target)
        return self.output

    def backward(self, retain_variables=True):
        self.loss.backward(retain_graph=retain_variables)
        return self.loss.item()


conv = nn.Conv2d(3, 6, 3, padding=1)
for p in conv.parameters():
    p.requires_grad = False
content, style = (torch.rand(1, 3, 8, 8)), (torch.rand(1, 3, 8, 8))
content_loss = ContentLoss(conv(content), 1)
style_loss = StyleLoss(GramMatrix()(conv(style)), 100)
model = nn.Sequential(conv, content_loss, style_loss)
input = torch.rand(1, 3, 8, 8).requires_grad_()
optimizer = optim.Adam([input], lr=0.05)
for i in range(1, 31):
    input.data.clamp_(0, 1)
    optimizer.zero_grad()
    model.forward(input)
    score = content_loss.backward() + style_loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print("run %d loss %.5f" % (i, score))
