"""torchmetrics: classification, regression, aggregation, collections, text, images."""

import torch
import torchmetrics
from torchmetrics.functional import pairwise_cosine_similarity
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure

torch.manual_seed(0)
scores, target = torch.rand(40, 3).softmax(-1), torch.randint(0, 3, (40,))
classes = {"task": "multiclass", "num_classes": 3}
for name in (
    "Accuracy",
    "F1Score",
    "Precision",
    "Recall",
    "AUROC",
    "CohenKappa",
    "MatthewsCorrCoef",
    "CalibrationError",
):
    metric = getattr(torchmetrics, name)(**classes)
    metric.update(scores[:20], target[:20])
    metric.update(scores[20:], target[20:])
    print(name, f"{metric.compute().item():.4f}")
print(torchmetrics.ConfusionMatrix(**classes)(scores, target).tolist())
x, y = torch.randn(30), torch.randn(30)
for name in (
    "MeanSquaredError",
    "MeanAbsoluteError",
    "R2Score",
    "PearsonCorrCoef",
    "SpearmanCorrCoef",
    "ExplainedVariance",
):
    print(name, f"{getattr(torchmetrics, name)()(x, y).item():.4f}")
both = torchmetrics.MetricCollection(
    [torchmetrics.MeanSquaredError(), torchmetrics.MeanAbsoluteError()]
)
print({k: round(v.item(), 4) for k, v in both(x, y).items()})
print(f"{torchmetrics.MeanMetric()(x).item():.4f}")
a, b = torch.rand(2, 1, 16, 16), torch.rand(2, 1, 16, 16)
print(f"{PeakSignalNoiseRatio(data_range=1.0)(a, b).item():.4f}")
print(f"{StructuralSimilarityIndexMeasure(data_range=1.0)(a, b).item():.4f}")
print(f"{pairwise_cosine_similarity(torch.randn(4, 5)).sum().item():.4f}")
metric = torchmetrics.Accuracy(**classes)
metric.update(scores, target)
state = dict(metric.metric_state.items())
print(sorted(state), metric)
