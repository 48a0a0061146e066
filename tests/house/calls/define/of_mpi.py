"""run_mpi.jsonl: run on processes of MPI, started by itself and by mpirun. Half a second each, so there are few."""

from define.programs import BY_NAME, HEADER

FOUR = ["--mesh", "a:2,b:2", "[8{a}16, 12]", "[16, 3{b,a}12]"]
BIG = ["--mesh", "a:2,b:2", "[512{a}1024, 1024]", "[1024, 256{b,a}1024]"]
TWO = ["--mesh", "x:2", "[2{x}4, 4]", "[4, 2{x}4]"]
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root"]
PROBLEMS = {
    1: ("x:1", "[4, 6]", "[4, 6]", "u8"),
    2: ("a:2", "[6{a}12, 10]", "[12, 5{a}10]", "c128"),
    4: ("a:2,b:2", "[2{a}4, 2{b}4]", "[2{b}4, 2{a}4]", "bf16"),
    6: ("x:2,y:3", "[6{x}12, 4{y}12, 2]", "[4{y}12, 6{x}12, 2]", "f32"),
    8: ("a:2,b:2,c:2", "[20, 4{c:2}8, 12]", "[5{c:2,a:2}20, 8, 6{b:2}12]", "i64"),
    12: ("x:4,y:3", "[1{x,y}12, 24]", "[12, 2{y,x}24]", "u16"),
}


def call(name, *words, **more):
    return {"id": "mpi/" + name, "argv": ["retile", "run", *words], "needs": ["mpi"], **more}


def mpirun(name, count, *words, **more):
    return {"id": "mpi/mpirun/" + name, "argv": [*MPIRUN, "-n", count, "retile", "run", *words], "needs": ["mpi"], **more}


