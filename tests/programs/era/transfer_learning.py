"""The transfer learning tutorial: frozen layers, scheduler.step() first, loss.data[0], torch.sum."""

import copy

import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable
from torch.optim import lr_scheduler
from torchvision import models

torch.manual_seed(0)
model_ft = models.squeezenet1_1(num_classes=4)
for param in model_ft.parameters():
    param.requires_grad = False
model_ft.classifier = nn.Sequential(
    nn.Conv2d(512, 2, kernel_size=1), nn.ReLU(), nn.AvgPool2d(1), nn.AdaptiveAvgPool2d(1)
)
model_ft.num_classes = 2

inputs = torch.randn(12, 3, 40, 40) * 0.2
labels = torch.LongTensor([0, 1] * 6)
inputs[labels == 1] += 1
dataloaders = {
    x: torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, labels), batch_size=4)
    for x in ["train", "val"]
}
dataset_sizes = {"train": 12, "val": 12}


def train_model(model, criterion, optimizer, scheduler, num_epochs=4):
    best_model_wts = copy.deepcopy(model.state_dict())
    best_acc = 0.0
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            if phase == "train":
                scheduler.step()
                model.train(True)
            else:
                model.train(False)
            running_loss = 0.0
            running_corrects = 0
            for data in dataloaders[phase]:
                inputs, labels = data
                inputs, labels = Variable(inputs), Variable(labels)
                optimizer.zero_grad()
                outputs = model(inputs)
                outputs = outputs.view(outputs.size(0), -1)
                _, preds = torch.max(outputs.data, 1)
                loss = criterion(outputs, labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
                running_loss += loss.data[0] * inputs.size(0)
                running_corrects += torch.sum(preds == labels.data)
            epoch_loss = running_loss / dataset_sizes[phase]
            epoch_acc = running_corrects / dataset_sizes[phase]
            print(
                "{} {} Loss: {:.4f} Acc: {:.4f} lr {:.4f}".format(
                    epoch, phase, epoch_loss, epoch_acc, optimizer.param_groups[0]["lr"]
                )
            )
            if phase == "val" and epoch_acc > best_acc:
                best_acc = epoch_acc
                best_model_wts = copy.deepcopy(model.state_dict())
    model.load_state_dict(best_model_wts)
    return model


optimizer = optim.SGD(
    filter(lambda p: p.requires_grad, model_ft.parameters()), lr=0.05, momentum=0.9
)
exp_lr_scheduler = lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
train_model(model_ft, nn.CrossEntropyLoss(), optimizer, exp_lr_scheduler)
