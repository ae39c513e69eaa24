"""The ImageNet example of 0.1.12: AverageMeter, accuracy of top k, async=True, checkpoints."""

import os
import shutil
import tempfile
import time

import torch
import torch.nn as nn
import torch.nn.parallel
import torch.backends.cudnn as cudnn
import torch.optim
import torch.utils.data
import torchvision.transforms as transforms
from PIL import Image
from torch.autograd import Variable

torch.manual_seed(0)
folder = tempfile.mkdtemp()


class Colours(torch.utils.data.Dataset):
    """Images whose colour is the class."""

    transform = transforms.Compose([
        transforms.RandomSizedCrop(8, Image.BILINEAR), transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])])

    def __len__(self):
        return 24

    def __getitem__(self, index):
        colour = [0, 0, 0]
        colour[index % 3] = 200
        return self.transform(Image.new("RGB", (16, 16), tuple(colour))), index % 3


class AverageMeter(object):
    def __init__(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def accuracy(output, target, topk=(1,)):
    maxk = max(topk)
    batch_size = target.size(0)
    _, pred = output.topk(maxk, 1, True, True)
    pred = pred.t()
    correct = pred.eq(target.view(1, -1).expand_as(pred))
    res = []
    for k in topk:
        correct_k = correct[:k].view(-1).float().sum(0)
        res.append(correct_k.mul_(100.0 / batch_size))
    return res


model = nn.Sequential(
    nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.AvgPool2d(6))
model = nn.Sequential(model, nn.Module()) if False else model


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.features = torch.nn.DataParallel(model)
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        x = self.features(x)
        return self.fc(x.view(x.size(0), -1))


net = Net()
cudnn.benchmark = True
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
loader = torch.utils.data.DataLoader(Colours(), batch_size=8, shuffle=False, pin_memory=False)


def adjust_learning_rate(optimizer, epoch):
    lr = 0.1 * (0.1 ** (epoch // 3))
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr


def train(epoch):
    batch_time, losses, top1, top2 = AverageMeter(), AverageMeter(), AverageMeter(), AverageMeter()
    net.train()
    end = time.time()
    for i, (input, target) in enumerate(loader):
        if torch.cuda.is_available():
            target = target.cuda(async=True)
        input_var = torch.autograd.Variable(input)
        target_var = torch.autograd.Variable(target)
        output = net(input_var)
        loss = criterion(output, target_var)
        prec1, prec2 = accuracy(output.data, target, topk=(1, 2))
        losses.update(loss.data[0], input.size(0))
        top1.update(prec1[0], input.size(0))
        top2.update(prec2[0], input.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batch_time.update(time.time() - end)
        end = time.time()
    print("Epoch: [{0}] Loss {loss.avg:.4f} Prec@1 {top1.avg:.3f} Prec@2 {top2.avg:.3f}".format(
        epoch, loss=losses, top1=top1, top2=top2))
    return top1.avg


def save_checkpoint(state, is_best, filename="checkpoint.pth.tar"):
    torch.save(state, os.path.join(folder, filename))
    if is_best:
        shutil.copyfile(os.path.join(folder, filename), os.path.join(folder, "model_best.pth.tar"))


best_prec1 = 0
for epoch in range(4):
    adjust_learning_rate(optimizer, epoch)
    prec1 = train(epoch)
    is_best = prec1 > best_prec1
    best_prec1 = max(prec1, best_prec1)
    save_checkpoint({"epoch": epoch + 1, "arch": "net", "state_dict": net.state_dict(),
                     "best_prec1": best_prec1, "optimizer": optimizer.state_dict()}, is_best)
checkpoint = torch.load(os.path.join(folder, "model_best.pth.tar"),
                        map_location=lambda storage, loc: storage)
net.load_state_dict(checkpoint["state_dict"])
optimizer.load_state_dict(checkpoint["optimizer"])
print(checkpoint["epoch"], "%.2f" % checkpoint["best_prec1"], sorted(net.state_dict())[0])
shutil.rmtree(folder)
