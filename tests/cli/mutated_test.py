"""Spoiled inputs over all readers: no signal, no hang, nothing stray on stdout.

    RETILE=.. RETILE_ORACLE=.. mutated_test.py [--count 5000] [--seed 1]

Takes the examples and the saved corpora of the fuzz targets, spoils them by bytes, words, lines and repetitions, and gives them to every
verb that reads them. Every call must end within its limits, with an exit code that says so, and with an answer only where the code allows
one. ctest runs a few of them.
"""

import argparse
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

from support import environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RETILE = os.environ.get("RETILE", "retile")
ORACLE = os.environ.get("RETILE_ORACLE", "retile-oracle")
SECONDS = 5
# Beyond the limit: a second, and what a busy machine takes.
PATIENCE = 60
WORDS = ["0", "-1", "1", "9223372036854775807", "2147483648", "1048576", "65536", "{", "}", "[", "]", "(", ")", "<=", "=", ",", "\"", "'", "\x00",
         "\x1b[31m", "\xff", "\n", " ", "@", "%", "#", "//", "/*", "dense<", "tensor<", "x", "...", "{}", "[]", "retile.program/1\n", "\u00e9"]
RUN = ["run", "--backend", "sim"]
# What is spoiled, most of it right as it stands, and who reads it; `!` is the oracle.
READERS = {
    "foreign": (["examples/foreign/*.hlo", "examples/foreign/*.mlir", "examples/foreign/*.json", "examples/foreign/*.log", "tests/truth/inputs/*.hlo",
                 "tests/truth/inputs/*.mlir", "tests/truth/inputs/*.json", "fuzz/corpus/hlo/*", "fuzz/corpus/mlir/*", "fuzz/corpus/dtensor/*"],
                [["check", "{}"], ["check", "--json", "{}"], ["check", "--program", "{}"], ["explain", "{}"], ["convert", "--as", "program", "{}"],
                 ["check", "--mesh", "x:2,y:2", "--from", "[4{x}8, 8]", "--to", "[8, 4{x}8]", "{}"]]),
    "module": (["examples/spmd/*", "tests/truth/inputs/*.spmd", "fuzz/corpus/module/*"],
               [["check", "{}"], ["check", "--json", "{}"], ["lower", "{}"], [*RUN, "{}"], ["!", "check", "{}"]]),
    "program": (["examples/mlir-doc/*.rp", "tests/truth/inputs/*.txt", "tests/truth/inputs/*.program", "fuzz/corpus/check/*", "fuzz/corpus/program_text/*",
                 "fuzz/corpus/program_json/*"],
                [["check", "{}"], ["check", "--json", "{}"], ["prove", "{}"], [*RUN, "--program", "{}"], ["!", "check", "{}"], ["!", "certify", "{}"],
                 ["!", "boxes", "{}"]]),
    "array": (["examples/array/*.array", "fuzz/corpus/array/*"], [["partition", "{}"], ["partition", "{}", "--choose", "--devices", "4"], ["grad", "{}"]]),
    "npy": (["fuzz/corpus/npy_header/*"], [[*RUN, "--mesh", "a:2", "[8{a}16, 12]", "[16, 6{a}12]", "--input", "{}"]]),
}
SHARES = {"foreign": 8, "module": 5, "program": 5, "array": 2, "npy": 1}


def seeds(patterns):
    """Texts to spoil, a list for each folder that has some."""
    out = []
    for pattern in patterns:
        texts = []
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    texts.append(file.read(1 << 16))
        if texts:
            out.append(texts)
    return out


