#!/usr/bin/env python3
"""Checks who includes whom: the table of rooms in docs/dev/architecture.md against the includes.

    check_layering.py [ROOT]

Prints one line per violation, `file:line: rule: what`, and ends with 1 if there was any. Rules:

  table             the table itself: a row per folder of spec and src/retile, from the ground up; its last column names rooms of rows
                    above (`all rooms`: every one of them) and things outside; `in its sources`: in .cpp files only
  spec-std-only     spec/ includes the standard library and its own files, nothing else
  spec-order        a folder of spec includes only the folders that the table gives it
  src-never-spec    nothing under src/ includes spec/
  room-order        a room includes only the rooms that the table gives it
  public-header     of another room only the headers that its CMakeLists.txt lists under HEADERS or INNER_HEADERS; and what an
                    installed header, one of HEADERS, includes is installed as well
  link-order        a room's CMakeLists.txt links only the rooms that it may include
  json, cli11, z3, blas, cuda, intrinsics, system-header
                    nlohmann_json, CLI11, Z3, a BLAS, CUDA, processor intrinsics and POSIX only where the table says so; everywhere else
                    the standard library, fmt and tl::expected
  face              a header of src/retile itself is one that users include, listed in src/retile/CMakeLists.txt; it includes
                    installed headers and nothing else, and no room includes it
  mpi-wrapper       MPI functions, but for MPI_Comm_f2c, which sends nothing, are called in exec/mpi/mpi_wrapper.{h,cpp} only; mpi.h is included there and in HEADERS and
                    INNER_HEADERS of the room that the table gives MPI, which name its types
  tile-division     no size of an array is divided by one of a tile outside core: Cuts and tile_count know how many tiles there are
  unknown           an include that is none of these, a file in no room

fmt and tl::expected are core's; they are allowed in every room of src because core's public headers hand them on.
Tests, fuzz targets, benchmarks and proofs may include everything, so they are not read.
"""

import functools
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

TABLE = "docs/dev/architecture.md"
ROW = re.compile(r"^\| `(?:src/retile/([\w/]+)|(spec/\w+))/` \|[^|]*\|([^|]*)\|$")
OUTSIDE = {"the standard library", "fmt", "tl::expected", "nlohmann_json", "CLI11", "Z3", "BLAS", "CUDA", "MPI", "POSIX", "processor intrinsics", "headers of C"}

SUFFIXES = {".h", ".hpp", ".hh", ".cuh", ".inc", ".ipp", ".cpp", ".cc", ".cxx", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*(?:include|include_next|import)\b\s*(?:<([^>]*)>|"([^"]*)"|(\S.*))')
MPI_CALL = re.compile(r"\bP?MPI_[A-Z][A-Za-z0-9_]*\s*\(")
OPERAND_OF_TILE = r"\(?\s*(?:[\w\[\]()]+(?:\.|->|::))*\w*tile(?:_|_size|_shape)?\b"
TILE_DIVISION = re.compile(r"\bglobal\w*(?:\s*\(\s*\)|\s*\[[^\]]*\])*\s*/\s*" + OPERAND_OF_TILE)
COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL
)


@functools.lru_cache(maxsize=None)  # the control reads the same files many times
def without_comments(text, strings):
    """The text with comments blanked, and string literals too if `strings`; line numbers stay."""

    def blank(match):
        if match.group().startswith("/") or strings:
            return re.sub(r"[^\n]", " ", match.group())
        return match.group()

    return COMMENT_OR_STRING.sub(blank, text)


@functools.lru_cache(maxsize=None)
def includes(text):
    """(number of the line, the line's match of INCLUDE) of every include."""
    lines = enumerate(without_comments(text, strings=False).splitlines(), 1)
    return [(number, match) for number, line in lines if (match := INCLUDE.match(line))]


@functools.lru_cache(maxsize=None)
def tile_divisions(text):
    """(number of the line, the division)."""
    text = without_comments(text, strings=True)
    return [(text.count("\n", 0, match.start()) + 1, " ".join(match.group().split())) for match in TILE_DIVISION.finditer(text)]


@functools.lru_cache(maxsize=None)
def mpi_calls(text):
    """(number of the line, the first function of MPI that the line calls)."""
    lines = enumerate(without_comments(text, strings=True).splitlines(), 1)
    return [(number, match.group()[:-1].strip()) for number, line in lines if (match := MPI_CALL.search(line.replace("MPI_Comm_f2c", "")))]


