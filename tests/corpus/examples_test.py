"""The examples of corpus/examples, as another project copies them: each passes with its stand-in, and finds the bug seeded in it.

    examples_test.py Pytest
    examples_test.py (Ctest|Fuzz) CMAKE GENERATOR COMPILER BUILD WORK

Pytest is skipped without pytest, Fuzz without clang and libFuzzer: then it ends with 77.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "corpus" / "examples"
KIND = sys.argv[1]


def run(*words, code=0, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300, **options)
    output = done.stdout.decode(errors="replace")
    if code is not None and done.returncode != code:
        sys.exit(f"{words}: ended with {done.returncode}\n{output}")
    return output


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def expect(pattern, output):
    if not re.search(pattern, output):
        sys.exit(f"{pattern} is not said\n{output}")


def run_pytest():
    try:
        import pytest  # noqa: F401
    except ImportError:
        skip("needs pytest")
    with tempfile.TemporaryDirectory(prefix="retile-corpus-") as folder:
        copy = shutil.copytree(EXAMPLES / "pytest", Path(folder) / "pytest", ignore=shutil.ignore_patterns("__pycache__"))
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        environment = {**os.environ, "CORPUS": str(ROOT / "corpus")}
        expect(r"\n50 passed in ", run(*words, cwd=copy, env=environment))
        output = run(*words, code=1, cwd=copy, env={**environment, "RESHARDER_BUG": "1"})
        expect(r"\n\d+ failed, \d+ passed in ", output)
        expect(r'assert verdict\["right"\], verdict\nE +AssertionError: \{', output)


def built(name, work, cmake, generator, *options):
    """What the copied example's own ctest says, whether it passes or not."""
    shutil.rmtree(work, ignore_errors=True)
    copy = shutil.copytree(EXAMPLES / name, Path(work) / "source")
    run(cmake, "-S", str(copy), "-B", f"{work}/build", "-G", generator, "-DCMAKE_BUILD_TYPE=Debug", *options)
    run(cmake, "--build", f"{work}/build")
    return run(str(Path(cmake).parent / "ctest"), "--test-dir", f"{work}/build", "--output-on-failure", code=None)


def run_ctest(cmake, generator, compiler, _, work):
    options = ["-DCMAKE_CXX_COMPILER=" + compiler, f"-DCORPUS={ROOT / 'corpus'}",
               "-DCMAKE_PROGRAM_PATH=" + str(Path(os.environ["RETILE"]).parent)]
    expect("100% tests passed, 0 tests failed out of 1", built("cpp", work, cmake, generator, *options))
    output = built("cpp", work, cmake, generator, *options, "-DRESHARDER_BUG=ON")
    expect(r"problem \d+: reshard: wrong at line \d+ \(", output)
    expect(r"100 programs, \d\d wrong", output)


def run_fuzz(cmake, generator, _, build, work):
    clang = shutil.which("clang++")
    if not clang:
        skip("needs clang++")
    Path(work).mkdir(parents=True, exist_ok=True)
    probe = Path(work) / "probe.cpp"
    probe.write_text('extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n')
    if subprocess.run([clang, "-fsanitize=fuzzer", probe, "-o", f"{work}/probe"], capture_output=True, check=False).returncode != 0:
        skip("needs libFuzzer")
    prefix = f"{work}-prefix"
    run(cmake, "--install", build, "--prefix", prefix)
    options = ["-DCMAKE_CXX_COMPILER=" + clang, "-DCMAKE_PREFIX_PATH=" + prefix, f"-DCORPUS={prefix}/share/retile/corpus", "-DFUZZ=ON"]
    expect("100% tests passed, 0 tests failed out of 2", built("cpp", work, cmake, generator, *options))
    expect(r"wrong\nHloModule reshard", built("cpp", work, cmake, generator, *options, "-DRESHARDER_BUG=ON"))
    shutil.rmtree(prefix)


{"Pytest": run_pytest, "Ctest": run_ctest, "Fuzz": run_fuzz}[KIND](*sys.argv[2:])
