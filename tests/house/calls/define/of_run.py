"""run_sim.jsonl: run on the simulator, its files in and out, and what the launcher of MPI refuses before it starts anything."""

from define import problems
from define.programs import BY_NAME, GOOD, UNDECIDED, WRONG
from fixtures import BAD, BAD_DESCRS

RUN = ["retile", "run"]
SIM = ["--backend", "sim"]
TYPES = ["i8", "u8", "i16", "u16", "f16", "bf16", "i32", "u32", "f32", "i64", "u64", "f64", "c64", "c128"]
EXAMPLE = problems.KNOWN[0].words()
FOUR = ["--mesh", "a:2,b:2", "[8{a}16, 12]", "[16, 3{b,a}12]"]


def call(name, *words, **more):
    return {"id": "run/" + name, "argv": [*RUN, *words], **more}


# A run that is long enough to say how far it is; then something changes below it. On a fast machine it is made longer.
SPOILED = """count=800000
while :; do
  rm -rf code B.npy
  (retile run --mesh x:2 '[2{x}4, 4]' '[4, 2{x}4]' --backend sim --input A.npy --output B.npy --repeat $count >out 2>err; echo $? >code) &
  until test -s code || grep -q move err 2>/dev/null; do sleep 0.05; done
  test -s code || break
  count=$((count * 2))
done
CHANGE
wait
for file in out err; do sed -E 's/(median of|repetition [0-9]+ of) [0-9]+/\\1 <n>/; s/repetition [0-9]+/repetition <k>/' $file | uniq >$file.told; done
cat out.told
cat err.told >&2
code=$(cat code)
rm out err out.told err.told code
exit $code"""
CHANGES = {
    "another-byte": "printf '\\377' | dd of=A.npy bs=1 seek=150 conv=notrunc 2>/dev/null",
    "cut-short": "truncate -s 160 A.npy",
    "folder-in-the-way": "mkdir B.npy",
}


def of_spoiled():
    files = {"A.npy": {"fixture": "npy/<f4 4,4"}}
    return [{"id": "run/sim/spoiled/" + name, "shell": SPOILED.replace("CHANGE", change), "files": files} for name,
        change in CHANGES.items()]


def of_problems():
    out = []
    for index, problem in enumerate([*problems.KNOWN, *problems.all_drawn()]):
        if problem.devices > 128 or problems.elements(problem) * problem.devices > 1 << 21:
            continue
        words = [*problem.words(), *SIM]
        dtype = TYPES[index % len(TYPES)]
        out.append(call(f"sim/{problem.name}/json", *words, "--json", "--dtype", dtype))
        if index % 3 == 0:
            out.append(call(f"sim/{problem.name}/text", *words))
        if index % 4 == 1:
            out.append(call(f"sim/{problem.name}/output", *words, "--dtype", dtype, "--output", "out.npy"))
        if index % 6 == 2:
            limit = ["0", "1", "16", "48", "64", "96", "128", "256", "512", "1KiB", "4KiB", "64KiB"][index % 12]
            out.append(call(f"sim/{problem.name}/limit", *words, "--memory-limit", limit, *(["--json"] if index % 12 == 2 else [])))
    return out


