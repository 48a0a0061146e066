"""Recorded calls of the programs: how one is run in a folder of its own, and what is kept of its answer.

A call is a dictionary, a line of a .jsonl file:

    id        its name, for ever
    argv      the words; `retile` and `retile-oracle` stand for the programs under test
    shell     in place of argv: a line for sh, which finds both programs in PATH
    stdin     a text, or {"fixture": NAME}; without it stdin is empty
    env       variables; {here} stands for the folder of the call, {path} for PATH
    files     name -> text or {"fixture": NAME}: what lies in the folder before
    streams   stdin, stdout, stderr -> closed, full, gone, tty, folder
    needs     what the build or the machine must have: mpi, cuda, no gpu, z3, cvc5
    progress  true where the lines about progress on stderr are the point
    expected  code, stdout, stderr, and files: what the call wrote
"""

import hashlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import termios
import threading
from concurrent.futures import ThreadPoolExecutor

import fixtures

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ("retile", "retile-oracle")
LONGEST_TEXT = 4096  # bytes of an output that is kept whole
LONGEST_FILE = 1024  # bytes of a written file that is kept whole
HEAD_LINES = 12  # lines that are kept of what is longer
SECONDS = 240  # that a call may take

# What differs from run to run: pattern, what stands in its place.
MASKS = (
    # How long the data took, and the solvers.
    (r"(?m)^moved in \d+\.\d{6} s \(median", "moved in <seconds> s (median"),
    (r'"seconds":\d[0-9.e+-]*', '"seconds":<seconds>'),
    # Which versions of the solvers are there.
    (r"\b(Z3|cvc5) \d+(?:\.\d+)+", r"\1 <version>"),
)
# Lines on stderr that a run or proof of more than a second prints, which a busy machine makes of any.
PROGRESS = re.compile(r"(?m)^retile: (?:starting|move, repetition \d+ of \d+|\w+, [\d.]+ \w+ of [\d.]+ \w+"
                      r"|[^\n]*, (?:module|text) \d+ of \d+"
                      r"|[^\n]*: (?:not )?proved, \d+\.\d s)\n")
# Where the progress is the point: how far it was, and how long it took. Equal lines count as one.
PROGRESS_MASKS = ((r"(?m)^(retile: move, repetition) \d+ of", r"\1 <k> of"), (r"(?m)(proved), \d+\.\d s$", r"\1, <seconds> s"),
                  (r"(?m)^(retile: [^\n]*\n)(?:\1)+", r"\1"))
# What mpirun says itself, between two lines of dashes, when a process ends with another exit code than 0.
MPIRUN_FRAME = re.compile(r"(?m)^-{40,}\n(?:[^-\n][^\n]*\n|\n)*-{40,}\n")

# Open MPI on one machine with fewer cores than processes, as in cmake/RetileTargets.cmake.
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                   "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
                   "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
# The rest of a surrounding environment is not the calls' business.
KEPT_VARIABLES = re.compile(r"PATH|LD_LIBRARY_PATH|LD_PRELOAD|TMPDIR|LANG|\w*SAN_OPTIONS|OMPI_(?!COMM_)\w+")


# ---- Files of calls -----------------------------------------------------------------------------

def escaped(match):
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def line_of(call):
    """The call as a line of a file: UTF-8, what cannot be printed escaped."""
    text = json.dumps(call, ensure_ascii=False)
    return "".join(c if c.isprintable() else re.sub("(?s).", escaped, c) for c in text) + "\n"


def data_files(folder=HERE):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".jsonl")]


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def recorded(folder=HERE):
    """All calls, in the order of the files."""
    calls = [call for path in data_files(folder) for call in read_lines(path)]
    ids = [call["id"] for call in calls]
    twice = sorted({name for name in ids if ids.count(name) > 1}) if len(set(ids)) < len(ids) else []
    if twice:
        raise SystemExit("ids that stand twice: " + " ".join(twice))
    return calls


