"""Every operation of the first table of docs/reference/operations.md, run by a JAX release on its CPU devices and by our evaluator,
element by element.

    python3 peers/operations.py --python PYTHON --evaluator EVALUATE [--first 0] [--count 10] [--seed 1] [--rows ROW..]
                                [--shard FILE] [--sample FILE]
    python3 peers/operations.py --merge RESULTS SHARD.. [--onto]

PYTHON is the environment of the release, EVALUATE the program `evaluate_foreign` of the tests. Of each row (modules.py) the
modules from `--first` on are drawn, `--count` of them, and run in up to three forms; each depends on the seed, its row and its
number alone. Prints each difference and each refusal of ours; exit code 1 where a module differs that KNOWN does not list.
`--shard` keeps the counts and the differences. `--merge` adds several of these up beside what RESULTS has of other releases; with
`--onto` they are added to what it has of theirs, which must be of other numbers. `--sample` keeps some modules with what the peer
made of them, for a test.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from math import frexp, prod
from pathlib import Path
from queue import Empty, Queue

import modules
import pages


def has_more(one, more):
    """Whether the peer has what we say and `more` of the bits of a signed type, modulo these."""
    bits = re.search(r"o0 = s(\d+)\[", one["text"])
    numbers = re.search(r": (-?\d+) .*the peer (-?\d+)$", one["words"])
    if not bits or not numbers:
        return False
    ours, theirs, bits = int(numbers[1]), int(numbers[2]), int(bits[1])
    return (theirs - ours - more(bits)) % (1 << bits) == 0


# What the peer does otherwise than its own definition says, with the paragraph: `docs/ledger/peers.md` lists it for people. Of each
# its name, and whether it covers a difference, which has `id`, `release`, `row`, `language`, `text` and `words`.
KNOWN = [
    # The text of HLO says SIGNED or UNSIGNED, and XLA's Comparison (comparison_util.h) orders integers by this type; 0.12.0 loses
    # it when it reads the text, and makes that of the elements of it in StableHLO too. 0.10.2 follows the text.
    ("compare by a type that is not that of the elements", lambda one: one["release"] == "jax-0.12.0" and one["row"] == "compare"
     and one["language"] == "HLO" and re.search(r"o0 = s\d.*type=UNSIGNED|o0 = u\d.*type=SIGNED", one["text"], re.DOTALL)),
    # StableHLO, popcnt: "the number of bits set in the operand". Of 2 or 4 bits those of a byte are counted, with its sign.
    ("popcnt of signed numbers of 2 or 4 bits below 0", lambda one: one["row"] == "popcnt" and has_more(one, lambda bits: max(8 - bits, 0))),
    # XLA, CollectivePermute and AllGather move whole elements; several of 2 or 4 bits stand in a byte, and bytes are moved.
    ("collectives of types of 2 and 4 bits", lambda one: one["row"] in ("all-gather", "all-to-all", "collective-permute", "all-reduce", "reduce-scatter")
     and re.search(r"(p|o0|s0) = ([su][24]|f4e2m1fn)\[", one["text"])),
    # StableHLO, dynamic_slice: "adjusted_start_indices = clamp(0, start_indices, ..)". A constant offset that is no signed number of
    # its bits is taken as one below 0. As a parameter it is clamped to the end.
    ("dynamic-slice at a constant unsigned offset beyond the signed ones", lambda one: one["row"] == "dynamic-slice"
     and any(int(number) >> (int(bits) - 1) for bits, number in re.findall(r"= u(\d+)\[\] constant\((\d+)\)", one["text"]))),
    # StableHLO, compare: TOTALORDER is IEEE-754's totalOrder, in which NaN is above all numbers and -0 below 0. Constants
    # are folded as if it was FLOAT.
    ("compare of constants with type=TOTALORDER and NaN or -0", lambda one: one["row"] == "compare" and one["id"].endswith(".constants")
     and "type=TOTALORDER" in one["text"] and re.search(r"nan|-0\.0", one["text"])),
    # OCP Microscaling Formats, E8M0: it has no zero. What is put there for one is NaN, or what bits of 0 are, 2^-127.
    ("zeros of f8e8m0fnu", lambda one: one["row"] in ("iota", "collective-permute") and "r = f8e8m0fnu[" in one["text"]
     and re.search(r"\(nan\), the peer 0x1\.0+p-127$", one["words"])),
    # StableHLO, count_leading_zeros: "the number of leading zero bits in the operand". What is folded here is less by as many bits
    # as 64 has more, though a negative number has no such zeros.
    ("count-leading-zeros of constants below 0", lambda one: one["release"] == "jax-0.10.2"
     and one["row"] == "count-leading-zeros" and one["id"].endswith(".constants") and has_more(one, lambda bits: bits - 64)),
]


def problems(first, count, seed, rows):
    """(key, module, form) of everything that is run."""
    for row in rows:
        for number in range(first, first + count):
            module = modules.draw(row, number, random.Random(f"{seed} {row} {number}"))
            forms = ["constants"] if not module.moved() else ["constants", "parameters", "elements"] if module.moves else ["constants", "parameters"]
            # Two texts of a module say nearly the same: every module has one, and every third all.
            chosen = forms if number % 3 == 0 else [forms[number % len(forms)]]
            for form in chosen:
                if complex_alone(module) and form != "elements" or form == "elements" and not elements_make_sense(module):
                    continue
                yield f"{row}.{number}.{form}", module, form


def complex_alone(module):
    """Our evaluator follows complex numbers as elements alone."""
    return any(one.kind in modules.COMPLEX for one in module.operands)


def elements_make_sense(module):
    return module.moves and module.moved() and sum(prod(one.shape) for one in module.moved()) > 0


def job(key, module, form):
    arguments = []
    if form == "constants":
        ours, text = module.constants(), module.constants(manual=True)
    elif form == "parameters":
        (text, arguments), ours = module.parameters(), module.constants()
    else:
        (text, argument), (ours, _) = module.elements(manual=True), module.elements()
        arguments = [argument]
    return {"id": key, "text": text, "replicas": module.replicas, "partitions": module.partitions, "arguments": arguments}, ours


class Child:
    """The peer in a process of its own: it may abort, or hang."""

    def __init__(self, python, jobs, seconds, together):
        self.seconds = seconds
        command = ["nice", python, str(Path(__file__).with_name("run_modules.py")), "--together", str(together)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.lines = Queue()
        threading.Thread(target=self.feed, args=(jobs,), daemon=True).start()
        threading.Thread(target=self.read, daemon=True).start()

    def feed(self, jobs):
        try:
            for one in jobs:
                self.process.stdin.write(json.dumps(one) + "\n")
            self.process.stdin.close()
        except BrokenPipeError:
            pass

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def results(self):
        while True:
            try:
                line = self.lines.get(timeout=self.seconds)
            except Empty:
                line = None
            if line is None:
                self.process.kill()
                self.process.wait()
                return
            yield json.loads(line)


def run_peer(python, jobs, seconds, together=24):
    """The answer of every job; what ends the peer is `aborted`."""
    answers = {}
    left = sorted(jobs, key=lambda one: one["replicas"] * one["partitions"] > 1)  # those of one device together
    while left:
        begun = []
        for line in Child(python, left, seconds, together).results():
            if "begun" in line:
                begun = line["begun"]
            else:
                answers[line["id"]] = line
        unanswered = [one for one in begun if one not in answers]
        if not begun:
            raise SystemExit("the peer does not start")
        if len(unanswered) == 1:
            answers[unanswered[0]] = {"failed": "aborted, or took too long"}
        elif unanswered:  # one of them ended the peer: each by itself
            answers |= run_peer(python, [one for one in left if one["id"] in unanswered], seconds, 1)
        left = [one for one in left if one["id"] not in answers]
    return answers


def run_ours(program, texts):
    """What our evaluator says of each text: (language, text)."""
    given = "".join(f"{language} {len(text.encode())}\n{text}\n" for language, text in texts)
    out = subprocess.run([program], input=given, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def with_counts(text, job_):
    """StableHLO as the peer prints it does not say how many devices there are."""
    return text.replace("attributes {", f"attributes {{mhlo.num_partitions = {job_['partitions']} : i32, mhlo.num_replicas = {job_['replicas']} : i32, ", 1)


def held(cell, argument, kind):
    """A cell of ours as a number of the peer's; None where nobody knows it."""
    if not isinstance(cell, str):
        return cell
    if cell[0] not in "ezun" and not cell.startswith(("sum ", "max ", "min ")) or cell == "nan":
        return "nan" if "nan" in cell else float.fromhex(cell).hex()
    if cell == "u" and kind == "f8e8m0fnu":
        return "nan"  # where a permutation sends nothing: the type has no zeros
    zero = [0.0.hex(), 0.0.hex()] if kind in modules.COMPLEX else 0.0.hex() if kind in modules.REALS else 0
    if cell == "z":
        return zero
    if argument is None or cell in "un":
        return None
    flat = [one for tile in argument["tiles"] for one in tile]
    if cell[0] == "e":
        return flat[int(cell[1:])]
    words = cell.split()
    return added(words[0], [(flat[int(atom)], int(times)) for atom, times in zip(words[1::2], words[2::2])], kind)