def of_options():
    out = []
    for dtype in TYPES:
        out.append(call(f"sim/dtype/{dtype}", *EXAMPLE, *SIM, "--dtype", dtype, "--json", "--output", "out.npy"))
    for repeat in ("1", "2", "3", "10", "007"):
        out.append(call(f"sim/repeat/{repeat}", *EXAMPLE, *SIM, "--repeat", repeat))
        out.append(call(f"sim/repeat/{repeat}/json", *EXAMPLE, *SIM, f"--repeat={repeat}", "--json"))
    for repeat in ("0", "-1", "+1", "2x", "x", "1.5", "", "1000000001", "99999999999999999999", " 1", "1 "):
        out.append(call(f"sim/repeat/bad-{repeat}", *EXAMPLE, *SIM, f"--repeat={repeat}"))
    for count in ("24", "024"):
        out.append(call(f"sim/n/{count}", *EXAMPLE, *SIM, "-n", count))
    for count in ("0", "1", "23", "25", "-1", "+24", "many", "", "24x", "2147483648", "2147483649", "99999999999999999999"):
        out.append(call(f"n/{count}", *EXAMPLE, "-n", count))
        out.append(call(f"sim/n/{count}", *EXAMPLE, *SIM, f"-n{count}"))
    for backend in ("nccl", "", "SIM", "mpi ", "simulator"):
        out.append(call(f"backend/{backend}", *EXAMPLE, "--backend", backend))
        out.append(call(f"backend/{backend}/equals", *EXAMPLE, f"--backend={backend}", "--json"))
    for strategy in ("automatic", "collectives", "direct", "shared", "mixed", "inplace"):
        out.append(call(f"sim/strategy/{strategy}", *EXAMPLE, *SIM, "--strategy", strategy))
        out.append(call(f"cuda/strategy/{strategy}", *EXAMPLE, "--backend", "cuda", "--strategy", strategy))
    for strategy in ("fast", "", "in-place", "Shared", "auto"):
        out.append(call(f"strategy/{strategy}", *EXAMPLE, "--strategy", strategy))
        out.append(call(f"sim/strategy/bad-{strategy}", *EXAMPLE, *SIM, "--strategy", strategy))
    out += [
        call("sim/explain", *EXAMPLE, *SIM, "--explain"),
        call("sim/explain-and-strategy", *EXAMPLE, *SIM, "--explain", "--strategy", "direct", "--json"),
        call("cuda/input", *EXAMPLE, "--backend", "cuda", "--input", "A.npy"),
        call("cuda/output", *EXAMPLE, "--backend", "cuda", "--output", "out.npy"),
        call("cuda/both", *EXAMPLE, "--backend", "cuda", "--output", "out.npy", "--input", "A.npy"),
        call("cuda/no-gpu", *EXAMPLE, "--backend", "cuda", needs=["cuda", "no gpu"]),
        call("cuda/no-gpu-json", *EXAMPLE, "--backend", "cuda", "--json", needs=["cuda", "no gpu"]),
        call("cuda/n", *EXAMPLE, "--backend", "cuda", "-n", "23"),
        call("cuda/too-many", "--mesh", "x:2048", "[1{x}2048]", "[2048]", "--backend", "cuda", needs=["cuda", "no gpu"]),
        call("cuda/bad-problem", "--backend", "cuda", "--mesh", "x:2", "[3{x}4]", "[4]"),
        call("many-processes", "--mesh", "x:2048", "[1{x}2048]", "[1{x}2048]"),
        call("many-processes-of-a-program", "--program", "-", stdin="retile.program/1\ndevices 1025\nfrom [1]\nto [1]\n"),
        call("many-processes-sim", "--mesh", "x:2048", "[1{x}2048]", "[1{x}2048]", *SIM),
        call("sim/array-of-2^63-bytes", "--mesh", "x:2", "[4611686018427387904]", "[4611686018427387904]", *SIM),
        call("sim/tile-of-2^63-bytes", "--mesh", "x:2", "[2305843009213693952{x}4611686018427387904]", "[4611686018427387904]", *SIM),
        call("sim/no-memory", "--mesh", "x:1", "[1125899906842624]", "[1125899906842624]", *SIM, "--dtype", "u8"),
        call("sim/beyond-any-vector", "--mesh", "x:1", "[9223372036854775807]", "[9223372036854775807]", *SIM, "--dtype", "u8"),
        call("sim/infeasible", *EXAMPLE, *SIM, "--memory-limit", "47"),
        call("sim/infeasible-json", *EXAMPLE, *SIM, "--memory-limit", "47", "--json"),
        call("sim/just-feasible", *EXAMPLE, *SIM, "--memory-limit", "48"),
        call("sim/infeasible-at-any-limit",
            *problems.known("", "x:2", "[288230376151711744, 1{x}2]", "[144115188075855872{x}288230376151711744, 2]").words(),
             *SIM, "--dtype", "c128", "--memory-limit", "1", "--json"),
        call("sim/limit-bad", *EXAMPLE, *SIM, "--memory-limit", "1KB"),
        call("sim/dtype-bad", *EXAMPLE, *SIM, "--dtype", "float33"),
        call("sim/dtype-empty", *EXAMPLE, *SIM, "--dtype", ""),
    ]
    return out


