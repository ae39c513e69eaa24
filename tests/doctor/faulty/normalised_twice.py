import facula as torch
from facula.utils.data import DataLoader, Dataset
from facula.vision import transforms


class Images(Dataset):
    def __init__(self, transform):
        self.x, self.transform = torch.rand(8, 3, 4, 4), transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.transform(self.x[i])


normalize = transforms.Normalize([0.5] * 3, [0.5] * 3)
transform = transforms.Compose([normalize, transforms.RandomHorizontalFlip(), normalize])
for _batch in DataLoader(Images(transform), batch_size=4):  # finds F803
    pass
