"""training.py [cpu|cuda]: steps of training in PyTorch, an accuracy for each layer, forward and backward.

    pip install out/wheel/*.whl torch && python3 bench/examples/training.py"""
import sys

import torch
import halftone_gemm as hg


class Linear(torch.nn.Linear):
    """Its products, of forward and backward, keep this accuracy."""

    def __init__(self, inputs, outputs, accuracy):
        super().__init__(inputs, outputs)
        self.accuracy = accuracy

    def forward(self, x):
        return hg.mm(x, self.weight.mT, accuracy=self.accuracy) + self.bias


torch.manual_seed(1)
device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
model = torch.nn.Sequential(Linear(16, 64, "bits=12"), torch.nn.Tanh(), Linear(64, 1, "fp32")).to(device)
x = torch.randn(256, 16, device=device)
y = torch.sin(x).sum(1, keepdim=True)
optimizer, losses = torch.optim.Adam(model.parameters(), 1e-2), []
for step in range(30):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
for layer in model[0], model[2]:
    shape = torch.empty(256, layer.in_features, device=device)
    print(f"{layer.accuracy}: {hg.query(shape, layer.weight.detach().mT, accuracy=layer.accuracy)['scheme']}")
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
assert losses[-1] < losses[0] / 2
