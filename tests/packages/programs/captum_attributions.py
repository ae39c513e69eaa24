"""Captum: twenty ways to attribute an output to pixels, layers and neurons."""

import captum.attr as attr
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(36, 3)

    def forward(self, x):
        return self.fc(self.pool(self.relu(self.conv(x))).flatten(1))


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.fc = nn.Linear(6, 2)

    def forward(self, tokens):
        return self.fc(self.embedding(tokens).mean(1))


def show(name, found):
    found = found[0] if isinstance(found, tuple) else found
    total = found.double()
    print(name, tuple(found.shape), f"{total.sum().item():.4f} {total.abs().sum().item():.4f}")


torch.manual_seed(0)
net, text = Net().eval(), Text()
x, target = torch.randn(2, 1, 8, 8, requires_grad=True), torch.tensor([0, 2])
zeros, others = torch.zeros_like(x), torch.randn(4, 1, 8, 8)
tokens = torch.randint(0, 20, (2, 5))
mask = torch.arange(4).repeat_interleave(16).view(1, 1, 8, 8)

show("integrated", attr.IntegratedGradients(net).attribute(x, zeros, target=target))
show("saliency", attr.Saliency(net).attribute(x, target=target))
show("times input", attr.InputXGradient(net).attribute(x, target=target))
show("deeplift", attr.DeepLift(net).attribute(x, zeros, target=target))
show("deeplift shap", attr.DeepLiftShap(net).attribute(x, others, target=target))
show("guided", attr.GuidedBackprop(net).attribute(x, target=target))
show("deconvolution", attr.Deconvolution(net).attribute(x, target=target))
show("guided cam", attr.GuidedGradCam(net, net.conv).attribute(x, target=target))
cam = attr.LayerGradCam(net, net.conv).attribute(x, target=target)
show("cam", attr.LayerAttribution.interpolate(cam, (8, 8)))
show("activation", attr.LayerActivation(net, net.conv).attribute(x))
show("conductance", attr.LayerConductance(net, net.conv).attribute(x, zeros, target=target))
neuron = attr.NeuronConductance(net, net.conv)
show("neuron", neuron.attribute(x, (0, 1, 1), zeros, target=target))
show("neuron gradient", attr.NeuronGradient(net, net.conv).attribute(x, (0, 1, 1)))
show("occlusion", attr.Occlusion(net).attribute(x, (1, 3, 3), strides=(1, 2, 2), target=target))
show("ablation", attr.FeatureAblation(net).attribute(x, target=target))
show("lrp", attr.LRP(net).attribute(x, target=target))
words = attr.LayerIntegratedGradients(text, text.embedding)
show("words", words.attribute(tokens, torch.zeros_like(tokens), target=1))
torch.manual_seed(3)
shapley = attr.ShapleyValueSampling(net)
show("shapley", shapley.attribute(x[:1], target=0, n_samples=2, feature_mask=mask))
noisy = attr.NoiseTunnel(attr.Saliency(net))
show("smooth", noisy.attribute(x, nt_type="smoothgrad", nt_samples=4, target=target))
kernel = attr.KernelShap(net)
show("kernel shap", kernel.attribute(x[:1], target=0, n_samples=40, feature_mask=mask))
