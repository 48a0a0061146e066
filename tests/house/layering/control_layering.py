#!/usr/bin/env python3
"""Negative control of check_layering.py: plants violations of every rule in a copy of the tree; each must be caught.

    control_layering.py ROOT

For each text that must be rejected there is one that must be accepted in its place, so that the check is shown to look at the
difference and not to reject everything. Texts for different files are planted together: each must be reported at its own file.
Then the table of rooms in docs/dev/architecture.md is edited: what the tree does must become a violation, so that the check is
shown to read its rules there.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # the tests leave nothing in the sources

import check_layering
from check_layering import TABLE, Checker

PLANTED = "planted_for_the_control"

# rule, file that the text is appended to, text that must be rejected, text that must be accepted in its place
MUTANTS = [
    ("spec-std-only", f"spec/paper/{PLANTED}.h", "#include <fmt/format.h>\n", "#include <vector>\n"),
    ("spec-std-only", f"spec/program/{PLANTED}.h", '#include "retile/core/mesh.h"\n', f'#include "{PLANTED}.h"\n'),
    ("spec-std-only", f"spec/search/{PLANTED}.h", '#include "../../src/retile/core/mesh.h"\n',
     '#include "../paper/fig06_syntax.h"\n'),
    ("spec-std-only", f"spec/oracle/{PLANTED}.h", '#include "fig06_syntax.h"\n', "#include <cstdint>\n"),
    ("spec-std-only", f"spec/{PLANTED}.h", "#include <unistd.h>\n", "#include <optional>\n"),
    ("spec-order", f"spec/paper/{PLANTED}.h", '#include "../program/program.h"\n', '#include "fig06_syntax.h"\n'),
    ("spec-order", f"spec/program/{PLANTED}.h", '#include "../search/search.h"\n', '#include "../paper/fig06_syntax.h"\n'),
    ("src-never-spec", f"src/retile/cli/{PLANTED}.cpp", '#include "spec/paper/fig06_syntax.h"\n',
     '// #include "spec/paper/fig06_syntax.h"\n'),
    ("src-never-spec", f"src/retile/check/{PLANTED}.h", "  #  include <spec/paper/fig06_syntax.h>\n",
     '/*\n#include "spec/paper/fig06_syntax.h"\n*/\n'),
    ("src-never-spec", f"src/retile/core/{PLANTED}.cpp", '#include "../../../spec/paper/fig06_syntax.h"\n', "#include <span>\n"),
    ("room-order", f"src/retile/core/{PLANTED}.h", '#include "retile/program/x.h"\n', "#include <string>\n"),
    ("room-order", f"src/retile/program/{PLANTED}.cpp", '#include "retile/plan/x.h"\n',
     f'#include "retile/program/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/plan/{PLANTED}.cpp", '#include "retile/program/x.h"\n',
     f'#include "retile/plan/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/lower/{PLANTED}.cpp", '#include "retile/check/x.h"\n',
     f'#include "retile/lower/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/check/{PLANTED}.cpp", '#include "retile/plan/x.h"\n',
     f'#include "retile/check/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/check/{PLANTED}.cpp", '#include "../plan/planted_twin.h"\n',
     f'#include "retile/check/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/prove/{PLANTED}.cpp", '#include "retile/plan/x.h"\n',
     f'#include "retile/prove/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/exec/sim/{PLANTED}.cpp", '#include "retile/exec/mpi/x.h"\n',
     f'#include "retile/exec/sim/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/exec/npy/{PLANTED}.cpp", '#include "retile/program/x.h"\n',
     f'#include "retile/exec/npy/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/exec/copy/{PLANTED}.cpp", '#include "retile/exec/npy/x.h"\n',
     f'#include "retile/exec/copy/{PLANTED}.h"\n'),
    ("intrinsics", f"src/retile/exec/sim/{PLANTED}.cpp", "#include <immintrin.h>\n", "#include <bit>\n"),
    ("intrinsics", f"src/retile/exec/copy/{PLANTED}.h", "#include <immintrin.h>\n", "#include <bit>\n"),
    ("room-order", f"src/retile/exec/mpi/{PLANTED}.cpp", '#include "retile/plan/x.h"\n',
     f'#include "retile/exec/mpi/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/exec/team/{PLANTED}.cpp", '#include "retile/exec/mpi/x.h"\n',
     f'#include "retile/exec/team/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/exec/cuda/{PLANTED}.cu", '#include "retile/exec/mpi/x.h"\n',
     f'#include "retile/exec/cuda/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/lower/{PLANTED}.cpp", '#include "retile/cli/x.h"\n', "#include <map>\n"),
    ("public-header", f"src/retile/lower/{PLANTED}.cpp", '#include "retile/plan/planted_private.h"\n',
     '#include "retile/plan/planted_public.h"\n'),
    ("public-header", "src/retile/plan/planted_public.h", '#include "retile/plan/planted_private.h"\n',
     '#include "retile/plan/planted_public.h"\n'),
    ("public-header", "src/retile/exec/mpi/redistribute.h", '#include "retile/exec/mpi/executor.h"\n',
     '#include "retile/program/program.h"\n'),
    ("link-order", "src/retile/plan/CMakeLists.txt", "target_link_libraries(retile_plan PRIVATE retile::lower)\n",
     "# retile::lower\n"),
    ("src-never-spec", "src/retile/cli/CMakeLists.txt", "target_link_libraries(retile PRIVATE retile::spec)\n",
     "# retile::spec\n"),
    ("room-order", f"src/retile/core/{PLANTED}.cpp", '#include "retile/text/x.h"\n', f'#include "retile/core/{PLANTED}.h"\n'),
    ("room-order", f"src/retile/core/{PLANTED}.cpp", '#include "retile/notation/paper/x.h"\n', "#include <map>\n"),
    ("room-order", f"src/retile/text/{PLANTED}.cpp", '#include "retile/notation/paper/x.h"\n', "#include <map>\n"),
    ("room-order", f"src/retile/notation/paper/{PLANTED}.cpp", '#include "retile/program/x.h"\n',
     '#include "retile/notation/paper/read.h"\n'),
    ("room-order", f"src/retile/program/{PLANTED}.cpp", '#include "retile/program/forms/text.h"\n',
     '#include "retile/program/coverage.h"\n'),
    ("room-order", f"src/retile/program/{PLANTED}.cpp", '#include "retile/notation/paper/notation.h"\n', "#include <map>\n"),
    ("room-order", f"src/retile/program/{PLANTED}.cpp", '#include "forms/text.h"\n', '#include "coverage.h"\n'),
    ("room-order", f"src/retile/plan/{PLANTED}.cpp", '#include "retile/notation/paper/notation.h"\n', "#include <map>\n"),
    ("public-header", f"src/retile/program/forms/{PLANTED}.cpp", '#include "retile/notation/paper/read.h"\n',
     '#include "retile/notation/paper/grammar.h"\n'),
    ("public-header", "src/retile/notation/paper/notation.h", '#include "retile/notation/paper/grammar.h"\n',
     '#include "retile/notation/paper/dist_type.h"\n'),
    ("public-header", "src/retile/notation/paper/problem.h", '#include "retile/text/scanner.h"\n',
     '#include "retile/core/mesh.h"\n'),
    ("face", "src/retile/retile.h", '#include "retile/program/apply.h"\n', '#include "retile/program/reason.h"\n'),
    ("face", "src/retile/retile.h", '#include "retile/plan/planted_private.h"\n', '#include "retile/plan/planted_public.h"\n'),
    ("face", "src/retile/mpi.h", "#include <mpi.h>\n", '#include "retile/core/size.h"\n'),
    ("face", f"src/retile/cli/{PLANTED}.cpp", '#include "retile/retile.h"\n', '#include "retile/plan/plan.h"\n'),
    ("unknown", f"src/retile/{PLANTED}.h", '#include "retile/plan/plan.h"\n', None),
    ("public-header", "src/retile/check/check.h", '#include "retile/check/witness.h"\n', '#include "retile/program/reason.h"\n'),
    ("public-header", "src/retile/exec/mpi/options.h", '#include "retile/exec/mpi/environment.h"\n',
     '#include "retile/core/result.h"\n'),
    ("tile-division", f"src/retile/plan/{PLANTED}.cpp", "Size f(const Layout& map) { return map.global()[0] / map.tile()[0]; }\n",
     "Size f(const Layout& map) { return tile_count(map.global()[0], map.tile()[0]); }\n"),
    ("tile-division", f"src/retile/exec/sim/{PLANTED}.h", "auto n = problem.from.global_size() /\n  (problem.to.tile_size());\n",
     "auto n = problem.from.global_size() / tiles;  // global / tile\n"),
    ("tile-division", f"src/retile/check/{PLANTED}.cpp", "n *= global[i] / tile[i];\n", "n *= global[i] / parts;\n"),
    ("tile-division", f"src/retile/lower/{PLANTED}.cpp", "n = global / state.maps[k]->tile()[i];\n",
     "n = tile / global_parts;\n"),
    ("json", f"src/retile/program/{PLANTED}.cpp", "#include <nlohmann/json.hpp>\n", "#include <string>\n"),
    ("json", f"src/retile/program/forms/{PLANTED}.h", "#include <nlohmann/json.hpp>\n", "#include <string>\n"),
    ("json", f"src/retile/check/{PLANTED}.cpp", "#include <nlohmann/json.hpp>\n", "#include <string>\n"),
    ("json", f"src/retile/program/forms/{PLANTED}.h", "#include <nlohmann/json_fwd.hpp>\n", "#include <map>\n"),
    ("cli11", f"src/retile/program/forms/{PLANTED}.cpp", "#include <CLI/CLI.hpp>\n", "#include <nlohmann/json.hpp>\n"),
    ("z3", f"src/retile/check/{PLANTED}.cpp", "#include <z3++.h>\n", "#include <set>\n"),
    ("z3", f"src/retile/prove/{PLANTED}.h", "#include <z3.h>\n", "#include <set>\n"),
    ("blas", f"src/retile/check/{PLANTED}.cpp", "#include <cblas.h>\n", "#include <set>\n"),
    ("blas", f"src/retile/spmd/run/{PLANTED}.h", "#include <cblas.h>\n", "#include <set>\n"),
    ("cuda", f"src/retile/exec/sim/{PLANTED}.cpp", "#include <cuda_runtime.h>\n", "#include <thread>\n"),
    ("mpi-wrapper", f"src/retile/cli/{PLANTED}.cpp", "#include <mpi.h>\n", "#include <unistd.h>\n"),
    ("mpi-wrapper", f"src/retile/exec/mpi/{PLANTED}.cpp", "#include <mpi.h>\n", "#include <poll.h>\n"),
    ("mpi-wrapper", "src/retile/exec/sim/mpi_wrapper.cpp", "#include <mpi.h>\n", "#include <thread>\n"),
    ("mpi-wrapper", f"src/retile/exec/mpi/{PLANTED}.cpp", "void f() { MPI_Barrier(MPI_COMM_WORLD); }\n",
     'const char* f() { return "MPI_Barrier(..)"; }  // MPI_Barrier(..)\n'),
    ("system-header", f"src/retile/plan/{PLANTED}.cpp", "#include <unistd.h>\n", "#include <fmt/format.h>\n"),
    ("system-header", f"src/retile/plan/{PLANTED}.cpp", "#include <stdint.h>\n", "#include <cstdint>\n"),
    ("unknown", f"src/retile/core/{PLANTED}.cpp", "#include <boost/any.hpp>\n", "#include <tl/expected.hpp>\n"),
    ("unknown", f"src/retile/core/{PLANTED}.cpp", "#include PLANTED_MACRO\n", "#include <array>\n"),
    ("unknown", f"src/retile/helpers/{PLANTED}.cpp", "#include <array>\n", None),
]

# Edits of the table: what is replaced, by what, and what must then be reported where.
EDITS = [
    ("everything | spec/paper, spec/layout, spec/program |", "everything | spec/paper, spec/layout |", "spec/search/", ": spec-order: spec/search may not include spec/program"),
    ("| `spec/paper/` |", "| `spec/figures/` |", TABLE, ": table: there is no folder spec/figures"),
    ("| core, plan, program, exec/exchange |", "| core, plan, exec/exchange |", "src/retile/lower/lower.h:", ": room-order: lower may not include program"),
    ("| core, plan, program, exec/exchange |", "| core, plan, exec/exchange |", "src/retile/lower/CMakeLists.txt:", ": link-order: "),
    ("; Z3 in its sources", "", "src/retile/prove/", ": z3: "),
    ("; processor intrinsics in its sources", "", "src/retile/exec/copy/", ": intrinsics: "),
    ("exec/copy, exec/exchange; POSIX |", "exec/copy, exec/exchange |", "src/retile/exec/team/", ": system-header: "),
    ("program; nlohmann_json in its sources", "program", "src/retile/program/forms/", ": json: "),
    ("; MPI, POSIX |", "; POSIX |", "src/retile/exec/mpi/", ": mpi-wrapper: "),
    ("| `src/retile/check/` |", "| `src/retile/judge/` |", TABLE, ": table: there is no folder src/retile/judge"),
    ("| `src/retile/check/` |", "| `src/retile/judge/` |", "src/retile/check/", ": unknown: a file in no room"),
    ("| core, text |", "| core, text, program |", TABLE, ": table: notation may not include program"),
    ("| core, text |", "| core, text, boost |", TABLE, ": table: notation may not include boost"),
    ("| core, text |", "core, text", TABLE, ": table: a row that cannot be read"),
]


def prepare(source, root):
    """A copy of the tree with a public and a private header in plan, and a header of spec."""
    for name in ("src", "spec"):
        shutil.copytree(source / name, root / name)
    (root / TABLE).parent.mkdir(parents=True)
    shutil.copy(source / TABLE, root / TABLE)
    retile = root / "src" / "retile"
    with (retile / "plan/CMakeLists.txt").open("a") as cmake:
        cmake.write("retile_add_room(plan HEADERS planted_public.h planted_twin.h)\n")
    for name in ("planted_public", "planted_private", "planted_twin"):
        (retile / f"plan/{name}.h").touch()


def rounds():
    """The mutants, in lists of such as are planted in different files; a file that is only there for one has a name of its own."""
    out = []
    for number, (rule, file, bad, good) in enumerate(MUTANTS):
        file, bad, good = (text and text.replace(PLANTED, f"{PLANTED}_{number}") for text in (file, bad, good))
        free = next((each for each in out if all(file != other for _, other, _, _ in each)), None)
        if free is None:
            out.append(free := [])
        free.append((rule, file, bad, good))
    return out


def plant(root, texts):
    """Appends its text to each file and returns how to take it back."""
    before = {root / file: (root / file).read_text() if (root / file).exists() else None for file in texts}
    for path, text in zip(before, texts.values()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((before[path] or "") + text)

    def undo():
        for path, text in before.items():
            if text is None:
                path.unlink()
            else:
                path.write_text(text)

    return undo


def check_round(root, mutants):
    """What is wrong when all of these are planted, and then what must be accepted in their places."""
    missed = []
    undo = plant(root, {file: bad for _, file, bad, _ in mutants})
    found = Checker(root).run()
    undo()
    for rule, file, bad, _ in mutants:
        if not any(line.startswith(f"{file}:") and f": {rule}: " in line for line in found):
            missed.append(f"missed {rule} in {file}: {bad.strip()}")
    planted = {file for _, file, _, _ in mutants}
    missed += [f"wrongly reported: {line}" for line in found if line.partition(":")[0] not in planted]
    undo = plant(root, {file: good for _, file, _, good in mutants if good is not None})
    missed += [f"wrongly rejected: {line}" for line in Checker(root).run()]
    undo()
    return missed


def main():
    source = Path(sys.argv[1]).resolve()
    missed = []
    with tempfile.TemporaryDirectory(prefix="layering_control_") as directory:
        root = Path(directory).resolve()
        prepare(source, root)
        for violation in Checker(root).run():
            print(f"The copy must be clean before anything is planted: {violation}")
            return 1
        for mutants in rounds():
            missed += check_round(root, mutants)
        table = root / TABLE
        before = table.read_text(encoding="utf-8")
        for old, new, file, what in EDITS:
            table.write_text(before.replace(old, new, 1), encoding="utf-8")
            found = Checker(root).run()
            if old not in before or not any(line.startswith(file) and what in line for line in found):
                missed.append(f"an edited table is not noticed: {new or 'nothing'} for {old}: {found[:3]}")
        table.write_text(before, encoding="utf-8")
        command = [sys.executable, check_layering.__file__, str(root)]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            missed.append("check_layering.py does not end with 0 where nothing is wrong")
        rule, file, bad, _ = MUTANTS[0]
        plant(root, {file: bad})
        if subprocess.run(command, capture_output=True, check=False).returncode != 1:
            missed.append(f"check_layering.py does not end with 1 on {rule}")
    for line in missed:
        print(line)
    print(f"layering control: {len(MUTANTS)} planted violations, {len(EDITS)} edited tables, {len(missed)} mistakes")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
