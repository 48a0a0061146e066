#!/usr/bin/env python3
"""The proofs in Rocq: compiled, asked for assumptions, written down, extracted and compared with spec/.

    kernel.py build WORK                     copies the sources to WORK, compiles them and the extracted programs
    kernel.py assumptions WORK               no theorem rests on an axiom; controls are found out
    kernel.py coqchk WORK                    .. and coqchk, which checks what was compiled, finds none
    kernel.py document WORK check DOCUMENT   the document says what the proof assistant says; write DOCUMENT writes it
    kernel.py compare WORK QUERIES MODE SEED COUNT [PARTS]
                                             spec/ and the kernel answer alike (queries.cpp says what MODE may be)
    kernel.py checker WORK                   compiles the reader and the check of Programs without proofs: WORK/retile-kernel
    kernel.py programs WORK JUDGE SEED COUNT spec/, src/ and retile-kernel judge Programs alike: those of the tree, and COUNT spoiled ones
    kernel.py certify WORK QUERIES JUDGE SEED COUNT FILE..
                                             spec/ and retile-kernel say the same of certificates in text: COUNT forged ones, and
                                             the files, whole and spoiled
    kernel.py certify_mutants WORK QUERIES JUDGE FILE..
                                             mistakes in reading certificates and in what they come to show in that
    kernel.py program_mutants WORK JUDGE [COUNT]
                                             mistakes in the check break its proof and show in its verdicts; the first COUNT
    kernel.py certificates WORK QUERIES FILE..
                                             the same for certificates in files
    kernel.py planner WORK QUERIES RETILE COUNT
                                             the same for certificates that `retile plan` writes of random problems
    kernel.py mutants WORK QUERIES [COUNT]   mistakes in the certifier break its proof and show in its verdicts; the first COUNT

WORK is a folder of the build; QUERIES, JUDGE and RETILE are programs.
"""

import ast
import collections
import contextlib
import io
import itertools
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
TREE = SOURCE.parent.parent
CHECKER = [*(f"paper/{name}.v" for name in ("notation", "fig06_syntax", "fig07_base_offsets", "fig08_typing", "fig11_cost",
                                            "def5_weak", "def6_devices", "fig10_low_level")),
           "facts/moves.v",
           *(f"program/{name}.v" for name in ("table", "certify", "along", "program", "meaning", "lookup", "check", "reader", "certificate"))]
MEMORY = 4 << 30  # bytes that compiling may take
SLOWER = 20       # the kernel may take so many times the time of spec/


def run(*words, cwd, limit=True, stdin=None, stdout=subprocess.PIPE):
    def limits():
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        else:  # lists are as deep as they are long
            hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
            resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))

    return subprocess.run([str(word) for word in words], cwd=cwd, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True,
                          check=False, preexec_fn=limits)


def good(done, what):
    if done.returncode != 0:
        sys.exit(f"kernel.py: {what} failed\n{done.stdout or ''}{done.stderr or ''}")
    return done


def files():
    return [line for line in (SOURCE / "_CoqProject").read_text().split() if line.endswith(".v")]


def modules():
    return ["retile." + file[:-2].replace("/", ".") for file in files()]


def coqc(work, text, name="question"):
    """What Coq says to a text."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.v"
        file.write_text(text)
        return run("coqc", "-q", "-R", work, "retile", "-w", "none", file, cwd=work)


def copy(file, work):
    """Leaves what has not changed as it is, so that it is not compiled again."""
    text, target = (SOURCE / file).read_text(), work / file
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.read_text() != text:
        target.write_text(text)


def extract_program(work, question, kernel, program, name):
    """Functions as OCaml, and the program that asks them."""
    for file in ("oracle/extract_numbers.v", question, program):
        copy(file, work)
    for file in ("oracle/extract_numbers.v", question):
        good(run("coqc", "-q", "-R", work, "retile", "-w", "none", file, cwd=work), "extraction")
    good(run("ocamlfind", "ocamlopt", "-w", "-a", "-inline", "200", "-unsafe", "-package", "zarith,unix", "-linkpkg", "-I", ".",
             f"{kernel}.mli", f"{kernel}.ml", program, "-o", name, cwd=work), "ocamlopt")


def extract(work, name="kernel_oracle"):
    """The extracted kernel."""
    extract_program(work, "oracle/extract.v", "kernel", "oracle/kernel_oracle.ml", name)


def extract_checker(work, name="retile-kernel"):
    """The extracted readers, check and certifier."""
    extract_program(work, "oracle/extract_check.v", "checker", "oracle/retile_kernel.ml", name)


def checker(work):
    """Without proofs, which takes seconds."""
    work.mkdir(parents=True, exist_ok=True)
    for file in CHECKER:
        copy(file, work)
        good(run("coqc", "-q", "-R", work, "retile", "-w", "none", file, cwd=work), file)
    extract_checker(work)


def build(work):
    start = time.monotonic()
    work.mkdir(parents=True, exist_ok=True)
    for file in ["_CoqProject", *files()]:
        copy(file, work)
    good(run("coq_makefile", "-f", "_CoqProject", "-o", "Makefile.coq", cwd=work), "coq_makefile")
    good(run("make", "-f", "Makefile.coq", cwd=work), "make")
    extract(work)
    extract_checker(work)
    print(f"{len(files())} files compiled in {time.monotonic() - start:.0f} s")


# ---- statements ----

def statements():
    """(number, what it says, held by, names or places)"""
    out = []
    for line in (SOURCE / "statements.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            number, what, holder, where = (cell.strip() for cell in line.split(" | "))
            if holder not in ("kernel", "solver", "enumeration", "paper"):
                sys.exit(f"kernel.py: statements.txt: {number} is held by {holder}")
            out.append((number, what, holder, where.split() if holder == "kernel" else [where]))
    return out


def theorems():
    return [name for _, _, holder, names in statements() if holder == "kernel" for name in names]


def file_of(theorem):
    found = [file for file in files()
             if re.search(rf"^(Theorem|Corollary|Lemma) {theorem}\b", (SOURCE / file).read_text(), re.MULTILINE)]
    if len(found) != 1:
        sys.exit(f"kernel.py: {theorem} stands in {found}")
    return found[0]


def qualified(theorem):
    return Path(file_of(theorem)).stem + "." + theorem


IMPORTS = "From mathcomp Require Import all_ssreflect.\n"


def imports():
    """All files; names of those about Programs, many of which the paper has, too, are written with their file."""
    stems = [Path(file).stem for file in files()]
    paper = stems[:stems.index("program")]
    return IMPORTS + f"From retile Require Import {' '.join(paper)}.\nFrom retile Require {' '.join(stems[len(paper):])}.\n"


# ---- assumptions ----

CLOSED = "Closed under the global context"
UNSOUND = ("Axioms", "Constants/Inductives relying on type-in-type", "Constants/Inductives relying on unsafe (co)fixpoints",
           "Inductives whose positivity is assumed")  # as coqchk says it
FORBIDDEN = re.compile(r"\b(Axioms?|Conjectures?|Parameters?|Admitted|[Aa]dmit|Abort|bypass_check|Definitional\s+UIP)\b"
                       r"|\b(Guard|Positivity|Universe)\s+Checking\b")

# Proved from an axiom, admitted, and proved from what is admitted. Only the first is none of these.
CONTROL = """
Lemma sound : forall n : nat, n = n. Proof. reflexivity. Qed.
Axiom wish : 1 = 0.
Lemma from_axiom : 0 = 1. Proof. exact (eq_sym wish). Qed.
Lemma left_open : 0 = 2. Admitted.
Lemma from_open : 2 = 0. Proof. exact (eq_sym left_open). Qed.
"""


def answers(work, text, names):
    """What Print Assumptions says of each name."""
    mark = "".join(f'Goal True. idtac "@@@ {name}". Abort.\nPrint Assumptions {name}.\n' for name in names)
    done = good(coqc(work, text + mark), "Print Assumptions")
    out = {}
    for block in done.stdout.split("@@@ ")[1:]:
        name, said = block.split("\n", 1)
        out[name] = said.strip()
    return out


def answers_of_closed(work, text, names):
    """The same, in one walk over what the theorems have in common, unless one of them is not closed."""
    together = text + "Definition together :=\n  (" + ",\n   ".join(f"@{name}" for name in names) + ").\n"
    if answers(work, together, ["together"])["together"] == CLOSED:
        return dict.fromkeys(names, CLOSED)
    return answers(work, text, names)


def checked(work, names):
    """What coqchk says of the modules: whether they rest on nothing, checks that were turned off included."""
    done = run("coqchk", "-silent", "-o", "-R", work, "retile", *names, cwd=work)
    text = done.stdout + done.stderr
    return done.returncode == 0 and all(f"* {what}: <none>" in text for what in UNSOUND), text


def without_comments(text):
    while True:
        shorter = re.sub(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", "", text, flags=re.DOTALL)
        if shorter == text:
            return text
        text = shorter


def assumptions(work):
    wrong = []
    for file in files():
        found = FORBIDDEN.search(without_comments((work / file).read_text()))
        if found:
            wrong.append(f"{file} says {found[0]}")
    names = [qualified(name) for name in theorems()]
    said = answers_of_closed(work, imports(), names)
    for name in names:
        if said.get(name) != CLOSED:
            wrong.append(f"{name}: {said.get(name)}")
    control = answers_of_closed(work, CONTROL, ["sound", "from_axiom", "left_open", "from_open"])
    if [name for name, text in control.items() if text != CLOSED] != ["from_axiom", "left_open", "from_open"]:
        wrong.append(f"the control is misjudged: {control}")
    if not FORBIDDEN.search(without_comments(CONTROL)):
        wrong.append("the control's words are overlooked")
    if wrong:
        sys.exit("kernel.py: " + "\n".join(wrong))
    print(f"{len(names)} theorems without assumptions; four controls judged rightly")


def coqchk(work):
    wrong = []
    whole, text = checked(work, modules())
    if not whole:
        wrong.append(f"coqchk: {text}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "control.v").write_text(CONTROL)
        good(run("coqc", "-q", "-R", folder, "control", "-w", "none", "control.v", cwd=folder), "the control")
        done = run("coqchk", "-silent", "-o", "-R", folder, "control", "control.control", cwd=folder)
        if re.search(r"\* Axioms: <none>", done.stdout + done.stderr) or "wish" not in done.stdout + done.stderr:
            wrong.append("coqchk finds no axiom in the control")
    if wrong:
        sys.exit("kernel.py: " + "\n".join(wrong))
    print(f"coqchk has checked {len(files())} files, and finds the axiom of the control")


# ---- document ----

HEAD = """# What the kernel proves