def of_inputs():
    out = []
    for descr in ("<f4", ">f4", "=f4", "f4", "<i4", ">i8", "|u1", "u1", "|b1", "|i1", "<f2", "<f8", "<f16", "<c8", "<c16", "|V2",
        "<M8[ns]", "<m8", ">u2", "<i2"):
        for version in ("1.0", "2.0", "3.0"):
            if version != "1.0" and descr not in ("<f4", ">i8", "|V2"):
                continue
            name = f"npy/{descr} 12,12 {version}"
            out.append(call(f"sim/input/{descr}-{version}", *EXAMPLE, *SIM, "--input", "A.npy", "--output", "B.npy",
                files={"A.npy": {"fixture": name}}))
    good = {"A.npy": {"fixture": "npy/<f4 12,12"}}
    for dtype in TYPES:
        out.append(call(f"sim/input-dtype/{dtype}", *EXAMPLE, *SIM, "--input", "A.npy", "--dtype", dtype, "--json", files=good))
    out.append(call("sim/input-dtype/other-order", *EXAMPLE, *SIM, "--input", "A.npy", "--dtype", "f32", "--output", "B.npy",
        files={"A.npy": {"fixture": "npy/>f4 12,12"}}))
    for name in BAD:
        out.append(call(f"sim/bad-input/{name}", *EXAMPLE, *SIM, "--input", "A.npy",
            files={"A.npy": {"fixture": "bad npy/" + name}}))
    for index, descr in enumerate(BAD_DESCRS):
        escaped = descr.encode("unicode_escape").decode()
        out.append(call(f"sim/bad-descr/{index:02d}", *EXAMPLE, *SIM, "--input", "A.npy",
            files={"A.npy": {"fixture": "npy of/" + escaped}}))
    out += [
        call("sim/input/same-file", *EXAMPLE, *SIM, "--input", "A.npy", "--output", "A.npy", files=good),
        call("sim/input/rank-0", "--mesh", "x:3", "[]", "[]", *SIM, "--input", "A.npy", "--output", "B.npy", files={"A.npy": {"fixture": "npy/<f8 "}}),
        call("sim/input/rank-1", "--mesh", "x:3", "[4{x}12]", "[12]", *SIM, "--input", "A.npy", "--output", "B.npy", files={"A.npy": {"fixture": "npy/<i2 12"}}),
        call("sim/input/repeat", *EXAMPLE, *SIM, "--input", "A.npy", "--repeat", "3", "--json", files=good),
        call("sim/input/limit", *EXAMPLE, *SIM, "--input", "A.npy", "--memory-limit", "95", "--json", files={"A.npy": {"fixture": "npy/<f8 12,12"}}),
        call("sim/input/missing", *EXAMPLE, *SIM, "--input", "A.npy"),
        call("sim/input/folder", *EXAMPLE, *SIM, "--input", "A.npy", files={"A.npy/": ""}),
        call("sim/input/fifo", *EXAMPLE, *SIM, "--input", "A.npy", files={"A.npy": {"fifo": True}}),
        call("sim/input/link", *EXAMPLE, *SIM, "--input", "link.npy", "--output", "link.npy", files={**good, "link.npy": {"link": "A.npy"}}),
        call("sim/input/dead-link", *EXAMPLE, *SIM, "--input", "link.npy", files={"link.npy": {"link": "nowhere"}}),
        call("sim/input/empty-name", *EXAMPLE, *SIM, "--input="),
        call("sim/input/stdin", *EXAMPLE, *SIM, "--input", "-"),
        call("sim/input/dev-null", *EXAMPLE, *SIM, "--input", "/dev/null"),
        call("sim/input/bad-problem-first", "--mesh", "x:2", "[3{x}4]", "[4]", *SIM, "--input", "missing.npy"),
        call("sim/input/name-with-control", *EXAMPLE, *SIM, "--input", "a\x1b[31mb.npy"),
        call("input/missing", *EXAMPLE, "--input", "A.npy"),
        call("input/another-shape", *EXAMPLE, "--input", "A.npy", files={"A.npy": {"fixture": "npy/<f4 144"}}),
        call("sim/output/no-folder", *EXAMPLE, *SIM, "--output", "no/such/folder.npy"),
        call("sim/output/folder", *EXAMPLE, *SIM, "--output", "taken", files={"taken/": ""}),
        call("sim/output/folder-slash", *EXAMPLE, *SIM, "--output", "taken/", files={"taken/": ""}),
        call("sim/output/empty-name", *EXAMPLE, *SIM, "--output", ""),
        call("sim/output/dev-null", *EXAMPLE, *SIM, "--output", "/dev/null"),
        call("sim/output/dev-full", *EXAMPLE, *SIM, "--output", "/dev/full"),
        call("sim/output/in-a-file", *EXAMPLE, *SIM, "--output", "A.npy/B.npy", files=good),
        call("sim/output/over", *EXAMPLE, *SIM, "--output", "A.npy", files=good),
        call("sim/output/link", *EXAMPLE, *SIM, "--output", "link.npy", files={"link.npy": {"link": "real.npy"}, "real.npy": "old\n"}),
        call("sim/output/dead-link", *EXAMPLE, *SIM, "--output", "link.npy", files={"link.npy": {"link": "nowhere/real.npy"}}),
        call("sim/output/fifo", *EXAMPLE, *SIM, "--output", "pipe", files={"pipe": {"fifo": True}}),
        call("sim/output/long-name", *EXAMPLE, *SIM, "--output", "n" * 251 + ".npy"),
        call("sim/output/too-long-a-name", *EXAMPLE, *SIM, "--output", "n" * 256),
        call("sim/output/subfolder", *EXAMPLE, *SIM, "--output", "sub/B.npy", files={"sub/": ""}),
        call("sim/output/rank-0", "--mesh", "x:3", "[]", "[]", *SIM, "--output", "B.npy"),
        call("sim/output/rank-6", *next(p for p in problems.KNOWN if p.name == "six-dimensions").words(), *SIM, "--output", "B.npy", "--dtype", "u8"),
        call("sim/output/infeasible", *EXAMPLE, *SIM, "--output", "B.npy", "--memory-limit", "1"),
        {"id": "run/sim/output/file-limit", "shell": "trap '' XFSZ; ulimit -f 0; retile run --mesh x:2 '[512{x}1024]' '[1024]' --backend sim --output B.npy"},
        {"id": "run/sim/output/closed-stdout", "argv": [*RUN, *EXAMPLE, *SIM, "--output", "B.npy"], "streams": {"stdout": "closed"}},
        {"id": "run/sim/output/closed-stdin", "argv": [*RUN, *EXAMPLE, *SIM, "--output", "B.npy"], "streams": {"stdin": "closed"}},
        {"id": "run/sim/output/closed-stderr", "argv": [*RUN, *EXAMPLE, *SIM, "--output", "B.npy"], "streams": {"stderr": "closed"}},
    ]
    return out