def nearest(number, kind):
    """A small sum in a type of 8 bits, of two as near the even one: 9 has too many bits for two behind the point."""
    mantissa = re.match(r"f8e\dm(\d)", kind)
    if not mantissa or number == 0:
        return number
    step = 2.0 ** (frexp(number)[1] - 1 - int(mantissa[1]))
    return round(number / step) * step


def added(name, terms, kind):
    if kind in modules.REALS:
        numbers = [float.fromhex(one) for one, times in terms for _ in range(times)]
    else:
        numbers = [one for one, times in terms for _ in range(times)]
    out = {"sum": sum, "max": max, "min": min}[name](numbers)
    if kind in modules.REALS:
        return nearest(float(out), kind).hex()
    if kind == "pred":
        return int(bool(out))
    low, high = modules.bounds(kind)
    return (out - low) % (high - low + 1) + low


def same(ours, theirs):
    if ours is None:
        return False
    if isinstance(theirs, str) and isinstance(ours, str) and "nan" in (theirs, ours):
        return theirs == ours
    if isinstance(theirs, str) and isinstance(ours, str):
        a, b = float.fromhex(ours), float.fromhex(theirs)
        return a == b
    if isinstance(theirs, list) and isinstance(ours, list):
        return [float.fromhex(one) for one in ours] == [float.fromhex(one) for one in theirs]
    return ours == theirs