Rocq (Coq {version}) and its library mathcomp check these proofs. The statements hold for all meshes, ranks, sizes and
lengths. Where the paper assumes axes of prime size (Principle 1), the statement says `prime_mesh`.

`scripts/deps --test` installs what is needed, and `ctest -L kernel` does the following:

- It compiles `proofs/rocq/`, which takes two minutes of one processor and 530 MB.
- It asks for the assumptions of each theorem below. There are none: no axiom, and nothing admitted.
- With `scripts/test --all`, `coqchk` checks the compiled files again, without the tactics that made them. On 2026-11-28 that
  took 113 seconds of one processor and 645 MB, for 56 files, and it found no axiom.
- It holds this page against what Coq prints. `ninja kernel_document` writes the page anew.
- It compares definitions and certifier with `spec/`, as the last sections say.

[proofs.md](proofs.md) says what solvers prove. A statement is *held by* the strongest of four: the kernel, solvers,
enumeration up to a bound, or an argument on paper alone.

| No. | Statement | Held by | Where |
|---|---|---|---|
"""

TAIL = """
## What is trusted

- **The kernel of Coq.** Tactics and mathcomp are not trusted: what they make is checked.
- **The definitions.** Those of the paper stand in `proofs/rocq/paper/`, in files named as those of `spec/paper/`. A
  mesh there has axes of two or more, with distinct names. The other words of a statement stand where it is proved,
  such as `flat_steps`, `suffixes`, `stands_at`. The test `kernel.definitions` draws meshes with a type, 100,000 under `--all`. It
  evaluates both sides on types, sequences, costs, weak steps, and steps of Fig. 10 between two assignments. Fig. 10 is
  a relation; `multi_check` decides it, which is proved. About two of five steps can be taken.
- **Extraction**, for these comparisons and for `retile-kernel`, with OCaml and Zarith's integers in place of natural
  numbers. `proofs/rocq/oracle/extract_numbers.v` lists the functions of arithmetic that are exchanged.

## The certifier

`proofs/rocq/program/certify.v` is the certifier of `spec/program/certify.h` in the language of the kernel.
`certify_sound` says what an accepted certificate means. No sequence of Fig. 10 between the ends of the Program costs
less than the lower bound. That holds within the bound (4) and without it, over one axis at a time and over several.
`certify_sound_physical` says more: it also holds where equivalent assignments (Def. 6.2) are exchanged between steps.

`retile-kernel certify FILE` runs it on a certificate in text, with the words and exit codes of `retile-oracle certify`, and
`retile plan --kernel` asks it. `certified_bound` is about the Program that was read: the ends are the tiles that `meaning.v` says.
`certified_optimal` says what `optimal: true` means. The Program is right and keeps the bound, and no sequence costs less.

With `scope several_dims`, which `retile plan` writes unless `--one-dim` is given, `program/along.v` decides. It is the certifier of
`spec/program/certify_along.h`. `certified_bound_along` says what its yes means, and `certified_optimal_along` what `optimal: true`
does. No theorem is about facts and sums. Of these it says `certified: undecided` and `reason: no_theorem`, with exit code 3.

