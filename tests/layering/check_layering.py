#!/usr/bin/env python3
"""Checks who includes whom: the table "Rooms and who may know whom" of the architecture, by grepping the includes.

    check_layering.py [ROOT]

Prints one line per violation, `file:line: rule: what`, and ends with 1 if there was any. Rules:

  spec-std-only     spec/ includes the standard library and its own files, nothing else
  src-never-spec    nothing under src/ includes spec/
  room-order        a room includes only the rooms that the table gives it
  public-header     of another room only the headers that its CMakeLists.txt lists under HEADERS or INTERNAL; what such a header
                    includes of its own room is listed as well, and a header under HEADERS, which is installed, includes no others
  link-order        a room's CMakeLists.txt links only the rooms that it may include
  json              nlohmann_json only in .cpp files of program and cli
  cli11             CLI11 only in cli
  z3                Z3 only in .cpp files of prove
  cuda              CUDA only in exec/cuda
  mpi-wrapper       MPI functions are called in exec/mpi/mpi_wrapper.{h,cpp} only; mpi.h is included there and in public headers
                    of exec/mpi, which name its types
  intrinsics        processor intrinsics only in .cpp files of exec/copy
  system-header     POSIX headers only in exec/*, cli and sources of prove (it runs solvers); everywhere else the standard library, fmt and tl::expected
  unknown           an include that is none of these, a file in no room

fmt and tl::expected are core's; they are allowed in every room of src because core's public headers hand them on.
Tests, fuzz targets, benchmarks and proofs may include everything, so they are not read.
"""

import re
import sys
from pathlib import Path

STANDARD = set(
    """algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts condition_variable
    coroutine deque exception execution filesystem format forward_list fstream functional future initializer_list iomanip ios
    iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex new numbers numeric optional
    ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream stack
    stdexcept stop_token streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex
    typeinfo unordered_map unordered_set utility valarray variant vector version
    cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib
    cstring ctime cuchar cwchar cwctype""".split()
)
POSIX = set(
    """dirent.h errno.h fcntl.h grp.h poll.h pthread.h pwd.h sched.h signal.h spawn.h termios.h unistd.h
    sys/file.h sys/ioctl.h sys/mman.h sys/prctl.h sys/resource.h sys/socket.h sys/stat.h sys/statvfs.h sys/syscall.h sys/time.h sys/types.h
    sys/uio.h sys/un.h sys/wait.h linux/futex.h""".split()
)

# The table. Every room may include itself.
ROOMS = {
    "core": set(),
    "program": {"core"},
    "plan": {"core"},
    "lower": {"core", "plan", "program"},
    "check": {"core", "program"},
    "prove": {"core", "program", "check"},
    "exec/copy": {"core", "program"},
    "exec/npy": {"core"},
    "exec/executor": {"core", "exec/npy"},
    "exec/sim": {"core", "program", "exec/executor"},
    "exec/exchange": {"core", "program"},
    "exec/team": {"core", "program", "exec/copy", "exec/exchange"},
    "exec/cuda": {"core", "program", "exec/npy", "exec/exchange", "exec/executor"},
    "exec/mpi": {"core", "program", "exec/copy", "exec/exchange", "exec/executor", "exec/team", "exec/cuda"},
    "run": {"core", "program", "exec/npy", "exec/executor"},
    "notation": {"core", "program"},
}
ROOMS["cli"] = set(ROOMS)

SUFFIXES = {".h", ".hpp", ".hh", ".cuh", ".inc", ".ipp", ".cpp", ".cc", ".cxx", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*(?:include|include_next|import)\b\s*(?:<([^>]*)>|"([^"]*)"|(\S.*))')
MPI_CALL = re.compile(r"\bP?MPI_[A-Z][A-Za-z0-9_]*\s*\(")
COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL
)


def without_comments(text, strings):
    """The text with comments blanked, and string literals too if `strings`; line numbers stay."""

    def blank(match):
        if match.group().startswith("/") or strings:
            return re.sub(r"[^\n]", " ", match.group())
        return match.group()

    return COMMENT_OR_STRING.sub(blank, text)


def room_of(path):
    """The room of a path below src/retile, or None."""
    parts = Path(path).parts
    if len(parts) < 2:
        return None
    room = "/".join(parts[:2]) if parts[0] == "exec" and len(parts) > 2 else parts[0]
    return room if room in ROOMS else None


