import facula as torch

torch.manual_seed(0)
scores, labels = torch.rand(6, 8), torch.randint(0, 4, (50,))
row, column = scores.argmax() // 8, scores.argmax() % 8
n_batches = (labels == 1).sum() // 4
half = torch.div((labels > 1).sum(), 2, rounding_mode="floor")
share = (labels == 1).sum() / len(labels)
assert scores[row, column] == scores.max()
