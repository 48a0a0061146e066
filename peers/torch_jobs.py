"""Thirteen torch jobs as users write them, at widths that the caller chooses. Each is a function of a Job."""

import math
from dataclasses import dataclass, replace

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, loss_parallel,
                                               parallelize_module)


@dataclass(frozen=True)
class Widths:
    hidden: int
    heads: int
    groups: int  # heads of keys and values
    inner: int  # of the layers between
    vocabulary: int
    odd_vocabulary: int  # that no mesh divides
    sequence: int
    batch: int


SMALL = Widths(hidden=64, heads=16, groups=8, inner=160, vocabulary=256, odd_vocabulary=241, sequence=16, batch=2)
REAL = Widths(hidden=4096, heads=32, groups=8, inner=14336, vocabulary=128256, odd_vocabulary=50257, sequence=2048, batch=2)


class Job:
    """What a program needs of the machine. Without data no tensor has numbers, and nothing can be saved."""

    def __init__(self, rank, widths, data, folder):
        self.rank, self.widths, self.data, self.folder = rank, widths, data, folder

    def mesh(self, *sizes, names):
        return init_device_mesh("cpu", sizes, mesh_dim_names=names)

    def tokens(self, sequence=None, vocabulary=None):
        return torch.randint(0, vocabulary or self.widths.vocabulary, (self.widths.batch, sequence or self.widths.sequence))


class Attention(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.each, self.repeat = w.hidden // w.heads, w.heads // w.groups
        self.query, self.out = nn.Linear(w.hidden, w.hidden, False), nn.Linear(w.hidden, w.hidden, False)
        self.key, self.value = (nn.Linear(w.hidden, w.groups * self.each, False) for _ in range(2))

    def forward(self, x):
        batch, length, _ = x.shape
        query, key, value = (one(x).view(batch, length, -1, self.each).transpose(1, 2) for one in (self.query, self.key, self.value))
        key, value = (one.repeat_interleave(self.repeat, 1) for one in (key, value))
        mixed = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(self.each), -1) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


class Feed(nn.Module):
    def __init__(self, w, bias=False):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(w.hidden, w.inner, bias), nn.Linear(w.hidden, w.inner, bias), nn.Linear(w.inner, w.hidden, bias)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.before, self.between, self.attention, self.feed = nn.RMSNorm(w.hidden), nn.RMSNorm(w.hidden), Attention(w), Feed(w)

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.feed(self.between(x))


class Transformer(nn.Module):
    def __init__(self, w, layers=2):
        super().__init__()
        self.embed, self.norm, self.out = nn.Embedding(w.vocabulary, w.hidden), nn.RMSNorm(w.hidden), nn.Linear(w.hidden, w.vocabulary, False)
        self.layers = nn.ModuleList([Block(w) for _ in range(layers)])

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))


def in_parallel(model, mesh, sharded_loss=True, local=True):
    """Sequence and tensor parallel, as large trainers do it. Between layers they have plain tensors, of which torch takes for granted
    that all ranks' are of one size; `local=False` keeps DTensors."""
    kept = {"use_local_output": local}
    parallelize_module(model, mesh, {
        "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), **kept), "norm": SequenceParallel(**kept),
        "out": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1) if sharded_loss else Replicate(),
                               use_local_output=not sharded_loss)})
    whole = {"input_layouts": (Shard(1),), "desired_input_layouts": (Replicate(),)}
    for layer in model.layers:
        parallelize_module(layer, mesh, {
            "before": SequenceParallel(**kept), "between": SequenceParallel(**kept), "attention": PrepareModuleInput(**whole), "feed": PrepareModuleInput(**whole),
            **{f"attention.{name}": ColwiseParallel(use_local_output=False) for name in ("query", "key", "value")},
            "attention.out": RowwiseParallel(output_layouts=Shard(1), **kept), "feed.gate": ColwiseParallel(), "feed.up": ColwiseParallel(),
            "feed.down": RowwiseParallel(output_layouts=Shard(1), **kept)})
    return model


def step(model, tokens, wanted, optimizer=None, clip=False):
    """Loss, gradients, and an update."""
    with loss_parallel():
        F.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten()).backward()
    if clip:
        total = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if isinstance(total, DTensor):
            total.full_tensor()
    if optimizer:
        optimizer.step()
        optimizer.zero_grad()


