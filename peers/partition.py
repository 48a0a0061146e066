"""What XLA's SPMD partitioner makes of a module of HLO, for `retile validate --shrink --peer`.

    PYTHON peers/partition.py BEFORE AFTER

PYTHON is a virtual environment with JAX, whose XLA is asked. BEFORE is a text with shardings, for as many devices as its header says.
AFTER gets what the partitioner prints. Exit code 1 says that XLA refused, 134 that it aborted, 3 that it took too long, 2 that the text is
none of a module. What it said goes to stderr: of an abort the check that failed.

The text goes through StableHLO, as a client takes no HLO, and XLA's own propagation of shardings, which finds them where BEFORE has them.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tiled_shardings import with_tiles

SECONDS = 60
FATAL = re.compile(r"^F\d{4} |Check failed")
FLAGS = ("--xla_force_host_platform_device_count={} --xla_dump_to={} --xla_dump_hlo_pass_re=spmd.* --xla_dump_large_constants=true "
         "--xla_backend_optimization_level=0 --xla_cpu_multi_thread_eigen=false")
TILES = " --xla_enable_hlo_sharding_v3=false"


def devices_in(text):
    """How many partitions the header says."""
    found = re.search(r"^HloModule[^\n]*\bnum_partitions=(\d+)", text)
    return int(found[1]) if found else 1


def parsed(text, xla_client):
    """The module as StableHLO, which is what a client compiles."""
    try:
        from jaxlib import _hlo as hlo
    except ImportError:
        hlo = xla_client._xla
    proto = hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    computation = getattr(hlo, "XlaComputation", None) or xla_client.XlaComputation
    return xla_client._xla.mlir.xla_computation_to_mlir_module(computation(proto))


def options_for(count, xla_client):
    import numpy
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 1
    options.num_partitions = build.num_partitions = count
    build.use_spmd_partitioning = True
    options.device_assignment = build.device_assignment = xla_client.DeviceAssignment.create(numpy.arange(count).reshape(1, -1))
    return options


def compiled(text, count, dump):
    """Leaves the dumps in a folder, those before an abort included."""
    as_tiles = with_tiles(text)
    os.environ["XLA_FLAGS"] = FLAGS.format(count, dump) + (TILES if as_tiles != text else "")
    from jaxlib import xla_client
    module, client = parsed(as_tiles, xla_client), xla_client.make_cpu_client()
    options = options_for(count, xla_client)
    if hasattr(client, "compile_and_load"):
        client.compile_and_load(module, xla_client.DeviceList(tuple(client.devices()[:count])), options)
    else:
        client.compile(module, options)


def after(text, path):
    with tempfile.TemporaryDirectory() as dump:
        compiled(text, devices_in(text), dump)
        found = sorted(Path(dump).glob("*.after_spmd-partitioning*.txt"))
        if not found:
            raise ValueError("no dump after the partitioner: is the text one for several partitions?")
        path.write_text(found[-1].read_text())


def limited():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
    signal.alarm(2 * SECONDS)


def watched(words):
    """A child does it. It is ended where a check failed: XLA takes seconds to print its stack."""
    child = subprocess.Popen([sys.executable, __file__, *words, "--here"], stderr=subprocess.PIPE, text=True, errors="replace", preexec_fn=limited)
    lines = []
    for line in child.stderr:
        if FATAL.search(line):
            child.kill()
            child.wait()
            print(line.rstrip(), file=sys.stderr)
            return 134
        lines.append(line)
    code = child.wait()
    if code != 0:
        sys.stderr.writelines(lines[-3:])
    return 3 if -code in (signal.SIGALRM, signal.SIGXCPU) else 134 if code < 0 else code


def main():
    words = [word for word in sys.argv[1:] if word != "--here"]
    if len(words) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    text = Path(words[0]).read_text()
    if not text.startswith("HloModule"):
        print("a module of HLO begins with HloModule", file=sys.stderr)
        return 2
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    if "--here" not in sys.argv:
        return watched(words)
    try:
        after(text, Path(words[1]))
    except Exception as problem:  # what XLA says, whatever it is
        print(f"{type(problem).__name__}: {problem}"[:2000].splitlines()[0], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