def of_programs():
    out = []
    for index, program in enumerate(GOOD):
        out.append(call(f"sim/program/{program.name}", "--program", "-", *SIM, "--json", stdin=program.text()))
        if index % 2 == 0:
            out.append(call(f"sim/program/{program.name}/from-json", "--program", "p.json", *SIM, "--dtype", TYPES[index % 14],
                files={"p.json": program.json()}))
        if index % 2 == 1:
            out.append(call(f"sim/program/{program.name}/output", "--program=-", *SIM, "--output", "B.npy", "--dtype", "u16",
                stdin=program.text()))
    for index, (name, text) in enumerate([*WRONG.items(), *UNDECIDED.items()]):
        words = ["--json"] if index % 4 == 1 else ["--output", "B.npy"] if index % 4 == 2 else []
        out.append(call(f"sim/wrong/{name}", "--program", "-", *SIM, *words, stdin=text))
        if index % 3 == 0:
            out.append(call(f"wrong/{name}", "--program", "-", *(["--json"] if index % 2 else []), stdin=text))
    swap, high, partial = BY_NAME["swap"].text(), BY_NAME["high"].text(), BY_NAME["gap"].text()
    for limit in ("0", "31", "32", "63", "64", "95", "96", "128", "1KiB"):
        out.append(call(f"sim/program-limit/swap-{limit}", "--program", "-", *SIM, "--memory-limit", limit, stdin=swap))
        out.append(call(f"sim/program-limit/high-{limit}", "--program", "-", *SIM, "--memory-limit", limit, "--json", stdin=high))
    out += [
        call("sim/program/limit-of-one-byte", "--program", "-", *SIM, "--memory-limit", "1", stdin="retile.program/1\ndevices 1\nfrom [1]\nto [1]\nallpermute source=[0]\n"),
        call("sim/program/limit-u8", "--program", "-", *SIM, "--memory-limit", "0", "--dtype", "u8", stdin="retile.program/1\ndevices 1\nfrom [1]\nto [1]\n"),
        call("sim/program/limit-2^63", "--program", "-", *SIM, "--memory-limit", "1", "--dtype", "c128", "--json", stdin="retile.program/1\ndevices 1\nfrom [1152921504606846976]\nto [1152921504606846976]\n"),
        call("sim/program/limit-2^63-text", "--program", "-", *SIM, "--memory-limit", "1", "--dtype", "c128", stdin="retile.program/1\ndevices 1\nfrom [1152921504606846976]\nto [1152921504606846976]\n"),
        call("sim/program/two", "--program", "-", *SIM, stdin=swap + high),
        call("sim/program/three-in-a-file", "--program", "p.txt", *SIM, files={"p.txt": swap * 3}),
        call("sim/program/none", "--program", "-", *SIM),
        call("sim/program/missing", "--program", "p.txt", *SIM),
        call("sim/program/folder", "--program", "p", *SIM, files={"p/": ""}),
        call("sim/program/broken", "--program", "p.txt", *SIM, files={"p.txt": swap.replace("source", "sauce")}),
        call("sim/program/broken-stdin", "--program", "-", *SIM, "--json", stdin=swap.replace("T(1,0)", "T(1)")),
        call("sim/program/n", "--program", "-", *SIM, "-n", "4", stdin=swap),
        call("sim/program/other-n", "--program", "-", *SIM, "-n", "3", stdin=swap),
        call("sim/program/one-device-n", "--program", "-", *SIM, "-n", "2", stdin="retile.program/1\ndevices 1\nfrom [1]\nto [1]\n"),
        call("sim/program/beside-a-problem", "--program", "-", *EXAMPLE, *SIM, stdin=swap),
        call("sim/program/beside-a-mesh", "--program", "-", "--mesh", "x:2", *SIM, stdin=swap),
        call("sim/program/beside-a-type", "--program", "-", "[4]", *SIM, stdin=swap),
        call("sim/program/partial-output", "--program", "-", *SIM, "--output", "B.npy", stdin=partial),
        call("sim/program/replicated-output", "--program", "-", *SIM, "--output", "B.npy", stdin="retile.program/1\ndevices 2\nfrom tile=[2] global=[4] at=[[0],[0]]\nto tile=[2] global=[4] at=[[0],[0]]\n"),
        call("sim/program/offset-output", "--program", "-", *SIM, "--output", "B.npy", stdin="retile.program/1\ndevices 2\nfrom tile=[2] global=[4] at=[[0],[1]]\nto tile=[2] global=[4] at=[[0],[1]]\n"),
        call("sim/program/odd-output", "--program", "-", *SIM, "--output", "B.npy", stdin="retile.program/1\ndevices 1\nfrom tile=[2] global=[3] at=[[0]]\nto tile=[2] global=[3] at=[[0]]\n"),
        call("sim/program/input", "--program", "-", *SIM, "--input", "A.npy", "--output", "B.npy", stdin=swap, files={"A.npy": {"fixture": "npy/<u4 4,4"}}),
        call("sim/program/input-of-another-shape", "--program", "-", *SIM, "--input", "A.npy", stdin=swap, files={"A.npy": {"fixture": "npy/<u4 16"}}),
        call("sim/program/input-of-rank-0", "--program", "-", *SIM, "--input", "A.npy", stdin=swap, files={"A.npy": {"fixture": "npy/<u4 "}}),
    ]
    return out


