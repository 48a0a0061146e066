#!/usr/bin/env python3
"""The Python package as users have it: built as a wheel, installed in environments of its own, and used.

usage: package_test.py package|control|plain|whole|trace|traces|jax|torch SOURCE BUILD COMPILER

  package  the wheel of the rooms of this build: what is in it, what it needs; its tests, doctests and program, without NumPy, too,
           and with a second Python from 3.12 on, where there is one
  control  the tests of the package fail where its answers are spoiled
  plain    as package, the wheel of a Python before 3.12, which serves no other; skipped where none with its headers is at hand
  whole    as `pip install SOURCE/python` builds it, in a copy of the sources
  trace    functions of NumPy that are traced and run on processes: a handful, and the examples; skipped where the build has no MPI
  traces   all of them, and those of JAX
  jax      the tests of pyretile.jax, with JAX
  torch    those of pyretile.torch, with PyTorch

Environments stay in BUILD/python, with what pip has installed there. Ends with 77, skipped, where pip cannot install.
"""
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

SKIPPED = 77
MOST_BYTES = 6_000_000
TOOLS = ["scikit-build-core>=0.10", "nanobind>=2.2"]
PEERS = {"jax": ["jax==0.12.0", "equinox==0.13.8", "flax==0.12.12", "numpy", "pytest"],
         "torch": ["filelock", "fsspec", "jinja2", "networkx", "numpy", "pytest", "setuptools", "sympy", "typing-extensions"]}
# Without what they ask for, which are gigabytes for GPUs; the libraries are those without which torch is not imported.
ALONE = {"torch": ["torch==2.15.0", "nvidia-cudnn-cu13", "nvidia-cufile", "nvidia-cusparselt-cu13", "nvidia-nccl-cu13",
                   "nvidia-nvshmem-cu13"]}
# What the answers are spoiled by: file, words, others in their place, and the test that must see it.
SPOILED = [
    ("_ends.py", "if _is_word(str(name)) else", "if True else", "any_name and my"),
    ("_results.py", "return self.right is True", "return True", "a_wrong_program_is_a_value_that_is_false"),
    ("_core.py", '[("--memory-limit", bytes_words(memory_limit))] if memory_limit is not None else []', "[]", "no_plan_within_a_limit"),
    ("_core.py", 'return [("--network", name)], texts', 'return [("--network", name)], []', "links_are_a_text_or_a_file"),
    ("_ends.py", "return words, _order_text(devices)", "return words, None", "shardings_of_jax_are_read"),
    ("_core.py", "rank, 2).copy()", "rank, 2)", "boxes_partition_the_array"),
    ("_errors.py", "super().__init__((rendered or message)", "super().__init__((message)", "refusals_have_a_caret"),
]


def say(words):
    print(words, flush=True)


def run(command, **keywords):
    began = time.monotonic()
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **keywords)
    say(f"{time.monotonic() - began:6.1f} s  {' '.join(str(word) for word in command)[:200]}")
    return done


def must(command, **keywords):
    done = run(command, **keywords)
    if done.returncode != 0:
        say(done.stdout)
        sys.exit(f"failed: {command[0]} ended with {done.returncode}")
    return done.stdout


def version_of(python):
    try:
        words = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2], sys.executable)"], text=True,
                               capture_output=True, timeout=20).stdout.split(maxsplit=2)
        return (int(words[0]), int(words[1])), words[2].strip()
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return None


def has_headers(python):
    """Whether extensions can be built for it."""
    where = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"], text=True, capture_output=True).stdout.strip()
    return (Path(where) / "Python.h").is_file()


def pythons():
    """Interpreter of each version from 3.10 on that is at hand, the newest first."""
    names = [sys.executable, "/usr/bin/python3", *(f"python3.{minor}" for minor in range(20, 9, -1))]
    names += map(str, Path.home().glob(".pyenv/versions/*/bin/python3"))
    found = {}
    for name in names:
        path = shutil.which(name)
        known = version_of(path) if path else None
        if known and known[0] >= (3, 10):
            found.setdefault(*known)
    return sorted(found.items(), reverse=True)