def words_of(call):
    """The words of a call, those of a shell line included."""
    return call["argv"] if "argv" in call else re.findall(r"[\w./-]+", call["shell"])


def is_retile_call(call):
    return "retile" in words_of(call)


# ---- What there is ------------------------------------------------------------------------------

def abilities(folder):
    """What this build and this machine have of what calls may need."""
    program = os.path.join(folder, "retile")
    said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=False).stdout.decode()
    backends = re.findall(r"\w+", said[said.find(":"):])
    proof = subprocess.run([program, "prove", "--mesh", "x:1", "[1]", "[1]"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, check=False)
    has_gpu = any(os.path.exists(path) for path in ("/dev/nvidiactl", "/dev/dxg", "/proc/driver/nvidia"))
    there = {"mpi": "mpi" in backends and shutil.which("mpirun") is not None, "cuda": "cuda" in backends, "no gpu": not has_gpu,
             "z3": b"without Z3" not in proof.stderr, "cvc5": shutil.which("cvc5") is not None}
    return {name for name, is_there in there.items() if is_there}


# ---- Running one --------------------------------------------------------------------------------

def as_bytes(text):
    return text.encode("utf-8", "surrogateescape")


def as_text(content):
    """Bytes as text, so that `as_bytes` gives them back."""
    return content.decode("utf-8", "surrogateescape")


def content_of(value):
    return as_bytes(value) if isinstance(value, str) else fixtures.content(value["fixture"])


def lay_out(folder, files):
    for name, value in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(value, dict) and "link" in value:
            os.symlink(value["link"], path)
        elif isinstance(value, dict) and "fifo" in value:
            os.mkfifo(path)
        elif name.endswith("/"):
            os.makedirs(path, exist_ok=True)
        else:
            with open(path, "wb") as file:
                file.write(content_of(value))
            if isinstance(value, str) and value.startswith("#!"):
                os.chmod(path, 0o755)


def listing(folder):
    """name -> content of every file below a folder; None for a folder, the target of a link as text."""
    found = {}
    for place, folders, names in os.walk(folder):
        for name in folders:
            found[os.path.relpath(os.path.join(place, name), folder) + "/"] = None
        for name in names:
            path = os.path.join(place, name)
            if os.path.islink(path):
                content = os.readlink(path)
            elif not os.path.isfile(path):
                content = "special"
            else:
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, folder)] = content
    return found


def environment(folder, bin_folder, changes):
    env = dict(MPI_ENVIRONMENT)
    env.update((name, value) for name, value in os.environ.items() if KEPT_VARIABLES.fullmatch(name))
    env["HOME"] = folder
    env["PATH"] = bin_folder + ":" + env.get("PATH", "/usr/bin:/bin")
    path = env["PATH"]
    for name, value in changes.items():
        env[name] = value.replace("{here}", folder).replace("{path}", path)
    return env


REDIRECTIONS = {("stdin", "closed"): "<&-", ("stdout", "closed"): ">&-", ("stderr", "closed"): "2>&-", ("stdin", "folder"): "</"}


def answer_of(call, bin_folder):
    """Runs the call in a new folder. Gives code, stdout and stderr as bytes, and the files that are new or changed."""
    with tempfile.TemporaryDirectory(prefix="retile-calls-") as folder:
        lay_out(folder, call.get("files", {}))
        before = listing(folder)
        if "shell" in call:
            words = ["sh", "-c", call["shell"]]
        else:
            words = [os.path.join(bin_folder, word) if word in PROGRAMS else word for word in call["argv"]]
            words = [as_bytes(word) for word in words]
        streams = call.get("streams", {})
        redirections = [REDIRECTIONS[item] for item in streams.items() if item in REDIRECTIONS]
        if redirections:
            words = ["sh", "-c", 'exec "$@" ' + " ".join(redirections), "sh", *words]
        options = {"cwd": folder, "env": environment(folder, bin_folder, call.get("env", {})),
                   "start_new_session": True}
        code, out, err = run(words, streams, content_of(call.get("stdin", "")), options)
        after = listing(folder)
        written = {name: content for name, content in after.items() if name not in before or before[name] != content}
        written.update((name, "gone") for name in before if name not in after)
        here = folder.encode()
        return code, out.replace(here, b"{here}"), err.replace(here, b"{here}"), written