How it is proved ([statements.md](statements.md#steps-along-several-dimensions)): what moves data costs the tile after it. So with
L the new tile and v the smallest one, whatever costs less than the claim is slices and at most three steps. `level_1` says that all
costs L + v where no one step leads to the target, `level_2` L + 2v where no two do. `level_3` says L + 3v, or L + 2v if v = L, where
pairs and shapes forbid what is left. `spec/` asks the latter of shapes of v elements, the kernel of all, which is the same: where
larger ones divide each other dimension by dimension, slices of both to v elements do. That is argued on paper, prime by prime, and
no theorem needs it. That v divides all sizes is looked at, and not proved.

These tests compare the verdicts:

- `kernel.certificates`: every certificate under `tests/spec/oracle/certificates/`.
- `kernel.plans`: random problems, 10,000 under `--all`. A search of its own writes the certificate of the optimum, which both must
  accept, and one of the optimum + 1, which both must refuse.
- `kernel.adversarial`: certificates with numbers changed, lines left out or doubled, detours, and false claims with
  all that can be said for them. The label `slow` runs a million of them.
- `kernel.planner`: what `retile plan --one-dim --certificate` writes, of 10,000 random problems under the label `slow`.
- `kernel.certify`: texts, as both programs read and certify them. They are the certificates of the tree, damaged ones, and
  forged ones with Programs that are right, each also with a claim of `scope several_dims`; 250,000 under the label `slow`. Of
  50,018 on 2026-11-28, of which 20,052 with that scope were certified or not, no answer differed. Of
  150,017 without these claims on 2026-11-28 no answer differed: 38,542
  certified, 66,895 not, 2,753 without a theorem, 2,534 wrong, 330 that claim nothing and 38,963 refused.
- `kernel.certify_mutants`: mistakes in `program/certificate.v`, which reads the lines. Each shows in an answer.
- `kernel.along_plans`: what `retile plan` writes by default, and the same with more claimed.
- `kernel.along_mutants`: mistakes in `program/along.v`. Each breaks the proof, and shows in an answer.

The kernel may take at most 20 times the time of `spec/`. It took about 4 times. It has no limits on its work, so
nothing is compared where `spec/` decides nothing.

`kernel.mutants` plants nine mistakes in the certifier. Each of them breaks the proof, and eight of them also show in a
verdict on an adversarial certificate.

## The checker of Programs

`program/program.v` says what a Program is and `program/meaning.v` what its steps do, in the order and the words of
[program.md](../reference/program.md). These two files are to be believed, and can be tried: `Compute` evaluates tilings,
iotas, pieces and tiles, as `program/examples.v` does.

`program/check.v` decides whether a Program is right. `check_sound_and_complete` says that it answers `right` exactly
when every step applies, every claim holds and every device ends with its box. With addends an element is a list of
terms, and devices end with what the four conditions of the page demand. The first wrong step, its reason, height, cost
and bound are those of the definition, too. This holds for all numbers of devices, ranks and sizes, and for every
Program that `known_program` accepts: devices and dimensions exist, and rows have an entry for each. The reader makes no
others, which the program tests each time.

`retile-kernel check FILE` runs the extracted check, and `--batch` judges many texts. It shares no code with `src/` or
`spec/`. `retile check --kernel` asks it as well, says so, and fails where the two differ.

It has all of versions 1 and 2. More than 65,536 devices, and what takes too long or too much memory, it leaves
undecided. It gives no witness, and reads the text form only.

These tests compare it with `spec/`:

- `kernel.programs`: every text of Programs in the tree, spoiled ones, and made-up ones of any steps, of which every reason
  must occur. Under the label `slow` a million and a half are drawn. On 2026-11-28 there were 1,501,070: 75,495 right, 532,159 wrong
  with the same step, reason and figures, 892,781 refused by all, and 635 undecided. No answer differed. `spec/` took 84 s, the kernel
  294 s, and no process more than 68 MiB. Runs before it found a view that the kernel took and two texts that `spec/` read falsely.
- `kernel.program_mutants` plants mistakes in `check.v`. Each breaks the proof, and shows in a verdict.

Where blocks of elements move whole, the check traces one element of each. Blocks are as long as the gcd of all that steps since the
last `map` add to indices along a dimension, divide them by or compare them with. `held_blocks` says that no verdict changes. On
2026-11-28 both programs were timed on 20 plans of ten problems, processor time and the least of three runs:

| Mesh | Problem | `spec/`, ms | kernel, ms | Ratio | Before, ms |
|---|---|---|---|---|---|
| `x:4` | `[61{x}244, 61, 244]` to `[244, 61, 61{x}244]` | 2 | 3 | 1.7 | 2,127 |
| `x:4,y:4` | `[61{x}244, 61, 61{y}244]` to `[61{y}244, 61, 61{x}244]` | 2 | 3 | 1.9 | 1,542 |
| `x:2,y:3,z:5` | `[15{x}30, 10{y}30, 6{z}30]` to `[6{z}30, 15{x}30, 10{y}30]` | 2 | 6 | 2.9 | 55 |
| `x:16` | `[256{x}4096, 4096]` to `[4096, 256{x}4096]` | 2 | 4 | 1.8 | 7,425 |
| `a:4,b:8,c:4` | `[64{a}256, 32{b}256, 64{c}256]` to `[32{b}256, 64{c}256, 64{a}256]` | 2 | 6 | 3.2 | 7,538 |
| `a:4,b:4,c:4,d:4` | `[4{a}16, 4{b}16, 4{c}16, 4{d}16]` to `[4{d}16, 4{c}16, 4{b}16, 4{a}16]` | 2 | 8 | 4.3 | 51 |
| `a:16,b:16` | `[64{a}1024, 64{b}1024]` to `[64{b}1024, 64{a}1024]` | 2 | 7 | 3.7 | 512 |
| `a:2,b:2,c:2,d:2,e:2` | `[32{a,b,c,d,e}1024, 1024]` to `[128{e,d,c}1024, 256{a,b}1024]` | 2 | 4 | 2.2 | 825 |
| `a:3,b:5,c:7` | `[35{a}105, 21{b}105, 15{c}105]` to `[15{c}105, 35{a}105, 21{b}105]` | 5 | 11 | 2.3 | 2,440 |
| `x:2,y:2,z:2` | `[1{x,y,z}8, 30, 30]` to `[8, 15{x}30, 15{y}30]` | 4 | 4 | 1.0 | 21 |

The table has the plan with steps along several dimensions; both programs take 2 ms to start. Plans of `--one-dim` took at most 4.2
times the time of `spec/`. Of 2,048 devices that gather a million elements each `spec/` decides nothing in one plan, where the kernel
takes 4.2 s. The plan along one dimension at a time takes `spec/` 2.4 s and the kernel 1.4 s.

Trusted beside the kernel of Coq are extraction, as above, and two functions of `extract_check.v`, `iota` and `map`
without a deep stack. So is what opens files and prints, `retile_kernel.ml`. The readers, `program/reader.v` and
`program/certificate.v`, are written in Rocq. `program_reads` says what they make of a Program of version 1 whose layouts are in digits
and whose tables are rows. Of the rest of the text form nothing is proved, nor of texts that no printer writes.

## A sceptic's questions

Somebody who knows the theorems and [program.md](../reference/program.md) alone asks whether `right` could be vacuous, or forget a rule.
`theorems/sceptic.v` has 20 such questions, and Coq computes the answer to each, with the step and the reason of what is wrong.

| No. | Question | Answer |
|---|---|---|
| 1 | Is a Program without steps right where nothing is asked, and wrong elsewhere? | yes |
| 2 | Does it matter in which order devices stand in a row? | yes: `not_a_box` |
| 3, 4 | Is one device that holds the wrong half noticed, and one element from the wrong place? | yes |
| 5 | May a device be missing in a step, or stand there twice? | no: `groups`, `bijection` |
| 6 | Is a step wrong although the end is as it should be? | yes |
| 7 | Are false claims by `tile`, `map` and `at` noticed where the end is right? | yes |
| 8 | May a tile be cut where it does not divide? | only with `piece` |
| 9 | Does an exchange write every element once, and inside the tile? | it must: `transfers` |
| 10, 11 | Do dealt tiles and halos differ from blocks? | yes |
| 12 | Does a device without a position hold nothing? | yes |
| 13 | Does `T` of an iota transpose? | yes |
| 14 | Is an addend that is counted twice wrong in a sum, and right in a maximum? | yes |
| 15 | Is an addend missed that nobody added? | yes |
| 16 | May a step add in another way than the Program? | no: `addends` |
| 17 | May the arrays of a stack change places? | no |
| 18 | Do height, cost and bound count a gather, and nothing for slices and rows of one device? | yes |
| 19 | Is a false bound certified, or a true one refused? Are there sequences at all? | no, no; yes |
| 20 | Does a view keep the bytes of a tile? | up to 16 elements, where WF-VIEW holds |

## The definitions, read aloud

`check_sound_and_complete` and `check_figures` rest on `program.v` and `meaning.v`:

| Definition | It says |
|---|---|
| `known_program` | There is a device. Ends and claims by `map` have the rank of `from`. Dimensions are below the rank, devices below D, and lists of tiles have a row for each device. |
| `rows_of`, `stage_entry` | Entry f of a stage is entry f, in row-major order, of the transposed array that stands to its right; the last one has 0, 1, 2 and so on. |
| `tile_number`, `position` | A device's tile along a dimension is the number in its digits, the first one the fastest. With an order, a device has the digits of the place where it stands there. |
| `cut_tile`, `with_halo` | Which indices a tile has: blocks, balanced, listed, dealt out, or section by section. A halo adds what exists on both sides, to tiles that are not empty. |
| `holding_of`, `tiles_of` | A device holds the product of its sides. Without a position it holds nothing. |
| `becomes`, `in_view` | A dimension becomes as many of the view as multiply up to it, one at least. A tile has there the digits of its indices. |
| `piece`, `bounds` | Piece q of n: equal, of an extent with a rest at the end, or balanced. |
| `joined`, `locate` | Tiles one behind the other, empty ones passed over. |
| `piece_along`, `part_along`, `side_by_side` | The same with several dimensions at once: the part along a dimension is the number in the digits of the position that belong to it. |
| `added`, `embedded` | Tiles of one shape, element by element; a tile as a piece of a larger one with zeros around it. |
| `after` | What a device holds after a step, from what all held before. |
| `good_groups`, `good_permutation`, `divisible`, `not_ragged`, `good_transfers`, `adds_alike` | What must hold so that a step can be taken, in the order of the reasons. |
| `good_tile_claim`, `good_map_claim`, `box_at` | The largest extents are those claimed; devices hold what `map` says, and from the offset of `at` on one box in order. |
| `passes`, `goes_to`, `stops_at`, `blames` | All conditions of a step hold; of the first k steps; step k is the first of which one fails, and this is the first one. |
| `whole_right` | All steps pass, and in the end every device holds the shape and the elements that `to` says. |
| `sums_agree` | The shapes are those of the layout; all terms are of the index that lies there; replicas hold the same terms; of every tile, each addend is there once, or at least once for `max` and `min`, or in its array of a stack. |
| `sums_right`, `addition_of` | The same with terms in place of elements, where an end, a claim or a step adds; the first of these says how. |
| `right` | One of both, by `addition_of`. |
| `price`, `moves`, `cost` | A gather and an exchange cost the largest new tile, an alltoall, a permutation and a reducescatter the largest old one, an allreduce two of it; an exchange that adds the most that is written to one device. What moves nothing costs nothing. |
| `largest`, `height`, `bound` | The most elements of a device; the largest after any step, ends included; the larger of the ends. |

`certified_bound` and `certified_optimal` rest on these as well:

| Definition | It says |
|---|---|
| `assignment`, `is_assignment` | Devices stand on the points of a mesh, one each; the type is well-formed over that mesh. |
| `multi_step` | A step of Fig. 10 over several axes of one dimension, or a permutation of tiles. |
| `holds`, `box_of` | Device d has the shape and the elements of the tile at its base offset, and these are what the Program's end says. |
| `cost_of` | Fig. 11: an allgather its new tile, an alltoall and an allpermute the old one, a slice nothing. |
| `even_tiling`, `ends_of` | An end as the certifier takes it: over all devices, blocks that are all alike, without order, halo and addends. |
| `certify_claims` | Certified, where the certifier accepts the lines; nothing where a fact or a sum is claimed. |
| `optimality_of`, `in_scope` | Optimal: within the bound, at the cost of the lower bound, and by steps of the scope alone. |

`certified_bound_along` and `certified_optimal_along` rest on these:

| Definition | It says |
|---|---|
| `tilemap`, `balanced` | The shape of all tiles, and by device the number of its tile in each dimension. Each tile is on as many devices. |
| `along_step` | From such a map to another one: a slice along one dimension, a permutation of tiles, or the two below. |
| `gather_along` | An allgather by n_i along each dimension i, 1 where none: tile t becomes the one with the numbers t_i div n_i. |
| `moved`, `off_size`, `onto_size` | A digit that an alltoall moves: off dimension i, onto dimension j, of size n. What the digits cover of a dimension that they leave, or enter. |
| `alltoall_along` | A dimension loses the digits at its end. The number in those that enter is put behind what stands there, the slowest first. |
| `can_move`, `after_moving` | No dimension both loses and gains; there are as many tiles, and elements to cut. The shape afterwards. |
| `along_op` | What it costs, by Fig. 11: an allgather its new tile, an alltoall and a permutation theirs, a slice nothing. A step with all n_i = 1 does nothing and is priced like the others, which makes no sequence cheaper. |
| `places` | Device d has the shape and the elements of its tile in the map, and these are what the Program's end says. |
| `boxes_of` | An end as the certifier takes it: over all devices, in any order, tiles of one box each, all alike. |
| `lies` | As `places`, of what devices hold after some steps. `gathers_along` and `alltoalls_along` are about it. |
| `moved_digits` | The digits of an `alltoall_dims`: off the dimension in `concats`, onto the one in `splits`, of the size in `counts`. |

`program_reads` rests on `print`, `token_bytes` and `printable`: how a Program is written, with a blank behind each token, and of which
Programs this is said. `good_header` and `good_step` have their rules.

What a merged step is: `merged_allgathers` compares one `allgather_dims` with allgathers of rows of several devices that leave tiles of
the same shapes, and `merged_alltoalls` one `alltoall_dims` with any alltoalls of such rows.

## Open goals

- **The readers.** The goal is `forall P, printable P -> read (print P) = Programs [:: ([::], P)]`, with a printer of the text form and a
  predicate for its rules. Every `certified: true` and `right: true` depends on it, in that the verdict is about the Program that was read.
  `program_reads` proves it for a part of version 1. It has `devices D`, and ends and claims by `map` in digits such as `2{1:4}8`. Steps
  are `dynslice`, `allgather`, `alltoall` and `allpermute` with rows and pairs of devices, and claims `tile`, `map` and `at`. Open of
  version 1: iotas, where `table_1` and `table_2` must read `<=` and `T(..)` back, then axes in place of digits, ends by lists, and
  `exchange`. Of version 2 nothing was tried. Tactics that compute may unfold `two_63` to a number in unary. So the limit of numbers is
  a variable where steps are taken apart, and words are compared by lemmas of their own.
- **That a view keeps the bytes of a tile.** The goal, with `a := tiles_of T d` and `b := tiles_of (Viewed v T) d`:

  ```coq
  good_view v T -> d < D -> f < prodn (shape a) ->
  flat v (elem b (unflat (shape b) f)) = flat (global_of T) (elem a (unflat (shape a) f))
  ```

  Computed for one dimension of up to 16 elements, cut evenly
  or dealt out, and all views of two and three dimensions (question 20). Tried on paper: the view's dimensions fall
  into those above a round, those that count blocks, and those inside a block. A proof for all sizes has to carry this split through
  `becomes`. Depends on it: that a verdict in a view is one about the array in memory.
- **That extents may be divided.** `right (scaled g P) <-> right P`, where `scaled g` multiplies all extents, offsets and boxes along
  dimension i by g_i. `spec/` divides by the gcd of the extents in version 1, and rests on prose there. The kernel does not: it
  looks at one element of each block, which `held_blocks` and `box_blocks` prove to be enough. Sums have no such theorem. In them, and
  where indices are dealt out or listed, it looks at every element.
- **A merged step in a Program.** `merged_allgathers` compares costs of steps from one state. That replacing them in a Program keeps
  `right` needs that `after` maps equal tiles to equal tiles; not tried.
- **Lemmas 4.6 and 4.7 over several axes** (E27, E28), for strong sequences. Steps of Sec. 7.1 that
  form a peak have a replacement within the bound of the shape D P A P G, each step optional. An edge has one of the
  shape P A P G G, or its mirror image. Not tried in Rocq; solvers prove the cases. Nothing here depends on it, as
  `lemma_6_5_multi` and `S12_multi` say what costs and certificates need.
- **S13 (d) and (f)**, upper bounds of OPT and what the planner searches. Not tried in Rocq; enumeration holds them. No
  certificate depends on them.
- **That a Program is a sequence of `along_step`.** `gathers_along`, `alltoalls_along`, `gathers_one`, `alltoalls_one`, `slices_one`,
  `permutes_source` and `permutes_pairs` say it of one step, where devices hold balanced tile maps before and after it. Open, for the
  last kind of step in the scope:

  ```coq
  let m := Dynslice_part Equal j n t in known D (size g) m -> divisible D (size g) S m -> 1 < n ->
  balanced g s -> balanced g s' -> lies s S -> lies s' (after the_one S m) -> along_step g (along_slice j n) s s'
  ```

  Then, for a sequence of such steps, that its cost is that of the Program. Not tried. A Program that is right may pass states that are
  no tile maps, such as a gather in another order that a later step repairs. No theorem counts these.
- **Certificates of sums** (PS1, PS5), **facts**, and **U1 to U3**. Not tried in Rocq; solvers prove parts of them.
- **Merging** of steps over the same dimensions (Sec. 7.1, E21). Not tried in Rocq; solvers prove it.
- **Parts of S4 and S6** in [statements.md](statements.md): that only sequences with the fewest alltoalls need testing,
  and min(L1, L2) in place of V. Not tried in Rocq.
- **S7, S8, S9**: closed forms of W, of gathers, of alltoalls. Not tried in Rocq; enumeration holds them. No certificate
  depends on them.
- **S10, S11 and the sharpness of S6** are single examples. Computation holds them.
- **That a complete certificate is accepted.** `certify_sound` says what a yes means and nothing of a no. The test
  `kernel.plans` sees that optima are accepted.
"""


def text_of(name, said):
    """The statement of a theorem as Coq prints it."""
    body = said.split("\n", 1)[1] if said.startswith((name, qualified(name))) and "\n" in said else said
    body = re.sub(r"^\s*: ?", "", body.rstrip(), count=1)
    return body.replace("\n       ", "\n")


def document(work):
    names = theorems()
    ask = "Set Printing Width 110.\n" + "".join(f'Goal True. idtac "@@@ {n}". Abort.\nCheck {qualified(n)}.\n' for n in names)
    done = good(coqc(work, imports() + "Unset Printing Implicit Defensive.\n" + ask), "Check")
    said = {}
    for block in done.stdout.split("@@@ ")[1:]:
        name, text = block.split("\n", 1)
        said[name] = text_of(name, text)
    version = re.search(r"version (\S+)", good(run("coqc", "--version", cwd=work), "coqc").stdout)[1]
    out = [HEAD.format(version=version)]
    for number, what, holder, where in statements():
        cells = ", ".join(f"`{name}`" for name in where) if holder == "kernel" else where[0]
        if holder == "kernel":
            cells += f" in `proofs/rocq/{file_of(where[0])}`"
            others = sorted({file_of(name) for name in where} - {file_of(where[0])})
            cells += "".join(f", `proofs/rocq/{file}`" for file in others)
        out.append(f"| {number} | {what} | {holder} | {cells} |\n")
    out.append("\n## The statements as Coq prints them\n\nA theorem of a section is printed with all that it depends on.\n")
    for name in names:
        out.append(f"\n`{name}`\n\n```coq\n{said[name]}\n```\n")
    out.append(TAIL)
    return "".join(out)


def says(path, text):
    return path.read_text() == text


def hold_document(work, action, path):
    text = document(work)
    if action == "write":
        path.write_text(text)
        return
    if not says(path, text):
        sys.exit(f"kernel.py: {path} says anything else than Coq does; write it anew")
    with tempfile.TemporaryDirectory() as folder:  # controls: a statement or a row that differs
        for old, new in (("2 * cost_of", "3 * cost_of"), ("| kernel |", "| paper |"), ("prime_mesh H ->", "wf_mesh H ->")):
            damaged = Path(folder) / "kernel.md"
            damaged.write_text(text.replace(old, new, 1))
            if old not in text or says(damaged, text):
                sys.exit(f"kernel.py: the control with {new} is not noticed")
    print(f"{len(theorems())} theorems as the document prints them")


# ---- comparison with spec/ ----

def asked(work, queries, words, oracle="kernel_oracle"):
    """(counts of spec/, seconds of spec/, seconds of the kernel, lines that differ)"""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        asks, spec, kernel = (Path(folder) / name for name in ("queries", "spec", "kernel"))
        done = good(run(queries, *words, asks, spec, cwd=work, limit=False), "queries")
        counts = {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}
        with asks.open() as stdin, kernel.open("w") as stdout:
            said = run(work / oracle, cwd=work, limit=False, stdin=stdin, stdout=stdout)
        if said.returncode != 0:
            sys.exit(f"kernel.py: kernel_oracle failed: {said.stderr}")
        seconds = float(said.stderr.split()[-1])
        differ = []
        with asks.open() as a, spec.open() as s, kernel.open() as k:
            lines = 0
            for question, left, right in zip(a, s, k):
                lines += 1
                if left != right and len(differ) < 5:
                    differ.append(f"question {question}spec/  {left}kernel {right}")
                elif left != right:
                    differ.append("")
            if lines == 0 or any(file.readline() for file in (a, s, k)):
                differ.append("not as many answers as questions")
        return counts, counts.pop("spec_seconds"), seconds, differ


def report(parts):
    total, spec, kernel = {}, 0.0, 0.0
    for counts, spec_seconds, kernel_seconds, differ in parts:
        if differ:
            sys.exit(f"kernel.py: {len(differ)} answers differ\n" + "\n".join(line for line in differ if line))
        for what, count in counts.items():
            total[what] = total.get(what, 0) + int(count)
        spec, kernel = spec + spec_seconds, kernel + kernel_seconds
    for what, count in sorted(total.items()):
        print(f"{what:24} {count:9}")
    if spec > 0.05:  # below that the clocks say nothing
        print(f"certifier: spec/ {spec:.2f} s, kernel {kernel:.2f} s, {kernel / spec:.1f} times")
        if kernel > SLOWER * spec:
            sys.exit(f"kernel.py: the kernel takes more than {SLOWER} times as long")
    return total


def compare(work, queries, mode, seed, count, parts):
    total = report(asked(work, queries, [mode, seed + part, count]) for part in range(parts))
    fig10 = [f"fig10_{kind}{said}" for kind in ("allgather", "dynslice", "alltoall", "allpermute") for said in ("", "_refused")]
    several = [f"fig10_several_axes_{kind}" for kind in ("allgather", "dynslice", "alltoall")]
    least = {"definitions": ("types", "sequences", "sequences_refused", "weak_steps", "weak_steps_refused", "normal_forms", "other_labels",
                             *fig10, *several),
             "plans": ("optimum_certified", "above_exact"), "adversarial": ("line_certified", "line_exact", "line_open", "line_potential")}
    for what in least[mode]:
        if total.get(what, 0) == 0:
            sys.exit(f"kernel.py: no {what}")


def certificates(work, queries, paths):
    total = report([asked(work, queries, ["certificates", *paths])])
    print(f"{len(paths)} files")
    if sum(total.values()) == 0:
        sys.exit("kernel.py: no certificate in these files")


def draw_problem(dice):
    mesh = dice.choice(["a:2,b:2,c:61", "a:4,b:4,c:4", "a:6,b:4,c:5", "a:8,b:9", "a:2,b:3,c:5,d:7", "a:2,b:2,c:2,d:2", "a:6,b:6"])
    axes = [(axis.split(":")[0], int(axis.split(":")[1])) for axis in mesh.split(",")]
    rank = dice.randint(1, 3)
    shape = [dice.randint(1, 3) for _ in range(rank)]
    for _, size in axes:
        for i in range(rank):
            if dice.random() < 0.6:
                shape[i] *= size

    def draw_type():
        tile, used = list(shape), [[] for _ in range(rank)]
        for name, size in dice.sample(axes, len(axes)):
            i = dice.randrange(rank + 1)
            if i < rank and tile[i] % size == 0:
                tile[i] //= size
                used[i].append(name)
        return "[" + ", ".join(f"{c}{{{','.join(xs)}}}{s}" for c, xs, s in zip(tile, used, shape)) + "]"

    return mesh, draw_type(), draw_type()


def planner(work, queries, retile, count):
    dice, parts, left_out = random.Random(1), [], 0
    with tempfile.TemporaryDirectory(dir=work) as folder:
        batch = []
        for k in range(count):
            mesh, one, other = draw_problem(dice)
            path = Path(folder) / f"{k}.txt"
            done = run(retile, "plan", "--one-dim", "--mesh", mesh, one, other, "--certificate", path, cwd=work, limit=False)
            if done.returncode == 3:  # too large
                left_out += 1
            else:
                good(done, f"retile plan --mesh {mesh} '{one}' '{other}'")
                batch.append(path)
            if batch and (len(batch) == 200 or k + 1 == count):
                parts.append(asked(work, queries, ["certificates", *batch]))
                for done_with in batch:
                    done_with.unlink()
                batch = []
    total = report(parts)
    print(f"{count} plans, {left_out} without a certificate")
    if total.get("file_certified", 0) < 0.9 * count:
        sys.exit("kernel.py: too few certificates")


# ---- Programs ----

FIELDS = ("right", "within_bound", "height", "bound", "cost", "steps", "first_wrong_step", "reason")
TOKEN = re.compile(rb"\d+|[A-Za-z_][A-Za-z0-9_.-]*|<=|\s+|.", re.DOTALL)
WORDS = (b"0 1 2 3 4 6 8 12 [ ] { } , ( ) T <= = ~ @ dim groups piece=balanced piece=2 tile map at shapes source pairs # \" .. <1,1> + "
         b"view sum{x} max{y} stack{x} add=max reducescatter allreduce unreduce embed dims=[0,1] counts=[2,2] splits=[0,0] order=[1,0] 9223372036854775807 9223372036854775808 x y /1 /2 . : \xc2\x85 \r").split(b" ") + [b"\n", b"\r\n", b"\t", b" "]


def texts_of_tree():
    """Every text of Programs in the tree: examples of the page, the corpus, inputs of the fuzzer, edges of the text form."""
    out = []
    for line in (TREE / "corpus/programs.jsonl").read_text().splitlines():
        text = json.loads(line).get("text", "")
        if text.startswith("retile.program/"):
            out.append(text.encode())
    page = (TREE / "docs/reference/program.md").read_text()
    out += [block.encode() for block in re.findall(r"```retile\.program(?:-refused)?\n(.*?)```", page, re.DOTALL)]
    for folder in ("check", "program_text", "layouts"):
        out += [file.read_bytes() for file in sorted((TREE / "fuzz/corpus" / folder).iterdir())]
    edges = (SOURCE / "oracle/edges.txt").read_text().splitlines()
    return out + [ast.literal_eval(line) for line in edges if not line.startswith("#")]


def spoiled(dice, text):
    """The text with one to three changes: mostly another number."""
    tokens = TOKEN.findall(text)
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        if not tokens:
            break
        k, kind = dice.randrange(len(tokens)), dice.random()
        numbers = [i for i, token in enumerate(tokens) if token.isdigit()]
        if kind < 0.6 and numbers:
            i = dice.choice(numbers)
            n = int(tokens[i])
            tokens[i] = str(max(0, dice.choice([n + 1, n - 1, 2 * n, n // 2, dice.randrange(8)]))).encode()
        elif kind < 0.68:
            del tokens[k]
        elif kind < 0.74:
            tokens.insert(k, tokens[k])
        elif kind < 0.8:
            other = dice.randrange(len(tokens))
            tokens[k], tokens[other] = tokens[other], tokens[k]
        elif kind < 0.88:
            tokens.insert(k, dice.choice(WORDS))
        else:
            lines = b"".join(tokens).split(b"\n")
            i = dice.randrange(len(lines))
            if dice.random() < 0.5:
                del lines[i]
            else:
                lines.insert(i, dice.choice(lines))
            tokens = TOKEN.findall(b"\n".join(lines))
    out = b"".join(tokens)
    return out.replace(b"program/1", b"program/2") if dice.random() < 0.15 else out


def made_up(dice):
    """A Program of any steps of version 2 between any tilings, mostly wrong at its end."""
    mesh = dice.choice([(("x", 2), ("y", 3)), (("x", 2), ("y", 2)), (("x", 4),), (("x", 2), ("y", 2), ("z", 2)), (("x", 3),)])
    devices = 1
    for _, size in mesh:
        devices *= size
    shape = [dice.choice([4, 6, 8, 12]) for _ in range(dice.choice([1, 1, 2, 2, 3]))]
    way = dice.choice(["", "", "sum", "sum", "max", "min", "stack"])
    added = [axis for axis in mesh if way and dice.random() < 0.5]

    def tiling(prefix):
        held = [[] for _ in shape]
        for axis in dice.sample(mesh, len(mesh)):
            if axis not in prefix and dice.random() < 0.6:
                dice.choice(held).append(axis)
        dims = []
        for n, axes in zip(shape, held):
            count = 1
            for _, size in axes:
                count *= size
            if not axes:
                dims.append(str(n))
                continue
            mark, c = dice.choice([("", -(-n // count)), ("=", -(-n // count)), ("@", dice.randint(1, 3)), ("~", -(-n // count) + dice.randint(0, 1))])
            dims.append(f"{c}{mark}{{{','.join(name for name, _ in axes)}}}{n}")
        return (f"{way}{{{','.join(name for name, _ in prefix)}}}" if prefix else "") + f"[{', '.join(dims)}]"

    def groups():
        order = list(range(devices))
        if dice.random() < 0.5:
            dice.shuffle(order)
        n = dice.choice([k for k in range(1, devices + 1) if devices % k == 0])
        return n, "[" + ",".join(str(order[k:k + n]).replace(" ", "") for k in range(0, devices, n)) + "]"

    def step():
        n, rows = groups()
        i, j = dice.randrange(len(shape)), dice.randrange(len(shape))
        piece = dice.choice(["", "", f" piece={dice.randint(1, 4)}", " piece=balanced"])
        add = f" add={way}" if way in ("max", "min") and dice.random() < 0.8 else ""
        first = dice.choice([k for k in range(1, n + 1) if n % k == 0])
        plain = [f"allgather dim={i} groups={rows}", f"dynslice dim={i} groups={rows}{piece}", f"alltoall split={i} concat={j} groups={rows}{piece}",
                 f"allpermute source={str(dice.sample(range(devices), devices)).replace(' ', '')}",
                 f"allgather_dims dims=[{i},{j}] counts=[{first},{n // first}] groups={rows}",
                 f"alltoall_dims splits=[{i},{i}] concats=[{j},{i}] counts=[{first},{n // first}] groups={rows}"]
        sums = [f"reducescatter dim={i} groups={rows}{piece}{add}", f"allreduce groups={rows}{add}", f"unreduce groups={rows}{add}",
                f"embed dim={i} groups={rows}{add}"]
        return dice.choice(plain + sums if way else plain)

    lines = ["retile.program/2", "mesh " + ",".join(f"{name}:{size}" for name, size in mesh), f"from {tiling(added)}"]
    ends = added if way == "stack" else [axis for axis in mesh if way and dice.random() < 0.3]
    lines.append(f"to {tiling(ends)}")
    if dice.random() < 0.2:
        lines.append("view [" + ",".join(str(k) for n in shape for k in dice.choice([[n], [2, n // 2], [n // 2, 2]])) + "]")
    lines += [step() for _ in range(dice.randint(0, 3))]
    if dice.random() < 0.1:
        lines[-1] += f" map={tiling(ends)}"
    return ("\n".join(lines) + "\n").encode()


def judged(words, texts, work, fields_of=FIELDS):
    """(exit code, fields) for each text, and what standard error says."""
    with tempfile.TemporaryFile(dir=work) as asks:
        for text in texts:
            asks.write(b"%d\n%b" % (len(text), text))
        asks.seek(0)
        done = subprocess.run([str(word) for word in words], stdin=asks, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        if len(texts) > 1:  # in which half?
            for half in (texts[:len(texts) // 2], texts[len(texts) // 2:]):
                judged(words, half, work, fields_of)
        sys.exit(f"kernel.py: {words[0]} ended with {done.returncode}: {done.stderr.decode()}\n{texts[0].decode('latin1')}")
    out = []
    for answer in re.findall(r"(.*?)exit: (\d)\n\n", done.stdout.decode("latin1"), re.DOTALL):
        fields = [line for line in answer[0].splitlines() if line.split(":")[0] in fields_of]
        out.append((int(answer[1]), fields if answer[1] != "2" else []))
    if len(out) != len(texts):
        sys.exit(f"kernel.py: {words[0]} gave {len(out)} answers to {len(texts)} texts")
    return out, done.stderr.decode()


def disagreements(spec, kernel):
    """(where both decide and differ, how often each answer was given)"""
    differ, total = [], {}
    for k, (one, other) in enumerate(zip(spec, kernel)):
        undecided = [field for field in one[1] + other[1] if field == "right: undecided"]
        what = "undecided" if undecided else "refused" if one[0] == 2 else "right" if one[0] == 0 else one[1][-1]
        total[what] = total.get(what, 0) + 1
        if one != other and not undecided:
            differ.append(k)
    return differ, total


REASONS = ("groups", "bijection", "indivisible", "ragged", "transfers", "tile_claim", "map_claim", "not_a_box", "replicas",
           "addends", "end")


def drawn(seed, count):
    """The texts of the tree and drawn ones, one after the other."""
    dice, base = random.Random(seed), texts_of_tree()
    # few texts of the tree have what is looked for here: every fourth is one of these
    rare = [text for text in base if re.search(rb"(sum|max|min|stack)\{|_dims |view ", text)]
    yield from base
    for _ in range(count):
        yield spoiled(dice, dice.choice(rare if dice.random() < 0.25 else base))
    for _ in range(count // 2):
        yield made_up(dice)


def in_parts(texts, size=10000):
    """Lists of so many texts, so that a million take the memory of a few."""
    texts = iter(texts)
    while part := list(itertools.islice(texts, size)):
        yield part


def compare_programs(work, judge, texts):
    """How often each answer was given, and the seconds of spec/ and of the kernel."""
    spec, clock = judged([judge, "spec"], texts, work)
    start = time.monotonic()
    kernel, _ = judged([work / "retile-kernel", "check", "--seconds", "0.25", "--batch"], texts, work)
    took = time.monotonic() - start
    src, _ = judged([judge, "src"], texts, work)
    # src/ alone refuses tiles in several boxes, and views, beside an order or fewer positions than devices (docs/reference/program.md)
    several = re.compile(rb"@\s*\{|\+|view")
    for k in disagreements(src, kernel)[0]:
        if src[k][0] == 2 and several.search(texts[k]) and re.search(rb"order|devices", texts[k]):
            continue
        sys.exit(f"kernel.py: src/ and the kernel differ\n{texts[k].decode('latin1')}\nsrc/   {src[k]}\nkernel {kernel[k]}")
    differ, total = disagreements(spec, kernel)
    for k in differ[:3]:
        print(f"{texts[k].decode('latin1')}\nspec/  {spec[k]}\nkernel {kernel[k]}")
    if differ:
        sys.exit(f"kernel.py: {len(differ)} verdicts differ")
    return total, float(clock.split()[-1]), took


def programs(work, judge, seed, count):
    total, spec_took, kernel_took, texts = collections.Counter(), 0.0, 0.0, 0
    for part in in_parts(drawn(seed, count)):
        answers_, spec_seconds, kernel_seconds = compare_programs(work, judge, part)
        total.update(answers_)
        spec_took, kernel_took, texts = spec_took + spec_seconds, kernel_took + kernel_seconds, texts + len(part)
    for what, number in sorted(total.items()):
        print(f"{what:24} {number:9}")
    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) >> 10
    print(f"{texts} texts: spec/ {spec_took:.1f} s, retile-kernel {kernel_took:.1f} s; no process took more than {most} MiB")
    for what in ("right", "refused", *(f"reason: {reason}" for reason in REASONS)):
        if not total.get(what):
            sys.exit(f"kernel.py: no text is {what}")
    if total.get("undecided", 0) > texts // 10:
        sys.exit("kernel.py: too much is undecided")


# ---- certificates in text ----

CERTIFIED = (*FIELDS, "certified", "devices", "global", "from", "to", "scope", "lower_bound", "optimal")
FACT = re.compile(rb"^\s*fact\b", re.MULTILINE)
SEVERAL = re.compile(rb"^\s*scope\b", re.MULTILINE)


def silent(text):
    """Whether the text may claim something that no theorem of the kernel is about."""
    return FACT.search(text) or b"retile.program/2" in text and not SEVERAL.search(text)


CLAIMS = (b"lower_bound 4", b"lower_bound 0", b"potential [4] 0 4", b"potential [2,2] 4 4", b"potential [0] 0 4", b"refuted [2] []",
          b"refuted [2,2] [[0,1,2]]", b"refuted [2] [[0,1]]", b"scope several_dims", b"scope one_dim", b"addends [4] 2 4", b"addends [4] 0 4",
          b"fact end [2]", b"fact", b"end", b"end 4", b"# a comment", b"retile.program/1", b"from [4]", b"allpermute pairs=[]", b"view [2,2]")


def damaged(dice, text):
    """The text with one to three changes: a line too many or elsewhere, or one left out, or what `spoiled` does to any text."""
    if dice.random() < 0.4:
        return spoiled(dice, text)
    lines = text.split(b"\n")
    for _ in range(dice.choice([1, 1, 2, 3])):
        i, kind = dice.randrange(len(lines)), dice.random()
        if kind < 0.5:
            lines.insert(i, dice.choice(CLAIMS))
        elif kind < 0.7:
            lines.insert(i, dice.choice(lines))
        elif len(lines) > 1:
            line = lines.pop(i)
            if kind < 0.85:
                lines.insert(dice.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def forged(work, queries, seed, count):
    """The texts that queries.cpp forges."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        texts = Path(folder) / "texts"
        good(run(queries, "texts", seed, count, texts, Path(folder) / "none", cwd=work, limit=False), "queries")
        with texts.open("rb") as file:
            while size := file.readline():
                yield file.read(int(size))


def widened(dice, text):
    """The Program with a claim among steps along several dimensions: around the one that it has, or any."""
    bound = int((re.search(rb"lower_bound (\d+)", text) or [b"", b"4"])[1])
    lines = [line for line in text.split(b"\n") if line and not re.match(rb"(potential|refuted|addends|scope|lower_bound|end)\b", line)]
    if dice.random() < 0.3:  # the same ends as version 2 writes them, and such as are not even
        lines = [line.replace(b"retile.program/1", b"retile.program/2") for line in lines]
        marks = dice.choice([[b""], [b"@"], [b"", b"@", b"=", b"~"]])
        lines = [re.sub(rb"(\d)\{", lambda at: at[1] + dice.choice(marks) + b"{", line) if line.startswith((b"from", b"to")) else line
                 for line in lines]
    claim = dice.choice([bound, bound + 1, max(bound - 1, 0), dice.randrange(2 * bound + 4), bound + dice.randrange(bound + 4)])
    return b"\n".join([*lines, b"scope several_dims", b"lower_bound %d" % claim, b"end", b""])


def certificate_texts(work, queries, seed, count, paths):
    """The files, damaged ones, forged ones, and forged ones among steps along several dimensions."""
    dice, base = random.Random(seed), [Path(path).read_bytes() for path in paths]
    yield from base
    for _ in range(count // 2):
        yield damaged(dice, dice.choice(base))
    for text in forged(work, queries, seed, count):
        yield text
        yield widened(dice, text)


def certified_otherwise(work, judge, texts, kernel_program):
    """(where both decide and differ, how often each answer was given)"""
    spec, _ = judged([judge, "certify"], texts, work, CERTIFIED)
    kernel, _ = judged([kernel_program, "certify", "--seconds", "5", "--batch"], texts, work, CERTIFIED)
    differ, total = [], collections.Counter()
    for k, (one, other) in enumerate(zip(spec, kernel)):
        if "reason: limit" in one[1] + other[1]:
            what = "undecided"
        elif "reason: no_theorem" in other[1]:
            what = "no theorem"
            if one[0] == 2 or not silent(texts[k]) or not any(line.startswith("certified: ") for line in one[1]):
                differ.append(k)
        else:
            said = {line.split(": ")[0]: line.split(": ", 1)[1] for line in other[1]}
            what = "refused" if other[0] == 2 else f"certified {said['certified']}" if "certified" in said else "wrong"
            if "scope several_dims" in texts[k].decode("latin1") and "certified" in said:
                what = "several dimensions, " + what
            if said.get("certified") == "true":
                what += f", optimal {said['optimal']}"
            if one != other:
                differ.append(k)
        total[what] += 1
    for k in differ[:3]:
        print(f"{texts[k].decode('latin1')}\nspec/  {spec[k]}\nkernel {kernel[k]}")
    return differ, total


def certify(work, queries, judge, seed, count, paths):
    total = collections.Counter()
    for part in in_parts(certificate_texts(work, queries, seed, count, paths)):
        differ, said = certified_otherwise(work, judge, part, work / "retile-kernel")
        if differ:
            sys.exit(f"kernel.py: {len(differ)} answers about certificates differ")
        total.update(said)
    for what, number in sorted(total.items()):
        print(f"{what:36} {number:9}")
    print(f"{sum(total.values())} certificates")
    for what in ("certified true, optimal true", "certified true, optimal false", "certified true, optimal not comparable", "certified false",
                 "certified nothing", "no theorem", "wrong", "refused", "several dimensions, certified true, optimal true",
                 "several dimensions, certified true, optimal false", "several dimensions, certified false"):
        if not total[what]:
            sys.exit(f"kernel.py: no text is {what}")


def certify_mutants(work, queries, judge, paths):
    text = (SOURCE / "program/certificate.v").read_text()
    folder = work.with_name(work.name + "-certificate-mutant")
    folder.mkdir(exist_ok=True)
    for file in CHECKER:
        for part in (file, file[:-2] + ".vo"):
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            (folder / part).write_bytes((work / part).read_bytes())
    texts, kept = list(certificate_texts(work, queries, 5, 1500, paths)), []
    for line in ["", *(SOURCE / "certificate_mutants.txt").read_text().splitlines()]:
        if line.startswith("#"):
            continue
        name, old, new = (cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\) \| ", line)) if line else ("none", "", "")
        if line and text.count(old) != 1:
            sys.exit(f"kernel.py: mutant {name}: its text stands {text.count(old)} times in certificate.v")
        (folder / "program/certificate.v").write_text(text.replace(old, new) if line else text)
        good(run("coqc", "-q", "-R", folder, "retile", "-w", "none", "program/certificate.v", cwd=folder), f"mutant {name}")
        extract_checker(folder)
        with contextlib.redirect_stdout(io.StringIO()):
            differ, _ = certified_otherwise(work, judge, texts, folder / "retile-kernel")
        if bool(differ) != bool(line):  # a control: without a mistake nothing differs
            sys.exit(f"kernel.py: mutant {name} {'gives the answers of spec/' if line else 'differs from spec/'}")
        if line:
            kept.append(name)
    print(f"{len(kept)} mistakes found: {', '.join(kept)}")


def along_plans(work, judge, retile, count):
    """What `retile plan` writes by default, and the same with more claimed."""
    dice, texts = random.Random(1), []
    for _ in range(count):
        mesh, one, other = draw_problem(dice)
        done = run(retile, "plan", "--mesh", mesh, one, other, "--certificate", "-", cwd=work, limit=False)
        if done.returncode != 3:  # not too large
            text = good(done, f"retile plan --mesh {mesh} '{one}' '{other}'").stdout.encode()
            if SEVERAL.search(text):
                bound = int(re.search(rb"^lower_bound (\d+)", text, re.MULTILINE)[1])
                texts += [text, *(text.replace(b"lower_bound %d" % bound, b"lower_bound %d" % claim)
                                  for claim in (bound + 1, bound + dice.randrange(1, bound + 2)))]
    differ, total = certified_otherwise(work, judge, texts, work / "retile-kernel")
    if differ:
        sys.exit(f"kernel.py: {len(differ)} answers about certificates differ")
    for what, number in sorted(total.items()):
        print(f"{what:50} {number:9}")
    for what, least in (("certified true, optimal true", count // 8), ("certified false", 1)):
        if total["several dimensions, " + what] < least:
            sys.exit(f"kernel.py: too few are {what}")


def along_mutants(work, queries, judge, most, paths):
    """Each mistake in the certifier among steps along several dimensions breaks its proof, and shows in an answer."""
    text = (SOURCE / "program/along.v").read_text()
    folder = work.with_name(work.name + "-along-mutant")
    for file in files():
        for part in (file, file[:-2] + ".vo"):
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            (folder / part).write_bytes((work / part).read_bytes())
    texts = [one for one in certificate_texts(work, queries, 5, 4000, paths) if b"scope several_dims" in one]
    proofs, kept = ("facts/digits.v", "facts/along_steps.v", "theorems/along_sound.v"), []
    for line in ["", *(SOURCE / "along_mutants.txt").read_text().splitlines()]:
        if line.startswith("#") or len(kept) == most:
            continue
        name, old, new = (cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\) \| ", line)) if line else ("none", "", "")
        if line and text.count(old) != 1:
            sys.exit(f"kernel.py: mutant {name}: its text stands {text.count(old)} times in along.v")
        (folder / "program/along.v").write_text(text.replace(old, new) if line else text)
        for file in ("program/along.v", "program/certificate.v"):
            good(run("coqc", "-q", "-R", folder, "retile", "-w", "none", file, cwd=folder), f"mutant {name}")
        proved = all(run("coqc", "-q", "-R", folder, "retile", "-w", "none", file, cwd=folder).returncode == 0 for file in proofs)
        if proved == bool(line):  # a control: without a mistake all is proved, and nothing differs
            sys.exit(f"kernel.py: mutant {name} is {'proved sound' if line else 'not proved'}")
        extract_checker(folder)
        with contextlib.redirect_stdout(io.StringIO()):
            differ, _ = certified_otherwise(work, judge, texts, folder / "retile-kernel")
        if bool(differ) != bool(line):
            sys.exit(f"kernel.py: mutant {name} {'gives the answers of spec/' if line else 'differs from spec/'}")
        if line:
            kept.append(name)
    print(f"{len(kept)} mistakes found: {', '.join(kept)}")


# ---- mutants ----

def mutants(work, queries, most):
    text = (SOURCE / "program/certify.v").read_text()
    folder = work.with_name(work.name + "-mutant")  # not within: Coq looks for modules in all folders there
    folder.mkdir(exist_ok=True)
    for file in files():
        for part in (file, file[:-2] + ".vo"):
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            (folder / part).write_bytes((work / part).read_bytes())
    for file in ("program/certify.v", "theorems/certify_sound.v"):  # a control: without a mistake the proof is found here, too
        good(run("coqc", "-q", "-R", folder, "retile", "-w", "none", file, cwd=folder), f"{file} without a mistake")
    kept = []
    for line in (SOURCE / "mutants.txt").read_text().splitlines():
        if not line or line.startswith("#") or len(kept) == most:
            continue
        name, differs, old, new = (cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\) \| ", line))
        if text.count(old) != 1:
            sys.exit(f"kernel.py: mutant {name}: its text stands {text.count(old)} times in certify.v")
        (folder / "program/certify.v").write_text(text.replace(old, new))
        good(run("coqc", "-q", "-R", folder, "retile", "-w", "none", "program/certify.v", cwd=folder), f"mutant {name}")
        proved = run("coqc", "-q", "-R", folder, "retile", "-w", "none", "theorems/certify_sound.v", cwd=folder)
        if proved.returncode == 0:
            sys.exit(f"kernel.py: mutant {name} is proved sound")
        if differs == "differs":
            extract(folder)
            if not asked(folder, queries, ["adversarial", 7, 4000])[3]:
                sys.exit(f"kernel.py: mutant {name} gives the verdicts of spec/")
        kept.append(name)
    print(f"{len(kept)} mistakes found: {', '.join(kept)}")


def program_mutants(work, judge, most):
    """Each mistake in the check breaks a proof, and shows in a verdict."""
    text = (SOURCE / "program/check.v").read_text()
    folder = work.with_name(work.name + "-program-mutant")
    for file in files():
        for part in (file, file[:-2] + ".vo"):
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            (folder / part).write_bytes((work / part).read_bytes())
    texts = list(drawn(1, 3000))
    spec, _ = judged([judge, "spec"], texts, work)
    proofs = [f"theorems/{name}.v" for name in ("check_along", "check_steps", "check_blocks", "check_correct")]
    if most is None:  # a control: without a mistake all is proved here, too
        for file in ("program/check.v", "program/reader.v", "program/certificate.v", *proofs):
            good(run("coqc", "-q", "-R", folder, "retile", "-w", "none", file, cwd=folder), f"{file} without a mistake")
    kept = []
    for line in (SOURCE / "program_mutants.txt").read_text().splitlines():
        if not line or line.startswith("#") or len(kept) == most:
            continue
        name, old, new = (cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\) \| ", line))
        if text.count(old) != 1:
            sys.exit(f"kernel.py: mutant {name}: its text stands {text.count(old)} times in check.v")
        (folder / "program/check.v").write_text(text.replace(old, new))
        for file in ("program/check.v", "program/reader.v", "program/certificate.v"):
            good(run("coqc", "-q", "-R", folder, "retile", "-w", "none", file, cwd=folder), f"mutant {name}")
        if all(run("coqc", "-q", "-R", folder, "retile", "-w", "none", file, cwd=folder).returncode == 0 for file in proofs):
            sys.exit(f"kernel.py: mutant {name} is proved right")
        extract_checker(folder)
        kernel, _ = judged([folder / "retile-kernel", "check", "--seconds", "0.25", "--batch"], texts, work)
        if not disagreements(spec, kernel)[0]:
            sys.exit(f"kernel.py: mutant {name} gives the verdicts of spec/")
        kept.append(name)
    print(f"{len(kept)} mistakes found: {', '.join(kept)}")


def main(words):
    verbs = {"build": 1, "assumptions": 1, "coqchk": 1, "document": 3, "compare": 5, "certificates": 3, "planner": 4, "mutants": 2, "checker": 1, "programs": 4,
             "program_mutants": 2, "certify": 6, "certify_mutants": 4, "along_mutants": 5, "along_plans": 4}
    if not words or words[0] not in verbs or len(words) - 1 < verbs[words[0]]:
        sys.exit(__doc__)
    verb, work, rest = words[0], Path(words[1]).resolve(), words[2:]
    if verb == "build":
        build(work)
    elif verb == "assumptions":
        assumptions(work)
    elif verb == "coqchk":
        coqchk(work)
    elif verb == "document":
        hold_document(work, rest[0], Path(rest[1]))
    elif verb == "compare":
        compare(work, Path(rest[0]).resolve(), rest[1], int(rest[2]), int(rest[3]), int(rest[4]) if len(rest) > 4 else 1)
    elif verb == "certificates":
        certificates(work, Path(rest[0]).resolve(), [Path(path).resolve() for path in rest[1:]])
    elif verb == "checker":
        checker(work)
    elif verb == "programs":
        programs(work, Path(rest[0]).resolve(), int(rest[1]), int(rest[2]))
    elif verb == "program_mutants":
        program_mutants(work, Path(rest[0]).resolve(), int(rest[1]) if len(rest) > 1 else None)
    elif verb == "certify":
        certify(work, Path(rest[0]).resolve(), Path(rest[1]).resolve(), int(rest[2]), int(rest[3]), rest[4:])
    elif verb == "certify_mutants":
        certify_mutants(work, Path(rest[0]).resolve(), Path(rest[1]).resolve(), rest[2:])
    elif verb == "along_plans":
        along_plans(work, Path(rest[0]).resolve(), Path(rest[1]).resolve(), int(rest[2]))
    elif verb == "along_mutants":
        along_mutants(work, Path(rest[0]).resolve(), Path(rest[1]).resolve(), int(rest[2]), rest[3:])
    elif verb == "planner":
        planner(work, Path(rest[0]).resolve(), Path(rest[1]).resolve(), int(rest[2]))
    else:
        mutants(work, Path(rest[0]).resolve(), int(rest[1]) if len(rest) > 1 else None)


main(sys.argv[1:])