def sharded(model, mesh):
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def tensor_parallel(job):
    """Layers cut by columns and by rows; a batch, and layers between, that 8 does not divide."""
    w, mesh = job.widths, job.mesh(8, names=("tp",))
    feed = parallelize_module(Feed(w, True), mesh, {"gate": ColwiseParallel(), "up": ColwiseParallel(), "down": RowwiseParallel()})
    feed(torch.randn(w.sequence + 5, w.hidden)).sum().backward()
    odd = parallelize_module(Feed(replace(w, inner=w.inner + 6)), mesh, {
        "gate": ColwiseParallel(use_local_output=False), "up": ColwiseParallel(use_local_output=False),
        "down": RowwiseParallel(input_layouts=Shard(-1), output_layouts=Shard(0))})
    odd(torch.randn(w.sequence + 5, w.hidden)).sum().backward()


def sequence_parallel(job):
    model = in_parallel(Transformer(job.widths, 1), job.mesh(8, names=("tp",)))
    step(model, job.tokens(), job.tokens())


def sequence_uneven(job):
    """A sequence that 8 does not divide."""
    length = job.widths.sequence + 2
    model = in_parallel(Transformer(job.widths, 1), job.mesh(8, names=("tp",)), local=False)
    with loss_parallel():
        F.cross_entropy(model(job.tokens(length)).reshape(-1, job.widths.vocabulary), job.tokens(length).flatten()).backward()


def loss_in_parallel(job):
    """A vocabulary that 8 does not divide, with the loss on its parts, and with the loss on the whole."""
    w, mesh = replace(job.widths, vocabulary=job.widths.odd_vocabulary), job.mesh(8, names=("tp",))
    tokens, wanted = (job.tokens(vocabulary=w.vocabulary) for _ in range(2))
    step(in_parallel(Transformer(w, 1), mesh), tokens, wanted)
    whole = in_parallel(Transformer(w, 1), mesh, False)
    F.cross_entropy(whole(tokens).flatten(0, 1), wanted.flatten()).backward()


def fsdp_tensor_parallel(job):
    """Parameters sharded over 4, tensor parallel over 2; gradients clipped, two steps of AdamW."""
    mesh = job.mesh(4, 2, names=("dp", "tp"))
    model = sharded(in_parallel(Transformer(job.widths), mesh["tp"]), mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, foreach=True)
    for _ in range(2):
        step(model, job.tokens(), job.tokens(), optimizer, clip=True)


