import facula as torch
from facula import nn, optim
from facula.nn import functional as F

torch.manual_seed(0)
cnn = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU()).eval()
cnn.requires_grad_(False)


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


content_img, style_img = torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16)
content, style = cnn(content_img).detach(), gram_matrix(cnn(style_img)).detach()
input_img = content_img.clone().requires_grad_(True)
optimizer = optim.LBFGS([input_img])
run = [0]
while run[0] <= 30:

    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        features = cnn(input_img)
        loss = F.mse_loss(features, content) + 1e4 * F.mse_loss(gram_matrix(features), style)
        loss.backward()
        run[0] += 1
        return loss

    optimizer.step(closure)
with torch.no_grad():
    input_img.clamp_(0, 1)