def difference(ours, theirs, argument, kind):
    """The first place where both differ; None where they are the same."""
    if len(ours) != len(theirs):
        return "another number of results"
    for result, (mine, other) in enumerate(zip(ours, theirs)):
        for device, (a, b) in enumerate(zip(mine, other)):
            if len(a) != len(b):
                return f"result {result} has {len(a)} elements, not {len(b)}"
            for place, (one, two) in enumerate(zip(a, b)):
                if not same(held(one, argument, kind), two):
                    return f"result {result}, device {device}, place {place}: {one} ({held(one, argument, kind)}), the peer {two}"
    return None


def known(one):
    return next((name for name, covers in KNOWN if covers(one)), None)


class Campaign:
    def __init__(self, given):
        self.given, self.counts, self.rows = given, Counter(), {}
        self.different, self.refused, self.untaken = [], Counter(), Counter()

    def run(self):
        drawn = list(problems(self.given.first, self.given.count, self.given.seed, self.given.rows or list(modules.MAKERS)))
        jobs = [job(*one) for one in drawn]
        answers = run_peer(self.given.python, [one for one, _ in jobs], self.given.seconds)
        texts = [("hlo", ours) for _, ours in jobs]
        stablehlo = [answers[one["id"]].get("stablehlo") for one, _ in jobs]
        texts += [("mlir", with_counts(text or "", one)) for text, (one, _) in zip(stablehlo, jobs)]
        ours = run_ours(self.given.evaluator, texts)
        for k, (key, module, form) in enumerate(drawn):
            self.look(key, module, form, jobs[k], answers[key], ours[k], ours[len(drawn) + k])
        return self.summary(drawn, jobs, answers, ours)

    def look(self, key, module, form, job_, answer, hlo, stablehlo):
        row = self.rows.setdefault(module.row, Counter())
        if "failed" in answer:
            row["not taken by the peer"] += 1
            kinds = "/".join(dict.fromkeys(one.kind for one in module.operands)) or module.result
            self.untaken[f"{module.row} {kinds}: {answer['failed'][:110]}"] += 1
            return
        row["run"] += 1
        argument = job_[0]["arguments"][0] if form == "elements" else None
        kind = module.moved()[0].kind if form == "elements" else ""
        # The text of StableHLO with parameters has elements in other places than one array.
        for name, said in [("HLO", hlo)] + ([] if form == "parameters" else [("StableHLO", stablehlo)]):
            if "refused" in said:
                self.refused[f"{name} {module.row}: {said['refused']}"] += 1
                row[f"refused {name}"] += 1
                continue
            # Nobody knows in which order devices add or compare numbers with a point: ours says no number.
            open_order = module.row in ("all-reduce", "reduce-scatter") and module.operands[0].kind in modules.REALS and form != "elements"
            if open_order:
                row[f"without numbers {name}"] += 1
                continue
            words = difference(said["results"], answer["results"], argument, kind)
            row[f"compared {name}"] += 1
            if words is None:
                continue
            self.different.append({"id": key, "release": self.given.release, "row": module.row, "language": name, "words": words, "text": job_[1]})

    def summary(self, drawn, jobs, answers, ours):
        if self.given.sample:
            self.keep(drawn, jobs, answers, ours)
        return {"release": self.given.release, "seed": self.given.seed, "first": self.given.first, "count": self.given.count,
                "differences": self.different, "refused by us": dict(self.refused), "not taken by the peer": dict(self.untaken),
                "rows": {row: dict(count) for row, count in self.rows.items()}}

    def keep(self, drawn, jobs, answers, ours):
        """Some modules of every row, with the peer's results, a line each."""
        kept = Counter()
        with self.given.sample.open("w") as file:
            for k, (key, module, form) in enumerate(drawn):
                answer = answers[key]
                if form == "parameters" or "failed" in answer or "refused" in ours[k] or kept[module.row, form] >= self.given.keep:
                    continue
                argument = jobs[k][0]["arguments"][0] if form == "elements" else None
                kind = module.moved()[0].kind if form == "elements" else ""
                if difference(ours[k]["results"], answer["results"], argument, kind):
                    continue
                kept[module.row, form] += 1
                line = {"id": key, "release": self.given.release, "text": jobs[k][1], "results": answer["results"]}
                file.write(json.dumps(line | ({"argument": argument} if argument else {})) + "\n")