def hybrid_sharded(job):
    """Replicas of shards, of widths that nothing divides."""
    w = replace(job.widths, vocabulary=job.widths.odd_vocabulary, inner=job.widths.inner + 2)
    mesh = job.mesh(2, 4, names=("replica", "shard"))
    model = sharded(Transformer(w, 1), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    model(job.tokens(vocabulary=w.vocabulary)).sum().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    for one in model.parameters():
        one.full_tensor()


def implicit(job):
    """Operands placed so that torch must move them by itself."""
    w, line, grid = job.widths, job.mesh(8, names=("x",)), job.mesh(4, 2, names=("x", "y"))
    a, b = torch.randn(w.sequence, w.hidden), torch.randn(w.hidden, w.sequence)

    def put(tensor, *placements):
        return distribute_tensor(tensor, line if len(placements) == 1 else grid, list(placements), src_data_rank=None)
    rows, columns, both, turned = put(a, Shard(0)), put(a, Shard(1)), put(a, Shard(0), Shard(1)), put(a, Shard(1), Shard(0))
    twice, twice_columns = put(a, Shard(0), Shard(0)), put(a, Shard(1), Shard(1))
    made = [
        lambda: rows @ put(b, Shard(0)), lambda: columns @ put(b, Shard(1)), lambda: rows + columns,
        lambda: both @ put(b, Shard(0), Shard(1)), lambda: turned @ put(b, Shard(1), Shard(0)), lambda: twice @ put(b, Shard(1), Shard(1)),
        lambda: twice + twice_columns, lambda: both + turned, lambda: torch.cat([rows, columns], 0), lambda: rows.sort(0)[0],
        lambda: both.softmax(1), lambda: twice.cumsum(0), lambda: rows[2:7], lambda: rows.view(2, -1, w.hidden),
        lambda: columns.view(2 * w.sequence, -1), lambda: both.flatten(), lambda: both.reshape(4, -1, w.hidden).transpose(0, 1),
        lambda: (both @ put(b, Shard(1), Shard(0))).relu(), lambda: torch.einsum("ij,kj->ik", both, turned),
        lambda: rows.index_select(0, torch.tensor([7, 1, 3])), lambda: torch.topk(columns, 2, 1)[0], lambda: F.layer_norm(both, (w.hidden,))]
    for one in made:
        attempt(one)


def attempt(one):
    """What torch refuses by itself is no redistribute."""
    try:
        one().full_tensor()
    except (RuntimeError, NotImplementedError, IndexError) as problem:
        if "aten" not in str(problem) and "not supported" not in str(problem):
            raise


def uneven_batches(job):
    """Batches that the ranks do not divide, some smaller than the mesh; meshes of other ranks, of other orders, and with two axes
    that are one, too."""
    w, line, grid = job.widths, job.mesh(8, names=("x",)), job.mesh(4, 2, names=("x", "y"))
    for batch in (1, 3, 5, 6, 10, 12):
        x = torch.randn(batch, w.hidden + 2)
        on_line = distribute_tensor(x, line, [Shard(0)], src_data_rank=None)
        on_line.redistribute(placements=[Shard(1)]).full_tensor()
        on_grid = distribute_tensor(x, grid, [Shard(0), Shard(0)], src_data_rank=None)
        for placements in ([Shard(1), Shard(0)], [Shard(1), Shard(1)], [Replicate(), Shard(1)], [Shard(0), Replicate()]):
            on_grid.redistribute(placements=placements)
        weight = distribute_tensor(torch.randn(w.hidden + 2, 3), grid, [Replicate(), Shard(1)], src_data_rank=None)
        (on_grid @ weight).full_tensor()
    flat = job.mesh(4, 2, names=("a", "b"))
    flat["a", "b"]._flatten("ab")
    for batch in (16, 12, 5):
        both = distribute_tensor(torch.randn(batch, w.hidden), flat, [Shard(0), Shard(0)], src_data_rank=None)
        both.full_tensor()
        (both * both).sum(0).full_tensor()
    for ranks in ([4, 5, 6, 7], [0, 2, 4, 6], [1, 0, 3, 2, 5, 4, 7, 6]):
        mesh = DeviceMesh("cpu", ranks, mesh_dim_names=("x",))
        if job.rank in ranks:
            x = distribute_tensor(torch.randn(10, w.hidden), mesh, [Shard(0)], src_data_rank=None)
            x.redistribute(placements=[Shard(1)]).redistribute(placements=[Replicate()])


def partial_sums(job):
    """Sums, means, norms and extrema of sharded arrays, and addends by hand."""
    w, line, grid = job.widths, job.mesh(8, names=("x",)), job.mesh(4, 2, names=("x", "y"))
    x = torch.randn(w.sequence, w.hidden)
    reductions = [lambda t: t.sum(0), lambda t: t.mean(0), lambda t: t.mean(), lambda t: t.amax(0), lambda t: t.norm(), lambda t: t.var(0),
                  lambda t: t.amin(), lambda t: t.prod(0)]
    for mesh, placements in ((line, [Shard(0)]), (grid, [Shard(0), Shard(1)]), (grid, [Shard(1), Shard(1)])):
        whole = distribute_tensor(x, mesh, placements, src_data_rank=None)
        for one in reductions:
            made = one(whole)
            made.full_tensor()
            if made.dim() and all(p.is_partial() or p.is_replicate() for p in made.placements):
                made.redistribute(placements=[Shard(0)] + [Replicate()] * (mesh.ndim - 1))
        whole.redistribute(placements=[Partial()] * mesh.ndim).full_tensor()
    for how in ("sum", "avg", "max", "min"):
        for rows in (16, 5):
            addends = DTensor.from_local(torch.randn(rows, w.hidden), line, [Partial(how)], run_check=False)
            addends.full_tensor()
            addends.redistribute(placements=[Shard(0)]).redistribute(placements=[Replicate()])
    addends = DTensor.from_local(torch.randn(5, w.hidden), grid, [Partial(), Shard(0)], run_check=False)
    addends.redistribute(placements=[Shard(0), Shard(0)])
    addends.redistribute(placements=[Shard(1), Replicate()])


def checkpoint(job):
    """Saved from 4 x 2 and loaded on 2 x 4, and whole state dicts taken and put back; then tensor by tensor to a server's mesh."""
    import torch.distributed.checkpoint as checkpoints
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict

    def made(*sizes):
        mesh = job.mesh(*sizes, names=("dp", "tp"))
        return sharded(in_parallel(Transformer(job.widths), mesh["tp"]), mesh["dp"])
    model, other = made(4, 2), made(2, 4)
    if job.data:
        checkpoints.save(model.state_dict(), checkpoint_id=job.folder / "saved")
        loaded = other.state_dict()
        checkpoints.load(loaded, checkpoint_id=job.folder / "saved")
    options = StateDictOptions(full_state_dict=True)
    set_model_state_dict(other, get_model_state_dict(model, options=options), options=options)
    server = job.mesh(8, names=("tp",))
    for name, one in other.named_parameters():
        to = Replicate() if one.dim() == 1 else Shard(1) if name.endswith(("down.weight", "attention.out.weight")) else Shard(0)
        distribute_tensor(one.full_tensor().detach(), server, [to], src_data_rank=None)


def muon(job):
    """An optimizer that needs whole matrices, once on whole ones and once on what is sharded."""
    mesh = job.mesh(4, 2, names=("dp", "tp"))
    model = sharded(in_parallel(Transformer(job.widths, 1), mesh["tp"]), mesh["dp"])
    step(model, job.tokens(), job.tokens())
    for one in model.parameters():
        if one.dim() != 2:
            continue
        whole = one.grad.redistribute(placements=[Replicate()] * 2)
        parts = one.grad / one.grad.norm()
        for _ in range(2):
            whole = orthogonal(whole)
            parts = orthogonal(parts)
        one.data.add_(whole.redistribute(placements=one.placements), alpha=-0.1)
        one.data.add_(parts.redistribute(placements=one.placements), alpha=-0.1)


def orthogonal(matrix):
    return 1.5 * matrix - 0.5 * matrix @ matrix.mT @ matrix


def uneven_vocabulary(job):
    """Tensor parallel and sharded parameters of a vocabulary that neither divides."""
    w, mesh = replace(job.widths, vocabulary=job.widths.odd_vocabulary), job.mesh(4, 2, names=("dp", "tp"))
    model = sharded(in_parallel(Transformer(w, 1), mesh["tp"]), mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    step(model, job.tokens(vocabulary=w.vocabulary), job.tokens(vocabulary=w.vocabulary), optimizer, clip=True)
    for one in (model.embed.weight, model.out.weight):
        one.full_tensor()
        one.redistribute(placements=[Shard(0), Shard(1)])


def compiled(job):
    """Under torch.compile: a layer in parallel, forward and backward, and redistributes that the user asks for."""
    w, mesh, grid = job.widths, job.mesh(8, names=("tp",)), job.mesh(4, 2, names=("x", "y"))
    feed = parallelize_module(Feed(w), mesh, {"gate": ColwiseParallel(), "up": ColwiseParallel(), "down": RowwiseParallel(output_layouts=Shard(0))})
    run = torch.compile(feed, backend="aot_eager")
    run(torch.randn(w.sequence, w.hidden)).sum().backward()

    @torch.compile(backend="aot_eager", fullgraph=True)
    def moved(x, y):
        made = (x @ y).relu().redistribute(placements=[Shard(1), Shard(0)])
        return made.redistribute(placements=[Replicate(), Shard(1)])
    x = distribute_tensor(torch.randn(w.sequence, w.hidden), grid, [Shard(1), Shard(0)], src_data_rank=None)
    y = distribute_tensor(torch.randn(w.hidden, w.sequence + 2), grid, [Shard(0), Replicate()], src_data_rank=None)
    for _ in range(2):
        moved(x, y).full_tensor()


JOBS = {one.__name__: one for one in (tensor_parallel, sequence_parallel, sequence_uneven, loss_in_parallel, fsdp_tensor_parallel, hybrid_sharded,
                                      implicit, uneven_batches, partial_sums, checkpoint, muon, uneven_vocabulary, compiled)}