class Room:
    """A row of the table: the rooms that a room may include besides itself, and what from outside, where."""

    def __init__(self, line):
        self.line = line
        self.rooms = set()
        self.outside = set()
        self.outside_in_sources = set()

    def may_use(self, name, implementation):
        return name in self.outside or (implementation and name in self.outside_in_sources)


class Checker:
    def __init__(self, root):
        self.root = root
        self.retile = root / "src" / "retile"
        self.violations = []
        self.files = 0
        self.rooms = {}
        self.installed = {}
        self.inner = {}
        self.mpi_wrapper = self.retile / "exec" / "mpi" / "mpi_wrapper"
        self.read_table()
        for room in self.rooms:
            if not room.startswith("spec/"):
                self.read_cmake(room)
        self.faces = self.read_faces()

    def read_table(self):
        path = self.root / TABLE
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            row = ROW.match(line)
            if not row:
                if line.startswith(("| `src/", "| `spec/")):
                    self.report(path, number, "table", "a row that cannot be read")
                continue
            name, cell = row[1] or row[2], row[3]
            if name in self.rooms:
                self.report(path, number, "table", f"{name} has two rows")
            folder = self.root / name if row[2] else self.retile / name
            if not folder.is_dir():
                self.report(path, number, "table", f"there is no folder {folder.relative_to(self.root).as_posix()}")
            room = Room(number)
            for word in re.split(r"\s*[,;]\s*", cell.strip()):
                self.read_word(path, name, room, word)
            self.rooms[name] = room
        if not self.rooms:
            self.report(path, 1, "table", "there is no table of rooms")

    def read_word(self, path, name, room, word):
        outside = word.removesuffix(" in its sources")
        if word == "all rooms":
            room.rooms |= {other for other in self.rooms if not other.startswith("spec/")}
        elif word in self.rooms:
            room.rooms.add(word)
        elif outside in OUTSIDE:
            (room.outside if outside == word else room.outside_in_sources).add(outside)
        else:
            self.report(path, room.line, "table", f"{name} may not include {word}: no room above it, and nothing known outside")

    def room_of(self, path):
        """The room of a path below src/retile, or None: the longest name that its folders begin with."""
        parts = Path(path).parts[:-1]
        for length in range(len(parts), 0, -1):
            room = "/".join(parts[:length])
            if room in self.rooms:
                return room
        return None

    def report(self, path, line, rule, what):
        self.violations.append(f"{path.relative_to(self.root).as_posix()}:{line}: {rule}: {what}")

    def is_public(self, path):
        """Whether a file of src is listed as an installed header of its room."""
        name = path.relative_to(self.retile).as_posix()
        return any(name in (headers or ()) for headers in self.installed.values())

    def is_inner(self, path):
        """Whether a file of src is listed as a header for other rooms."""
        name = path.relative_to(self.retile).as_posix()
        return any(name in headers for headers in self.inner.values())

    def read_faces(self):
        """The headers above all rooms, by name."""
        path = self.retile / "CMakeLists.txt"
        text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8")) if path.exists() else ""
        return set(re.findall(r"\bretile_add_face\s*\(\s*\w+\s+HEADER\s+(\S+?)[\s)]", text))

    def read_cmake(self, room):
        """Headers of a room that others may include (None where it has no CMakeLists.txt), and the link-order rule."""
        self.installed[room] = None
        self.inner[room] = set()
        path = self.retile / room / "CMakeLists.txt"
        if not path.exists():
            return
        text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8"))
        self.installed[room] = set()
        headers = {"HEADERS": self.installed[room], "INNER_HEADERS": self.inner[room]}
        keywords = {"SOURCES", "DEPS", "PRIVATE_DEPS", *headers}
        for call in re.findall(r"\bretile_add_room\s*\(([^)]*)\)", text):
            keyword = None
            for token in call.split():
                if token in keywords:
                    keyword = token
                elif keyword in headers:
                    headers[keyword].add(f"{room}/{token}")
        targets = {name.replace("/", "_"): name for name in self.rooms}
        for name in re.findall(r"\bretile::(\w+)", text):
            other = targets.get(name)
            if name == "spec":
                self.report(path, 1, "src-never-spec", "links retile::spec")
            elif other and other != room and other not in self.rooms[room].rooms:
                self.report(path, 1, "link-order", f"{room} may not link retile::{name}")

    def run(self):
        for path in sorted((self.root / "spec").rglob("*")):
            if path.suffix in SUFFIXES:
                self.check_file(path, self.check_spec_include)
        for path in sorted((self.root / "src").rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            if path.parent == self.retile and path.name in self.faces:
                self.check_file(path, self.check_face_include)
                continue
            room = self.room_of(path.relative_to(self.retile)) if self.retile in path.parents else None
            if room is None:
                self.report(path, 1, "unknown", "a file in no room")
                continue
            self.check_file(path, lambda *include, room=room: self.check_src_include(room, *include))
            if room != "core":
                self.check_tile_division(path)
        self.check_mpi_calls()
        return self.violations

    def check_file(self, path, check_include):
        self.files += 1
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, match in includes(text):
            if match.group(3) is not None:
                self.report(path, number, "unknown", f"cannot tell what is included: {match.string.strip()}")
            else:
                check_include(path, number, match.group(1) or match.group(2) or "", match.group(2) is not None)

    def check_spec_include(self, path, line, name, quoted):
        if not quoted and name in STANDARD:
            return
        target = (path.parent / name).resolve()
        if quoted and target.is_relative_to((self.root / "spec").resolve()) and target.exists():
            room, other = (self.room_of(file.relative_to(self.root.resolve())) for file in (path.resolve(), target))
            if room is None:
                self.report(path, 1, "unknown", "a file in no room")
            elif other != room and other not in self.rooms[room].rooms:
                self.report(path, line, "spec-order", f"{room} may not include {other}: {name}")
            return
        self.report(path, line, "spec-std-only", f"includes {name}")

    def check_face_include(self, path, line, name, quoted):
        if not any(name == f"retile/{header}" for headers in self.installed.values() for header in headers or ()):
            self.report(path, line, "face", f"includes {name}, which is no installed header of a room")

    def check_src_include(self, room, path, line, name, quoted):
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
            self.check_outside(room, path, line, name, "json", "nlohmann_json")
        elif name.startswith("CLI/"):
            self.check_outside(room, path, line, name, "cli11", "CLI11")
        elif re.match(r"z3\b|z3\+\+", name):
            self.check_outside(room, path, line, name, "z3", "Z3")
        elif name == "cblas.h":
            self.check_outside(room, path, line, name, "blas", "BLAS")
        elif re.match(r"(cuda|cub/|thrust/|nccl|nvtx|device_launch)", name):
            self.check_outside(room, path, line, name, "cuda", "CUDA")
        elif re.match(r"(mpi|mpi-ext|mpio|pmix)\.h$", name):
            has_mpi = self.rooms[room].may_use("MPI", False)
            if path.with_suffix("") != self.mpi_wrapper and not (has_mpi and (self.is_public(path) or self.is_inner(path))):
                self.report(path, line, "mpi-wrapper", f"includes {name}")
        elif name == "immintrin.h":
            self.check_outside(room, path, line, name, "intrinsics", "processor intrinsics")
        elif name in POSIX:
            self.check_outside(room, path, line, name, "system-header", "POSIX")
        elif name in {"stddef.h", "stdint.h"}:
            self.check_outside(room, path, line, name, "system-header", "headers of C")
        elif name not in STANDARD and not name.startswith("fmt/") and name != "tl/expected.hpp":
            self.report(path, line, "unknown", f"includes {name}")

    def check_outside(self, room, path, line, name, rule, what):
        implementation = path.suffix in {".cpp", ".cc", ".cxx"}
        if not self.rooms[room].may_use(what, implementation):
            self.report(path, line, rule, f"includes {name}")

    def check_room_include(self, room, path, line, name):
        other = self.room_of(name)
        if name in self.faces:
            self.report(path, line, "face", f"retile/{name} is for users; a room includes what it needs")
            return
        if other is None:
            self.report(path, line, "unknown", f"retile/{name} is in no room")
            return
        if other != room and other not in self.rooms[room].rooms:
            self.report(path, line, "room-order", f"{room} may not include {other}: retile/{name}")
            return
        installed = self.installed[other]
        if installed is None or name in installed:
            return
        if self.is_public(path) or (other != room and name not in self.inner[other]):
            self.report(path, line, "public-header", f"retile/{name} is not a public header of {other}")

    def check_tile_division(self, path):
        for line, division in tile_divisions(path.read_text(encoding="utf-8", errors="replace")):
            self.report(path, line, "tile-division", f"divides: {division}")

    def check_mpi_calls(self):
        for path in sorted((self.root / "src").rglob("*")):
            if path.suffix not in SUFFIXES or path.with_suffix("") == self.mpi_wrapper:
                continue
            for number, call in mpi_calls(path.read_text(encoding="utf-8", errors="replace")):
                self.report(path, number, "mpi-wrapper", f"calls {call}")


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[3]
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