def merged(shards, before=None):
    """Several shards of one release: the counts of each row, and each difference that KNOWN does not list, with its text. They are added
    to what an earlier merge made, which must be of other modules."""
    before = before or {"rows": {}, "refused by us": {}, "not taken by the peer": {}, "listed": {}, "different": [], "modules": 0, "numbers": []}
    rows = {row: Counter(counts) for row, counts in before["rows"].items()}
    refused, untaken, listed = (Counter(before[name]) for name in ("refused by us", "not taken by the peer", "listed"))
    different, numbers = list(before["different"]), [list(range_) for range_ in before["numbers"]]
    for shard in shards:
        for row, counts in shard["rows"].items():
            rows.setdefault(row, Counter()).update(counts)
        refused.update(shard["refused by us"])
        untaken.update(shard["not taken by the peer"])
        for one in shard["differences"]:
            name = known(one)
            listed.update([name] if name else [])
            different += [] if name else [one]
        numbers.append([shard["first"], shard["first"] + shard["count"]])
    drawn = before["modules"] + sum(shard["count"] * len(shard["rows"]) for shard in shards)
    return {"modules": drawn, "numbers": joined(numbers), "texts run": sum(row["run"] for row in rows.values()),
            "fewest of a row": min(row["run"] for row in rows.values()), "different": different, "listed": listed, "refused by us": refused,
            "not taken by the peer": untaken, "rows": rows}


def joined(numbers):
    """Ranges of numbers of modules, in as few as there can be; none may stand in two."""
    out = []
    for first, end in sorted(numbers):
        if out and first < out[-1][1]:
            raise SystemExit(f"modules {first} to {min(end, out[-1][1]) - 1} of each row stand in two shards")
        if out and first == out[-1][1]:
            out[-1][1] = end
        else:
            out.append([first, end])
    return out


def show(release, out):
    for one in out["different"][:40]:
        print(f"{one['id']} {one['language']}: {one['words']}\n{one['text']}")
    for name in ("listed", "refused by us", "not taken by the peer"):
        for words, count in sorted(out[name].items()):
            print(f"{name}: {words}: {count}")
    for row, counts in out["rows"].items():
        print(row, *(f"{name}: {count}" for name, count in counts.items()), sep="  ")
    print(pages.operations(release, out))
    print(f"{release}: {out['texts run']} texts of {out['modules']} modules run, {len(out['different'])} differences, {sum(out['listed'].values())} listed")


def merge(results, files, onto):
    """Other releases stay as they are; `onto` keeps what there is of the shards' releases, too."""
    shards = [json.loads(file.read_text()) for file in files]
    all_ = json.loads(results.read_text()) if results.exists() else {}
    for release in sorted({shard["release"] for shard in shards}):
        all_[release] = merged([shard for shard in shards if shard["release"] == release], all_.get(release) if onto else None)
        show(release, all_[release])
    results.write_text(json.dumps(all_, indent=1, sort_keys=True) + "\n")
    return 1 if any(out["different"] or not out["texts run"] for out in all_.values()) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--merge", type=Path, nargs="+")
    parser.add_argument("--onto", action="store_true", help="with --merge: add to what RESULTS has of these releases")
    parser.add_argument("--python")
    parser.add_argument("--evaluator")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seconds", type=float, default=120, help="what one compilation and run may take")
    parser.add_argument("--rows", nargs="*")
    parser.add_argument("--release", default="")
    parser.add_argument("--shard", type=Path)
    parser.add_argument("--sample", type=Path)
    parser.add_argument("--keep", type=int, default=4)
    given = parser.parse_args()
    if given.merge:
        return merge(given.merge[0], given.merge[1:], given.onto)
    shard = Campaign(given).run()
    if given.shard:
        given.shard.write_text(json.dumps(shard) + "\n")
    out = merged([shard])
    show(given.release, out)
    return 1 if out["different"] or not out["texts run"] else 0


if __name__ == "__main__":
    sys.exit(main())
