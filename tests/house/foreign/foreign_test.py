"""A foreign project finds its own bug with retile-oracle: its ctest, and its fuzzer.

    foreign_test.py (Ctest|Fuzz) CMAKE GENERATOR COMPILER ORACLE SOURCE WORK

Configures, builds and tests examples/foreign_resharder as it is and with its seeded bug. Fuzz needs clang with libFuzzer; where
there is none the test is skipped: it ends with 77.
"""

import os
import re
import shutil
import subprocess
import sys

KIND, CMAKE, GENERATOR, COMPILER, ORACLE, SOURCE, WORK = sys.argv[1:]


def run(*words, code=0, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=200, **options)
    output = done.stdout.decode(errors="replace")
    if code is not None and done.returncode != code:
        sys.exit(f"{' '.join(words)}: ended with {done.returncode}\n{output}")
    return done.returncode, output


def tested(name, *options):
    """Whether each test of the project passes, by its name, and all that ctest said."""
    build = os.path.join(WORK, name)
    run(CMAKE, "-S", os.path.join(SOURCE, "examples/foreign_resharder"), "-B", build, "-G", GENERATOR, "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_PROGRAM_PATH=" + os.path.dirname(ORACLE), *options)
    run(CMAKE, "--build", build)
    code, output = run(os.path.join(os.path.dirname(CMAKE), "ctest"), "--output-on-failure", cwd=build, code=None)
    passes = {test: word == "Passed" for test, word in re.findall(r"Test +#\d+: (\w+) \.+ *\**(Passed|\w[\w ]*)", output)}
    if (code == 0) != all(passes.values()):
        sys.exit(f"cannot read what ctest says\n{output}")
    print(f"{name}: {passes}")
    return passes, output


def expect(got, want, output):
    if got != want:
        sys.exit(f"expected {want}, not {got}\n{output}")


def ctest():
    passes, output = tested("right", "-DCMAKE_CXX_COMPILER=" + COMPILER)
    expect(passes, {"every_program_is_right": True, "costs_against_the_optimum": True}, output)
    passes, output = tested("bug", "-DCMAKE_CXX_COMPILER=" + COMPILER, "-DRESHARDER_BUG=ON")
    # Interleaved pieces cost as much as others.
    expect(passes, {"every_program_is_right": False, "costs_against_the_optimum": True}, output)
    expect("reason: not_a_box" in output, True, output)


def has_fuzzer(clang):
    program = os.path.join(WORK, "has_fuzzer.cpp")
    with open(program, "w") as file:
        file.write('extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n')
    code, _ = run(clang, "-fsanitize=fuzzer,address", program, "-o", os.path.join(WORK, "has_fuzzer"), code=None)
    return code == 0


def fuzz():
    clang = shutil.which("clang++")
    if not clang or not has_fuzzer(clang):
        print("skipped: needs clang++ with libFuzzer")
        sys.exit(77)
    options = ["-DCMAKE_CXX_COMPILER=" + clang, "-DRETILE_SOURCE=" + SOURCE]
    passes, output = tested("right", *options)
    expect(passes["fuzz"], True, output)
    passes, output = tested("bug", *options, "-DRESHARDER_BUG=ON")
    expect(passes["fuzz"], False, output)
    expect(re.search(r"wrong\nretile.program/1\nmesh ", output) is not None, True, output)


shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)
{"Ctest": ctest, "Fuzz": fuzz}[KIND]()