class Checker:
    def __init__(self, root):
        self.root = root
        self.retile = root / "src" / "retile"
        self.violations = []
        self.files = 0
        self.public = {}
        self.installed = set()
        self.mpi_wrapper = self.retile / "exec" / "mpi" / "mpi_wrapper"
        for room in ROOMS:
            self.read_cmake(room)

    def report(self, path, line, rule, what):
        self.violations.append(f"{path.relative_to(self.root).as_posix()}:{line}: {rule}: {what}")

    def is_public(self, path):
        """Whether a file of src is listed as a header for other rooms."""
        name = path.relative_to(self.retile).as_posix()
        return any(name in (headers or ()) for headers in self.public.values())

    def read_cmake(self, room):
        """Listed headers of a room (None where it has no CMakeLists.txt), and the link-order rule."""
        self.public[room] = None
        path = self.retile / room / "CMakeLists.txt"
        if not path.exists():
            return
        text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8"))
        self.public[room] = set()
        keywords = {"SOURCES", "HEADERS", "INTERNAL", "DEPS", "PRIVATE_DEPS"}
        for call in re.findall(r"\bretile_add_room\s*\(([^)]*)\)", text):
            keyword = None
            for token in call.split():
                if token in keywords:
                    keyword = token
                elif keyword in ("HEADERS", "INTERNAL"):
                    self.public[room].add(f"{room}/{token}")
                    if keyword == "HEADERS":
                        self.installed.add(f"{room}/{token}")
        for name in re.findall(r"\bretile::(\w+)", text):
            other = name.replace("exec_", "exec/")
            if name == "spec":
                self.report(path, 1, "src-never-spec", "links retile::spec")
            elif other in ROOMS and other != room and other not in ROOMS[room]:
                self.report(path, 1, "link-order", f"{room} may not link retile::{name}")

    def run(self):
        for path in sorted((self.root / "spec").rglob("*")):
            if path.suffix in SUFFIXES:
                self.check_file(path, self.check_spec_include)
        for path in sorted((self.root / "src").rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            room = room_of(path.relative_to(self.retile)) if self.retile in path.parents else None
            if room is None:
                self.report(path, 1, "unknown", "a file in no room")
                continue
            self.check_file(path, lambda *include, room=room: self.check_src_include(room, *include))
        self.check_mpi_calls()
        return self.violations

    def check_file(self, path, check_include):
        self.files += 1
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(without_comments(text, strings=False).splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            if match.group(3) is not None:
                self.report(path, number, "unknown", f"cannot tell what is included: {line.strip()}")
            else:
                check_include(path, number, match.group(1) or match.group(2) or "", match.group(2) is not None)

    def check_spec_include(self, path, line, name, quoted):
        if not quoted and name in STANDARD:
            return
        target = (path.parent / name).resolve()
        if quoted and target.is_relative_to((self.root / "spec").resolve()) and target.exists():
            return
        self.report(path, line, "spec-std-only", f"includes {name}")

    def check_src_include(self, room, path, line, name, quoted):
        implementation = path.suffix in {".cpp", ".cc", ".cxx"}
        if quoted and not name.startswith(("retile/", "spec/")) and (path.parent / name).exists():
            target = (path.parent / name).resolve()  # a relative path is judged by where it leads
            if target.is_relative_to((self.root / "src").resolve()):
                name = target.relative_to((self.root / "src").resolve()).as_posix()
            elif target.is_relative_to((self.root / "spec").resolve()):
                name = target.relative_to(self.root.resolve()).as_posix()
        if name.startswith("spec/") or "/spec/" in name:
            self.report(path, line, "src-never-spec", f"includes {name}")
        elif name.startswith("retile/"):
            self.check_room_include(room, path, line, name[len("retile/") :])
        elif name.startswith("nlohmann/"):
            if room not in {"program", "cli"} or not implementation:
                self.report(path, line, "json", f"includes {name}")
        elif name.startswith("CLI/"):
            if room != "cli":
                self.report(path, line, "cli11", f"includes {name}")
        elif re.match(r"z3\b|z3\+\+", name):
            if room != "prove" or not implementation:
                self.report(path, line, "z3", f"includes {name}")
        elif re.match(r"(cuda|cub/|thrust/|nccl|nvtx|device_launch)", name):
            if room != "exec/cuda":
                self.report(path, line, "cuda", f"includes {name}")
        elif re.match(r"(mpi|mpi-ext|mpio|pmix)\.h$", name):
            if path.with_suffix("") != self.mpi_wrapper and not (room == "exec/mpi" and self.is_public(path)):
                self.report(path, line, "mpi-wrapper", f"includes {name}")
        elif name == "immintrin.h":
            if room != "exec/copy" or not implementation:
                self.report(path, line, "intrinsics", f"includes {name}")
        elif name in POSIX:
            if not room.startswith("exec/") and room != "cli" and not (room == "prove" and implementation):
                self.report(path, line, "system-header", f"includes {name}")
        elif name not in STANDARD and not name.startswith("fmt/") and name != "tl/expected.hpp":
            self.report(path, line, "unknown", f"includes {name}")

    def check_room_include(self, room, path, line, name):
        other = room_of(name)
        if other is None:
            self.report(path, line, "unknown", f"retile/{name} is in no room")
            return
        if other != room and other not in ROOMS[room]:
            self.report(path, line, "room-order", f"{room} may not include {other}: retile/{name}")
            return
        public = self.public[other]
        if public is not None and name not in public and (other != room or self.is_public(path)):
            self.report(path, line, "public-header", f"retile/{name} is not a public header of {other}")
        elif path.relative_to(self.retile).as_posix() in self.installed and public is not None and name not in self.installed:
            self.report(path, line, "public-header", f"retile/{name} is not installed, but this header is")

    def check_mpi_calls(self):
        for path in sorted((self.root / "src").rglob("*")):
            if path.suffix not in SUFFIXES or path.with_suffix("") == self.mpi_wrapper:
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            for number, line in enumerate(without_comments(text, strings=True).splitlines(), 1):
                if match := MPI_CALL.search(line):
                    self.report(path, number, "mpi-wrapper", f"calls {match.group()[:-1].strip()}")


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    checker = Checker(root.resolve())
    violations = checker.run()
    for violation in violations:
        print(violation)
    print(f"layering: {checker.files} files read, {len(violations)} violations")
    if checker.files == 0:
        print("layering: nothing to read; is this the root of the tree?")
    return 1 if violations or checker.files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