def spoiled(text, others, rng):
    """A text with a change or some."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(text) + 1)
        length = rng.choice([1, 1, 2, 8, 40, 400])
        word = rng.choice(WORDS).encode("utf-8", "surrogateescape") if rng.random() < 0.9 else bytes(rng.randrange(256) for _ in range(4))
        kind = rng.choice([0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 8, 8, 8, 9, 9])
        numbers = list(re.finditer(rb"\d+", text)) if kind in (3, 8) else []
        if kind == 0:
            text = text[:at] + word + text[at + length:]
        elif kind == 1:
            text = text[:at] + word + text[at:]
        elif kind == 2:
            text = text[:at] + text[at + length:]
        elif kind in (3, 8) and numbers:
            one = rng.choice(numbers)
            other = rng.choice(WORDS[:7]).encode() if kind == 3 else rng.choice(numbers)[0]
            text = text[:one.start()] + other + text[one.end():]
        elif kind == 4:
            text = text[:at] + text[at:at + length] * rng.choice([2, 3, 100, 3000]) + text[at + length:]
        elif kind == 5:
            lines = text.split(b"\n")
            k, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[k], lines[j] = lines[j], lines[k]
            text = b"\n".join(lines)
        elif kind == 6:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            text = text[:at] + other[begin:begin + length * 4] + text[at:]
        elif kind == 9:
            lines = text.split(b"\n")
            k = rng.randrange(len(lines))
            lines[k:k + 1] = lines[k:k + 1] * rng.choice([0, 2])
            text = b"\n".join(lines)
        elif kind == 7:
            text = text[:at]
        text = text[:1 << 20]
    return text


def faults(program, done, seconds, words):
    """What is wrong with how a call ended."""
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if done.returncode < 0 or done.returncode > 4 or "assert" in err.lower():
        return f"code {done.returncode}: {err[:300]}"
    if seconds > SECONDS + PATIENCE:
        return f"{seconds:.1f} s"
    if program != RETILE:
        return ""
    if done.returncode in (2, 4) and out:
        return f"code {done.returncode}, and on stdout: {out[:300]}"
    if done.returncode in (2, 4) and not re.search(r"^error: ", err, re.M):
        return f"code {done.returncode} without an error: {err[:300]}"
    if re.search("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", out + err):
        return f"a control character: {(out + err)[:300]!r}"
    if "--json" in words:
        try:
            for line in out.splitlines():
                json.loads(line)
        except ValueError as error:
            return f"no JSON: {error}: {out[:300]}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for the inputs of what went wrong")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    given = {kind: seeds(patterns) for kind, (patterns, _) in READERS.items()}
    if not all(given.values()):
        sys.exit("there is nothing to spoil")
    codes, wrong, slowest = {}, 0, (0, "")
    with tempfile.TemporaryDirectory(prefix="retile-mutated-") as folder:
        path = os.path.join(folder, "input")
        for k in range(options.count):
            kind = rng.choices(list(SHARES), list(SHARES.values()))[0]
            words = rng.choice(READERS[kind][1])
            folder_of_texts = rng.choice(given[kind])
            text = spoiled(rng.choice(folder_of_texts), folder_of_texts, rng)
            with open(path, "wb") as file:
                file.write(text)
            program = ORACLE if words[0] == "!" else RETILE
            call = [program, *(word.replace("{}", path) for word in words if word != "!")]
            if program == RETILE:
                call += ["--timeout", str(SECONDS)]
            began = time.monotonic()
            try:
                done = subprocess.run(call, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
                                      timeout=SECONDS + 2 * PATIENCE, check=False)
                seconds = time.monotonic() - began
                fault = faults(program, done, seconds, words)
                codes[done.returncode] = codes.get(done.returncode, 0) + 1
            except subprocess.TimeoutExpired:
                seconds, fault = time.monotonic() - began, "does not end"
            slowest = max(slowest, (seconds, f"number {k}: {' '.join(words)}"))
            if fault:
                wrong += 1
                print(f"number {k} of seed {options.seed}: {' '.join(call)}: {fault}", flush=True)
                if options.keep:
                    with open(os.path.join(options.keep, f"{options.seed}-{k}"), "wb") as file:
                        file.write(text)
    print(f"{options.count} spoiled inputs, {wrong} faults; exit codes {dict(sorted(codes.items()))}; the slowest took {slowest[0]:.1f} s ({slowest[1]})")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