def of_launcher():
    """mpirun is a script here: what it says becomes one sentence."""
    dashes = "-" * 74
    at = {"PATH": "{here}/bin:/usr/bin:/bin"}
    scripts = {
        "code-3": "exit 3",
        "code-0": "exit 0",
        "killed": "kill -9 $$",
        "terminated": "kill -15 $$",
        "no-number": "echo retile-exit",
        "code-9": "echo retile-exit 9",
        "code-negative": "echo retile-exit -1",
        "no-line-end": "printf 'retile-exit 0'",
        "rest": "echo retile-exit 0 x",
        "inside-a-line": "echo yes retile-exit 0",
        "words-alone": "echo no; exit 1",
        "said-an-error": "echo error: it is late >&2; exit 1",
        "said-something": "echo it is late >&2; exit 1",
        "said-half-a-line": "printf 'error: half' >&2; exit 2",
        "yes": "echo yes; echo retile-exit 0",
        "no": "echo no; echo retile-exit 1",
        "usage": "echo no; echo retile-exit 2",
        "undecided": "echo perhaps; echo retile-exit 3",
        "environment": "echo no; echo retile-exit 4",
        "yes-and-words": "echo words >&2; echo yes; echo retile-exit 0",
        "yes-but-fails": "echo yes; echo retile-exit 0; exit 1",
        "two-reports": "echo retile-exit 1; echo yes; echo retile-exit 0",
        "progress": "echo retile: move, 1 of 2 >&2; echo retile-exit 0",
        "arguments": 'for a in "$@"; do case "$a" in */retile) a=PROGRAM;; esac; echo "[$a]"; done | grep -v -e mpi_yield -e "^.--mca" -e "^.1." -e allow-run; echo "$RETILE_LAUNCHED"; echo retile-exit 0',
        "input": "cat; echo retile-exit 0",
    }
    frames = {
        "signal": "mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed).",
        "exit-code": "mpirun detected that one or more processes exited with non-zero status\n\n  Process name: [[13,1],7]\n  Exit code:    23",
        "exit-code-without-a-name": "one process ended\n  Exit code:    23",
        "exit-code-of-an-odd-name": "Process name: [[13]\n  Exit code:    23",
        "slots": "There are not enough slots available in the system",
        "two-lines": "  first line\n\n  second line",
        "nothing": "",
    }
    out = []
    for name, script in scripts.items():
        out.append(call(f"launcher/{name}", *FOUR, env=at, files={"bin/mpirun": f"#!/bin/sh\n{script}\n"}, needs=["mpi"]))
    for name, frame in frames.items():
        out.append(call(f"launcher/frame-{name}", *FOUR, env=at,
            files={"bin/mpirun": f"#!/bin/sh\ncat >&2 <<'E'\n{dashes}\n{frame}\n{dashes}\nE\nexit 1\n"}, needs=["mpi"]))
    every = ["--dtype", "f64", "--repeat", "3", "--strategy", "direct", "--memory-limit", "1MiB", "--explain", "--json", "--output",
        "B.npy"]
    arguments = {"bin/mpirun": f"#!/bin/sh\n{scripts['arguments']}\n"}
    out += [
        call("launcher/arguments-of-all-options", *FOUR, *every, env=at, files=arguments, needs=["mpi"]),
        call("launcher/arguments-with-an-input", *FOUR, "--input", ":", "-n", "4", env=at, files={**arguments, ":": {"fixture": "npy/<f4 16,12"}}, needs=["mpi"]),
        call("launcher/arguments-automatic", *FOUR, "--strategy", "automatic", env=at, files=arguments, needs=["mpi"]),
        call("launcher/input-of-a-program", "--program", "-", env=at, files={"bin/mpirun": f"#!/bin/sh\n{scripts['input']}\n"}, stdin=BY_NAME["two-meshes"].json(), needs=["mpi"]),
        call("launcher/no-mpirun", *FOUR, env={"PATH": "{here}"}, needs=["mpi"]),
        call("launcher/no-mpirun-json", *FOUR, "--json", env={"PATH": "{here}"}, needs=["mpi"]),
        call("launcher/mpirun-is-no-program", *FOUR, env={"PATH": "{here}/bin"}, files={"bin/mpirun": "text\n"}, needs=["mpi"]),
        call("launcher/no-such-interpreter", *FOUR, env={"PATH": "{here}/bin"}, files={"bin/mpirun": "#!/no/such/sh\n"}, needs=["mpi"]),
        *(call(f"launcher/signal-{name}", *FOUR, env=at, files={"bin/mpirun": f"#!/bin/sh\nkill -{name} $PPID\nexec sleep 20\n"}, needs=["mpi"]) for name in ("INT", "TERM", "HUP")),
        call("launcher/infeasible-with-steps", *FOUR, "--memory-limit", "1", env=at, files={"bin/mpirun": f"#!/bin/sh\n{scripts['input']}\n"}, needs=["mpi"]),
    ]
    return out


def calls():
    return of_problems() + of_spoiled() + of_options() + of_inputs() + of_programs() + of_launcher()