def run(words, streams, stdin, options):
    """Like subprocess.run, with the odd streams: a full device, a pipe that nobody reads, a terminal."""
    opened, reader = [], None
    stdout = stderr = subprocess.PIPE
    try:
        if streams.get("stdout") == "full":
            stdout = os.open("/dev/full", os.O_WRONLY)
            opened.append(stdout)
        elif streams.get("stdout") == "gone":
            end, stdout = os.pipe()
            os.close(end)
            opened.append(stdout)
        if streams.get("stderr") == "tty":
            reader, stderr = pty.openpty()
            modes = termios.tcgetattr(stderr)
            modes[1] &= ~termios.OPOST
            termios.tcsetattr(stderr, termios.TCSANOW, modes)
        with subprocess.Popen(words, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                              **options) as process:
            said = []
            if reader is not None:
                os.close(stderr)
                listener = threading.Thread(target=listen, args=(reader, said))
                listener.start()
            try:
                out, err = process.communicate(stdin or None, timeout=SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                out, err = process.communicate()
                return "no end", out or b"", err or b""
            if reader is not None:
                listener.join()
                err = b"".join(said)
            return process.returncode, out or b"", err or b""
    finally:
        for descriptor in opened:
            os.close(descriptor)


def listen(descriptor, said):
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # the other end was closed
            part = b""
        if not part:
            os.close(descriptor)
            return
        said.append(part)


# ---- What is kept of an answer ------------------------------------------------------------------

def masked(call, text, is_stderr):
    if is_stderr and words_of(call)[0] == "mpirun":
        text = MPIRUN_FRAME.sub("", text)
    if is_stderr and not call.get("progress"):
        text = PROGRESS.sub("", text)
    for pattern, instead in (*MASKS, *(PROGRESS_MASKS if is_stderr and call.get("progress") else ())):
        text = re.sub(pattern, instead, text)
    return text


def kept(text, longest):
    """The text, or what a long one is known by."""
    content = as_bytes(text)
    if len(content) <= longest:
        return text
    head = "".join(text.splitlines(keepends=True)[:HEAD_LINES])[:longest // 8]
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), "head": head}


def kept_file(content):
    if content is None:
        return "a folder"
    if isinstance(content, str):
        return "link to " + content
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return kept(text, LONGEST_FILE)


def expected_of(call, answer):
    """What a .jsonl file keeps of an answer."""
    code, out, err, files = answer
    expected = {"code": code, "stdout": kept(masked(call, as_text(out), False), LONGEST_TEXT),
                "stderr": kept(masked(call, as_text(err), True), LONGEST_TEXT)}
    if files:
        expected["files"] = {name: kept_file(files[name]) for name in sorted(files)}
    return expected


def hear_all_signals():
    """Signals that were ignored here, as nohup does it, would be ignored by the programs, too; a handler is not handed on."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def replay(calls, bin_folder, jobs):
    """id -> what is kept of the answer. One call at a time has processes of MPI."""
    hear_all_signals()
    several = [call for call in calls if "mpi" in call.get("needs", ())]
    single = [call for call in calls if "mpi" not in call.get("needs", ())]
    answers = {}

    def answer(call):
        answers[call["id"]] = expected_of(call, answer_of(call, bin_folder))

    def answer_all(some):
        for call in some:
            answer(call)

    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        waiting = [pool.submit(answer_all, several)] + [pool.submit(answer, call) for call in single]
        for done in waiting:
            done.result()
    return answers