def environment(folder, python, packages, alone=()):
    """The interpreter of a virtual environment with these packages, and those `alone` without what they ask for. One that is there
    already is taken."""
    interpreter, noted = folder / "bin" / "python", folder / "packages.txt"
    if noted.exists() and noted.read_text(encoding="utf-8").splitlines() == [python, *packages, *alone]:
        return interpreter
    shutil.rmtree(folder, ignore_errors=True)
    if run([python, "-m", "venv", folder]).returncode != 0:
        say(f"skipped: {python} makes no virtual environments (Debian: python3-venv)")
        sys.exit(SKIPPED)
    for wanted in (list(packages), ["--no-deps", *alone] if alone else []):
        if not wanted:
            continue
        done = run([interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
        if done.returncode != 0:
            say(done.stdout[-2000:])
            say(f"skipped: pip cannot install {', '.join(wanted)}")
            sys.exit(SKIPPED)
    noted.write_text("\n".join([python, *packages, *alone]) + "\n", encoding="utf-8")
    return interpreter


class Package:
    def __init__(self, source, build, compiler):
        self.source, self.build, self.compiler = Path(source), Path(build), compiler
        self.place = self.build / "python"
        self.place.mkdir(exist_ok=True)
        found = pythons()
        if not found:
            say("skipped: no Python from 3.10 on")
            sys.exit(SKIPPED)
        stable = [one for one in found if one[0] >= (3, 12)]
        self.python = (stable or found)[-1][1]  # the oldest that the stable interface is for
        self.second = stable[0][1] if len(stable) > 1 else None
        self.older = next((python for version, python in found if version < (3, 12) and has_headers(python)), None)
        self.kind = ""  # of the wheel, as part of the names of its folders: tests that build one run side by side

    def wheels(self):
        return self.place / f"{self.kind}wheel"

    def wheel(self):
        (wheel,) = self.wheels().glob("*.whl")
        return wheel

    def build_wheel(self, *settings, sources):
        tools = environment(self.place / f"{self.kind}tools", self.python, TOOLS)
        shutil.rmtree(self.wheels(), ignore_errors=True)
        surroundings = {**os.environ, "PATH": f"{tools.parent}:{os.environ['PATH']}"}
        must([tools, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
              "-w", self.wheels(), *(f"-C{one}" for one in settings), sources / "python"], env=surroundings)
        return self.wheel()

    def user(self, name="user", python=None, packages=("numpy", "pytest"), alone=()):
        """An environment in which the wheel is installed."""
        interpreter = environment(self.place / name, python or self.python, list(packages), alone)
        must([interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall",
              self.wheel()])
        return interpreter

    def pytest(self, interpreter, *arguments, **keywords):
        return run([interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], cwd=self.place, **keywords)


def hold(condition, words):
    if not condition:
        sys.exit(f"failed: {words}")


def look_at(wheel, place):
    """What is in the wheel, and what its extension needs and shows."""
    hold(wheel.stat().st_size <= MOST_BYTES, f"{wheel.name} has {wheel.stat().st_size} bytes, of {MOST_BYTES}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (extension,) = [name for name in names if re.search(r"_retile\..*so$", name)]
        archive.extract(extension, place)
    for name in ("pyretile/py.typed", "pyretile/_retile.pyi", "pyretile/_core.py"):
        hold(name in names, f"{name} is not in the wheel")
    hold(not [name for name in names if name.endswith((".cpp", ".h", ".a"))], "sources are in the wheel")
    dynamic = must(["readelf", "-d", place / extension])
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    hold(needed <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}, f"it needs {needed}")
    shown = must(["nm", "-D", "--defined-only", place / extension]).split("\n")
    strange = [line for line in shown if line and "PyInit__retile" not in line]
    hold(not strange, f"others see {strange[:5]}")


SMOKE = """
import sys
import pyretile as rt
assert "numpy" not in sys.modules and "torch" not in sys.modules and "jax" not in sys.modules
assert rt.check(rt.lower("[3{x}12, 12]", "[12, 3{x}12]", mesh="x:4"))[0]
boxes = rt.boxes("[2{x}4]", mesh="x:2")
assert (boxes if isinstance(boxes, list) else boxes.tolist()) == [[[0, 2]], [[2, 4]]]
print(rt.__version__)
"""


def wheel_of_rooms(it):
    """The wheel of the rooms of the build, and what is in it."""
    wheel = it.build_wheel("cmake.source-dir=.", f"cmake.define.RETILE_BUILT={it.build}", f"cmake.define.CMAKE_CXX_COMPILER={it.compiler}",
                           "cmake.define.CMAKE_CXX_FLAGS=-D_GLIBCXX_ASSERTIONS", "cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O1",
                           *launcher(), f"build-dir={it.place}/{it.kind}objects", sources=it.source)
    say(f"{wheel.name}: {wheel.stat().st_size} bytes")
    look_at(wheel, it.place / f"{it.kind}look")
    return wheel


def tested(it, user):
    """The tests and the examples of the core, in an environment."""
    done = it.pytest(user, it.source / "python/tests/core", it.source / "docs/reference/python.md", it.source / "docs/tutorial.md", "--doctest-modules",
                     "--doctest-glob=*.md", "--ignore-glob=*/pyretile/jax/*", "--ignore-glob=*/pyretile/torch/*",
                     "--ignore-glob=*/pyretile/pytest_plugin.py", "--pyargs", "pyretile._core", "pyretile")
    say(done.stdout[-1500:])
    hold(done.returncode == 0, "tests of the package")
    hold(re.search(r"\d+ passed", done.stdout) and "skipped" not in done.stdout, "tests were left out")


def plain(it):
    if it.older is None:
        say("skipped: no Python before 3.12 with its headers is at hand")
        sys.exit(SKIPPED)
    it.python, it.kind = it.older, "plain-"
    wheel = wheel_of_rooms(it)
    version = "".join(map(str, version_of(it.python)[0]))
    hold(f"-cp{version}-cp{version}-" in wheel.name, f"{wheel.name} is for that Python alone")
    user = it.user("plain")
    tested(it, user)
    must([user.with_name("retile"), "plan", "--mesh", "x:4", "[3{x}12, 12]", "[12, 3{x}12]"])
    must([it.user("plain-bare", packages=()), "-c", SMOKE])


def package(it):
    wheel = wheel_of_rooms(it)
    user = it.user()
    tested(it, user)
    fixtures = must([user, "-m", "pytest", "-p", "no:cacheprovider", "--fixtures", "--collect-only", "-q", it.place / "look"])
    hold("reshard_guard" in fixtures, "pytest finds the fixture without being told of the plugin")
    toured = must([user, it.source / "examples/python/tour.py"])
    hold("wrong at step" in toured, "the notebook")
    must([user.with_name("retile"), "plan", "--mesh", "x:4", "[3{x}12, 12]", "[12, 3{x}12]"])
    bare = it.user("bare", packages=())
    must([bare, "-c", SMOKE])
    if it.second and "abi3" in wheel.name:
        must([it.user("second", it.second, packages=()), "-c", SMOKE])
    else:
        say("left out: a second Python from 3.12 on, or a wheel that serves it")


def launcher():
    found = shutil.which("ccache")
    return [f"cmake.define.CMAKE_CXX_COMPILER_LAUNCHER={found}"] if found else []


def control(it):
    """Each of SPOILED, in a copy of the installed package."""
    user = it.place / "user" / "bin" / "python"
    installed = Path(must([user, "-c", "import pyretile; print(pyretile.__path__[0])"]).strip())
    for name, words, others, test in SPOILED:
        folder = it.place / "spoiled"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(installed, folder / "pyretile")
        text = (folder / "pyretile" / name).read_text(encoding="utf-8")
        hold(text.count(words) == 1, f"{name} has {text.count(words)} times: {words}")
        (folder / "pyretile" / name).write_text(text.replace(words, others), encoding="utf-8")
        done = it.pytest(user, it.source / "python/tests/core", "-k", test, env={**os.environ, "PYTHONPATH": str(folder)})
        hold(done.returncode == 1 and "1 failed" in done.stdout, f"no test saw {others} in {name}:\n{done.stdout[-800:]}")


def whole(it):
    """In a copy, so that nothing of a build is there."""
    copy = it.place / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    files = must(["git", "-C", it.source, "ls-files", "-z", "CMakeLists.txt", "LICENSE", "cmake", "python", "spec", "src"]).split("\0")
    for name in filter(None, files):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(it.source / name, copy / name)
    it.kind = "whole-"  # other tests install the wheel of the rooms meanwhile
    began = time.monotonic()
    wheel = it.build_wheel(*launcher(), sources=copy)
    say(f"{wheel.name}: {wheel.stat().st_size} bytes, built in {time.monotonic() - began:.0f} s")
    look_at(wheel, it.place / f"{it.kind}look")
    must([it.user("whole-bare", packages=()), "-c", SMOKE])


TRACED = ("product", "attention", "softmax", "stencil", "convolution")


def trace(it, name="user", packages=("numpy", "pytest"), options=()):
    """By the program of this build, which is the one that has MPI."""
    program = it.build / "bin" / "retile"
    if "mpi" not in must([program, "--version"]):
        say("skipped: the build has no MPI")
        sys.exit(SKIPPED)
    user = it.user(name, packages=packages)
    surroundings = {**os.environ, "RETILE": str(program)}
    done = it.pytest(user, it.source / "python/tests/trace", *options, env=surroundings)
    say(done.stdout[-3000:])
    hold(done.returncode == 0 and re.search(r"\d+ passed", done.stdout), "tests of traced functions")
    for example in TRACED:
        said = must([user, it.source / f"examples/python/{example}.py"], env=surroundings)
        hold(said.startswith("retile.array/1"), f"the example {example}")


def traces(it):
    trace(it, "jax", PEERS["jax"], ["--long"])


def peer(it, name):
    tests = it.source / "python" / "tests" / name
    user = it.user(name, packages=PEERS[name], alone=ALONE.get(name, ()))
    done = it.pytest(user, tests)
    say(done.stdout[-4000:])
    hold(done.returncode == 0 and re.search(r"\d+ passed", done.stdout), f"tests of pyretile.{name}")


def main(arguments):
    if len(arguments) != 4:
        sys.exit(__doc__)
    what, *rest = arguments
    it = Package(*rest)
    if what in PEERS:
        return peer(it, what)
    return {"package": package, "control": control, "plain": plain, "whole": whole, "trace": trace, "traces": traces}[what](it)


if __name__ == "__main__":
    main(sys.argv[1:])
