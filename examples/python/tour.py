# %% [markdown]
# A plan, its picture, its Program, and what a broken line does.
# Open this file as a notebook (Jupyter with jupytext, or an editor that knows `# %%`), or run it:
# `python examples/python/tour.py`.

# %%
import pyretile as rt

MESH = {"x": 2, "y": 3}
plan = rt.plan("P('x', 'y')", "P('y', 'x')", mesh=MESH, shape=(6, 6))
print(plan)

# %% [markdown]
# In a notebook the last value of a cell is drawn: which device holds what, at the start, on the way and at the end.

# %%
plan  # noqa: B018
assert plan._repr_svg_().startswith("<svg")

# %%
for step in plan.steps:
    print(step.op, step.localtype, step.cost)
assert plan.height <= plan.bound and plan.optimal

# %% [markdown]
# The Program says who sends to whom. The judge replays it, element by element.

# %%
program = plan.lower()
print(program.text)
assert rt.check(program)[0].right

# %% [markdown]
# The last step permutes whole tiles. If every device keeps its own instead, all shapes are as before, and numbers are not.

# %%
lines = program.text.splitlines()
assert lines[-1].startswith("allpermute")
broken = "\n".join([*lines[:-1], "allpermute source=[6]<=[6] tile=[2,3]"])
verdict = rt.check(broken)[0]
print(verdict.text)
assert verdict.right is False

# %% [markdown]
# On two nodes of three devices, links between nodes are slower: the plan that takes the least time.

# %%
fast = rt.plan("P('x', 'y')", "P('y', 'x')", mesh=MESH, shape=(6000, 6000), network="y:450GB/s:5us, x:50GB/s:15us")
print(fast)
assert fast.time_ps <= fast.fewest_elements_time_ps