def calls():
    out = []
    for count, (mesh, start, end, dtype) in PROBLEMS.items():
        words = ["--mesh", mesh, start, end, "--dtype", dtype]
        out.append(call(f"problem/{count}", *words, *(["--json"] if count in (2, 6, 12) else []), "--output", "B.npy"))
    for strategy in ("automatic", "collectives", "direct", "shared", "mixed", "inplace"):
        out.append(call(f"strategy/{strategy}", *FOUR, "--strategy", strategy, "--explain", "--output", "B.npy"))
        if strategy != "automatic":
            out.append(call(f"strategy/{strategy}/json", *TWO, "--strategy", strategy, "--explain", "--json", "--dtype", "f64",
                "--repeat", "2"))
    out += [
        call("limit/large", *BIG, "--memory-limit", "1GiB", "--explain"),
        call("limit/inplace", *BIG, "--memory-limit", "2944KiB", "--explain"),
        call("limit/nothing-fits", *BIG, "--memory-limit", "1MiB"),
        call("limit/nothing-fits-json", *BIG, "--memory-limit", "1MiB", "--json"),
        call("limit/one-byte", *FOUR, "--memory-limit", "1"),
        call("limit/one-strategy", *FOUR, "--memory-limit", "100", "--strategy", "direct", "--explain"),
        call("limit/few-transfers", *FOUR, "--memory-limit", "4000", "--explain"),
        call("limit/no-room-for-transfers", *FOUR, "--memory-limit", "9500", "--explain", "--json"),
        call("limit/no-room-for-transfers-of-one", *FOUR, "--memory-limit", "9500", "--strategy", "shared"),
        call("memory/bytes-of-2^63", "--mesh", "x:1", "[4611686018427387904]", "[4611686018427387904]"),
        call("memory/more-than-there-is", "--mesh", "x:1", "[1125899906842624]", "[1125899906842624]", "--dtype", "u8"),
        call("memory/more-than-can-be-shared", "--mesh", "x:1", "[1125899906842624]", "[1125899906842624]", "--dtype", "u8", "--strategy", "inplace"),
        {"id": "mpi/memory/file-limit", "argv": [*MPIRUN, "--mca", "btl", "tcp,self", "-n", "2", "sh", "-c",
                                                 "trap '' XFSZ; ulimit -f 1024; exec retile run --mesh x:2 '[1048576{x}2097152]' '[2097152]' --explain"], "needs": ["mpi"]},
        call("limit/smaller-buffers", *BIG, "--memory-limit", "5MiB", "--strategy", "collectives", "--explain", "--json"),
        call("n/right", *TWO, "-n", "2", "--json"),
        call("repeat", *TWO, "--repeat", "5"),
        call("input/big-endian", *FOUR, "--input", "A.npy", "--output", "B.npy", files={"A.npy": {"fixture": "npy/>f4 16,12"}}),
        call("input/json", *FOUR, "--input", "A.npy", "--dtype", "u8", "--json", files={"A.npy": {"fixture": "npy/|u1 16,12 2.0"}}),
        call("input/same-file", *FOUR, "--input", "A.npy", "--output", "A.npy", "--strategy", "inplace", "--repeat", "2", files={"A.npy": {"fixture": "npy/<c16 16,12"}}),
        call("input/odd-names", *TWO, "--input", ":", "--output=a b", files={":": {"fixture": "npy/<i2 4,4"}}),
        call("output/no-folder", *TWO, "--output", "no/such/folder.npy"),
        call("output/folder", *TWO, "--output", "taken", files={"taken/": ""}),
        call("output/partial", "--program", "-", "--output", "B.npy", stdin=BY_NAME["gap"].text()),
        call("output/closed-stdout", *TWO, streams={"stdout": "closed"}),
        call("output/full", *TWO, streams={"stdout": "full"}),
        call("program/text", "--program", "-", "--explain", stdin=BY_NAME["two-meshes"].text()),
        call("program/json", "--program", "p.json", "--json", files={"p.json": BY_NAME["rows"].json()}),
        call("program/pairs", "--program", "-", "--strategy", "collectives", stdin=BY_NAME["pairs"].text()),
        call("program/offsets", "--program", "-", "--strategy", "inplace", "--explain", "--output", "B.npy", stdin=BY_NAME["offsets"].text()),
        call("program/parts", "--program", "-", "--strategy", "direct", "--json", stdin=BY_NAME["parts"].text()),
        call("program/rank-0", "--program", "-", "--output", "B.npy", stdin=BY_NAME["rank-0"].text()),
        call("program/one-device", "--program", "-", stdin=BY_NAME["one-device"].text()),
        call("program/exchange", "--program", "-", "--explain", stdin=BY_NAME["exchange"].text()),
        call("program/exchange-collectives", "--program", "-", "--strategy", "collectives", stdin=BY_NAME["exchange"].text()),
        call("program/exchange-inplace", "--program", "-", "--strategy", "inplace", "--json", stdin=BY_NAME["exchange"].text()),
        call("program/high", "--program", "-", "--strategy", "collectives", "--explain", stdin=BY_NAME["high"].text()),
        call("program/missing-element", "--program", "-", "--strategy", "shared",
             stdin=HEADER + "devices 2\nfrom tile=[2] global=[4] at=[[0],[0]]\nto tile=[2] global=[4] at=[[0],[0]]\nallpermute source=[1,0]\n"),
        mpirun("right", "4", *FOUR, "--json"),
        mpirun("n-repeated", "2", *TWO, "-n", "2", "--explain"),
        mpirun("other-n", "2", *TWO, "-n", "4"),
        mpirun("fewer", "3", *FOUR),
        mpirun("more", "3", *TWO, "--json"),
        mpirun("bad-option", "2", *TWO, "--bogus"),
        mpirun("infeasible", "1", "--mesh", "x:1", "[4]", "[4]", "--memory-limit", "1", "--json"),
        mpirun("wrong-program", "1", "--program", "-", stdin=HEADER + "devices 1\nfrom [4]\nto [4]\nallpermute source=[0,0]\n"),
        mpirun("program", "2", "--program", "p.txt", "--output", "B.npy", files={"p.txt": BY_NAME["exchange"].text()}),
        mpirun("no-folder", "1", "--mesh", "x:1", "[4]", "[4]", "--output", "no/such/folder.npy"),
        mpirun("disagreement", "1", *TWO, ":", "-n", "1", "retile", "run", "--mesh", "x:2", "[4]", "[2{x}4]"),
        mpirun("sim", "1", *TWO, "--backend", "sim"),
        {"id": "mpi/mpirun/help", "argv": [*MPIRUN, "-n", "1", "retile", "run", "--help"], "needs": ["mpi"]},
        {"id": "mpi/mpirun/plan", "argv": [*MPIRUN, "-n", "1", "retile", "plan", *TWO], "needs": ["mpi"]},
    ]
    return out
