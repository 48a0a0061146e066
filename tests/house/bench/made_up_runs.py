"""Made-up runs of bench/execution, whose figures are known. The folder `scripts` of the tree has to be on the path before this is imported."""

from evaluation import execution

KIB = 262144
TILE = 1 << 27
GOOD = {  # seconds over those of the copy limit
    "copy limit": ("reference", 1.0), "one stream": ("reference", 0.8), "automatic": ("strategy", 0.8), "in place": ("strategy", 1.8),
    "MPI_Alltoallw": ("peer", 2.4), "FFTW MPI transpose": ("peer", 3.0)}


def contender(name, kind, ratio):
    out = {"name": name, "kind": kind, "verified": True, "repeats": 1, "seconds": [0.02 * ratio, 0.03 * ratio, 0.025 * ratio]}
    if kind == "strategy":
        out |= {"strategy": "shared", "peak_bytes": TILE + (580 << 10)}
    return out


def problem(name, kind, run_bytes, kib=KIB, **ratios):
    figures = {key: (of, ratios.get(key.replace(" ", "_"), ratio)) for key, (of, ratio) in GOOD.items()}
    return {"problem": name, "kind": kind, "kib": kib, "mesh": "d:2", "from": "[1{d}2, 2]", "to": "[2, 1{d}2]", "run_bytes": run_bytes,
            "in_bytes": TILE, "out_bytes": TILE, "contenders": [contender(key, of, ratio) for key, (of, ratio) in figures.items()]}


def run(processes=2, **ratios):
    problems = [problem("long", "rows and columns", 4096, **ratios), problem("short", "axis moves", 64), problem("all", "gathers", 1 << 20),
                problem("swap", "mesh swap", 4096), problem("small", "axis moves", 64, kib=64)]
    return {"schema": execution.RUN_SCHEMA, "processes": processes, "rounds": 3, "mpi": "MPI 1", "fftw": "FFTW 3", "scalapack": "built in",
            "machine": {"processor": "P", "processors": 2, "compiler": "C", "load_average_at_start": "0.1"}, "problems": problems}


def result(count=5, **ratios):
    return execution.reduce([run(**ratios) for _ in range(count)])
