"""Records a run of tinytopics for `tests/fit/golden.rs`: the start, the batches, the loss of every step, and the result.

Needs tinytopics 0.9.3 (PyTorch on the CPU). Writes `tinytopics_trace.npz` into the working folder.
"""

import numpy as np
import tinytopics as tt
import torch
from tinytopics.loss import poisson_nmf_loss
from tinytopics.models import NeuralPoissonNMF
from torch.optim import AdamW
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts

DOCUMENTS, TERMS, TOPICS, BATCH, EPOCHS = 64, 200, 5, 16, 30

tt.set_random_seed(7)
X, true_L, true_F = tt.generate_synthetic_data(DOCUMENTS, TERMS, TOPICS, avg_doc_length=400)
model = NeuralPoissonNMF(DOCUMENTS, TERMS, TOPICS)
start_L = model.L.weight.detach().numpy().copy()
start_F = model.F.detach().numpy().copy()
optimizer = AdamW(model.parameters(), lr=0.05, weight_decay=1e-5)
schedule = CosineAnnealingWarmRestarts(optimizer, T_0=20, T_mult=1, eta_min=0.01)

# The batches come from NumPy's generator, so that another implementation can be given the same ones.
rng = np.random.default_rng(3)
orders, step_losses, step_rates, epoch_losses = [], [], [], []
batches = DOCUMENTS // BATCH
for epoch in range(EPOCHS):
    order = rng.permutation(DOCUMENTS)
    orders.append(order)
    total = 0
    for batch in range(batches):
        documents = torch.tensor(order[batch * BATCH : (batch + 1) * BATCH])
        optimizer.zero_grad()
        loss = poisson_nmf_loss(X[documents], model(documents))
        loss.backward()
        if epoch == 0 and batch == 0:
            gradient_L = model.L.weight.grad.numpy().copy()
            gradient_F = model.F.grad.numpy().copy()
        step_rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step(epoch + batch / batches)
        step_losses.append(loss.item())
        total += loss.item()
    epoch_losses.append(total / batches)

np.savez(
    "tinytopics_trace.npz",
    X=X.numpy(),
    true_L=true_L,
    true_F=true_F,
    L0=start_L,
    F0=start_F,
    grad_L_step0=gradient_L,
    grad_F_step0=gradient_F,
    order=np.array(orders),
    step_losses=np.array(step_losses),
    step_lrs=np.array(step_rates),
    epoch_losses=np.array(epoch_losses),
    L_final=model.get_normalized_L().numpy(),
    F_final=model.get_normalized_F().numpy(),
    batch_size=BATCH,
)
