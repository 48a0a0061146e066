"""Every JSON object that retile prints has the fields of src/retile/cli/schemas.json, in their order, and no others.

Held against it: the golden files, the recorded calls, and objects that the program prints here, so that every field is seen.
"""

import json
import os
import re
import sys
import unittest
from pathlib import Path

from support import RETILE, Case, environment, main, retile

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
import script_module  # noqa: E402  the path has to be there first
SPMD = ROOT / "examples/spmd"
ARRAY = ROOT / "examples/array"
PEER = str(ROOT / "examples/foreign/wrong_groups.sh") + " {mesh} {from} {to}"

BASES = {"integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
         "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
         "text": lambda value: isinstance(value, str),
         "boolean": lambda value: isinstance(value, bool),
         "object": lambda value: isinstance(value, dict),
         "null": lambda value: value is None,
         "[text, integer]": lambda value: isinstance(value, list) and list(map(type, value)) == [str, int]}


REFERENCE = script_module.load(ROOT, "reference")
SCHEMAS = REFERENCE.schemas()


def is_of(value, type_name):
    """Whether a value has a type of the table: `list of integer or null`, or one of the words that a text may be."""
    for one in type_name.split(" or "):
        if one.startswith("list of "):
            if isinstance(value, list) and all(is_of(each, one.removeprefix("list of ")) for each in value):
                return True
        elif BASES[one](value) if one in BASES else value == one:
            return True
    return False


def parts_of(rows, prefix):
    """name -> (may be absent, type) of the fields right below a prefix, in their order."""
    out = {}
    for name, type_name, _, _ in rows:
        if name.startswith(prefix) and not re.search(r"[.\[]", name[len(prefix):]):
            out[name[len(prefix):].removesuffix("?")] = (name.endswith("?"), type_name)
    return out


def complaints_of_fields(value, rows, prefix, seen):
    fields = parts_of(rows, prefix)
    out = [f"{prefix}{name} is in no table" for name in value if name not in fields]
    out += [f"{prefix}{name} is missing" for name, (optional, _) in fields.items() if not optional and name not in value]
    if not out and list(value) != [name for name in fields if name in value]:
        out.append(f"the fields of {prefix or 'the object'} stand in another order")
    for name in [name for name in value if name in fields]:
        seen.add(prefix + name)
        is_a, wanted = value[name], fields[name][1]
        if not is_of(is_a, wanted):
            out.append(f"{prefix}{name} is {is_a!r}, not {wanted}")
        for below, objects in ((f"{prefix}{name}[].", is_a if isinstance(is_a, list) else ()),
                               (f"{prefix}{name}.", [is_a] if isinstance(is_a, dict) else ())):
            if not parts_of(rows, below):
                continue
            for each in objects:
                out += complaints_of_fields(each, rows, below, seen)
        if isinstance(is_a, dict) and "schema" in is_a:
            out += complaints(is_a, {})
    return out


def complaints(value, seen):
    """What is wrong with an object, by the form that it fits best. \param seen gets the fields of each form that are there."""
    schema = value["schema"]
    if schema not in SCHEMAS:
        return [f"{schema} is no schema"]
    best = None
    for form, rows in SCHEMAS[schema]["forms"].items():
        fields = set()
        out = complaints_of_fields(value, REFERENCE.rows_of_form(SCHEMAS, rows), "", fields)
        if best is None or len(out) < len(best[0]):
            best = (out, form, fields)
    if not best[0]:
        seen.setdefault((schema, best[1]), set()).update(best[2])
    return best[0]


def objects_in(text):
    """The objects of an output; figures that records mask are 0."""
    for line in text.splitlines():
        if line.startswith('{"schema":"retile.'):
            try:
                yield json.loads(re.sub(r'":<[a-z ]+>', '":0', line))
            except json.JSONDecodeError:
                pass  # the head of a longer output


def recorded():
    for path in sorted((ROOT / "tests/cli/golden").glob("*.json")):
        yield path.name, path.read_text()
    for path in sorted((ROOT / "tests/house/calls").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            call = json.loads(line)
            if call["id"].startswith("run/launcher/"):
                continue  # what stands there went into a script in the place of mpirun
            if call["expected"]["code"] in (0, 1, 3) and isinstance(call["expected"]["stdout"], str):
                yield call["id"], call["expected"]["stdout"]


def example(name):
    return (SPMD / f"{name}.spmd").read_text()


def program(*lines):
    return "\n".join(("retile.program/2", *lines, ""))


def hlo(groups="{{0,1}}"):
    return f"""HloModule m, num_partitions=2
ENTRY main_spmd {{
  p = f32[2,4] parameter(0), sharding={{devices=[2,1]<=[2]}}
  ROOT g = f32[4,4] all-gather(p), dimensions={{0}}, replica_groups={groups}, use_global_device_ids=true, channel_id=1, sharding={{replicated}}
}}
"""


# Every element by itself: there are too many.
TURNED = f"""HloModule m
ENTRY main_spmd {{
  p = f32[{1 << 40}] parameter(0), sharding={{replicated}}
  r = f32[{1 << 40}] reverse(p), dimensions={{0}}
  ROOT s = f32[{1 << 40}] reverse(r), dimensions={{0}}, sharding={{replicated}}
}}
"""
EXCHANGED = """HloModule m, num_partitions=4
ENTRY main_spmd {
  p = f32[2]{0} parameter(0), sharding={devices=[4]<=[4]}
  ROOT c = f32[2]{0} collective-permute(p), channel_id=1, source_target_pairs={{0,0},{1,2},{2,1},{3,3}}, sharding={devices=[4]<=[4]}
}
"""
SHARED = "retile.array/1\narray x[4,4]\ny[i,j] = 2x[i,j]\nz[i,j] = y[i,j] + x[j,i]\nreturn z\n"
SQUARED = """retile.spmd/1
mesh x:2
fn main(x : sum{x}[3]) -> [3]
a = spmd x { mul x x } as sum{x}[3]
b = redistribute a as [3]
return b
"""


WHOLE = ROOT / "examples/whole"


MANY = '{"mesh": "x:2"} {"name": "a", "from": "[2{x}4]", "to": "[4]"} {"name": "b", "from": "[2{x}4]", "to": "[4]"}'
SUM = ("devices 2", "from sum{1:2}[4]", "to [4]")
# Calls whose objects together have every field: words, and what they read.
CALLS = [
    (["plan", "--json", "--mesh", "x:2,y:2", "sum{x}[4, 2{y}4]", "[2{y}4, 4]"], ""),
    (["plan", "--json", "--mesh", "x:2,y:2", "sum{x}[8]", "[8]"], ""),
    (["plan", "--json", "--mesh", "x:2,y:2", "--shape", "8,4", "P(avg)R", "S(0)R"], ""),
    (["plan", "--json", "--mesh", "x:6", "sum{x}[5]", "[5]"], ""),
    (["plan", "--json", "--mesh", "x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]"], ""),
    (["plan", "--json", "--mesh", "x:2,y:2", "[2{x}4, 2{y}4, 4, 4]", "[4, 4, 2{x}4, 2{y}4]"], ""),
    (["plan", "--json", "--mesh", "x:4", "--order", "[3,1,0,2]", "--mesh-to", "y:4", "[3{x}12]", "[3{y}12]"], ""),
    (["plan", "--json", "--mesh", "a:3,b:4", "[6{a}16, 6{b}23]", "[4{b}16, 8{a}23]", "--collectives"], ""),
    (["plan", "--json", "--mesh", "a:3,b:4", "[6{a}16, 6{b}23]", "[4{b}16, 8{a}23]"], ""),
    (["plan", "--json", "--mesh", "p:4", "[3{p}12]", "[3{p}12<1,1>]", "--collectives"], ""),
    (["plan", "--json", "--mesh", "p:4", "[3{p}12]", "[1@{p}12]"], ""),
    (["plan", "--json", "--mesh", "n:2,a:2", "[4{a}8, 2]", "[4{n}8, 2]", "--network", "n:1GB/s:1us,*:2GB/s:1us"], ""),
    (["plan", "--json", "--many", "-"], MANY),
    (["plan", "--json", "--many", "-", "--node", "2"], MANY),
    (["plan", "--json", "--many", "-", "--network", "*:1GB/s:1us"], MANY),
    (["plan", "--json", "--many", "-", "--memory-limit", "1"], MANY),
    (["plan", "--json", "--many", "-", "--mesh", "x:2"], '{"name": "a", "from": "[8]", "to": "sum{x}[8]"}'),
    (["lower", "--json", "--many", "-", "--rank", "0"], MANY),
    (["explain", "--json", "--many", "-"], MANY),
    (["run", "--json", "--many", "-", "--backend", "sim"], MANY),
    (["run", "--json", "--many", "-", "--backend", "sim", "--memory-limit", "1"], MANY),
    (["lower", "--json", "--mesh", "p:4", "[3{p}12]", "[1@{p}12]"], ""),
    (["lower", "--json", "--mesh", "x:2,y:2", "sum{x}[8]", "[8]"], ""),
    (["lower", "--json", "--mesh", "x:2,y:2", "max{x}[8]", "[8]"], ""),
    (["lower", "--json", "--mesh", "x:4", "[3={x}10, 6]", "[10, 2={x}6]"], ""),
    (["lower", "--json", "--mesh", "x:3", "[4~{x}10]", "[5~{x}10]"], ""),
    (["lower", "--json", "--mesh", "x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]"], ""),
    (["check", "--json"], program(*SUM, "allreduce groups=[[0],[1]]")),
    (["lower", "--json", "--mesh", "x:4", "--mesh-to", "y:4", "[3{x}12]", "[12]"], ""),
    (["lower", "--json", "--mesh", "x:4", "--mesh-to", "y:4", "sum{x}[3]", "[3]"], ""),
    (["lower", "--json", "--mesh", "x:4", "--order", "[3,1,0,2]", "[3{x}12, 4]", "[12, 1{x}4]"], ""),
    (["lower", "--json", "--mesh", "x:2,y:3", "--order", "[6]<=[2,3]T(1,0)", "[1{x,y}6, 2]", "[3{x}6, 2]"], ""),
    (["lower", "--json", "--mesh", "x:2,y:3,z:2,w:2", "--order", "[24]<=[2,3,2,2]T(1,0,2,3)", "[1{x,y}6, 2{z}4, 2{w}4]", "[1{x,y}6, 4, 4]"], ""),
    (["lower", "--json", "--mesh", "x:4", "--order", "[3,1,0,2]", "sum{x}[4]", "[4]"], ""),
    (["check", "--json"], program("devices 4", "from sum{1:2}[4]", "to [4]", "allreduce groups=[[0,1],[2,3]]")),
    (["prove", "--json", "-"], program(*SUM, "allreduce groups=[[0],[1]]")),
    (["prove", "--json", "--mesh", "x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]"], ""),
    (["run", "--json", "--backend", "sim", "--mesh", "x:4", "[3{x}12]", "[12]"], ""),
    (["run", "--json", "--backend", "sim", "--mesh", "p:4", "[3{p}12]", "[3{p}12<1,1>]", "--collectives"], ""),
    (["explain", "--json", "--mesh", "x:4", "--shape", "16,64", "(Shard(0),)", "(Shard(1),)"], ""),
    (["explain", "--json", "--mesh", "x:4", "[8{x}32, 32]", "[32, 8{x}32]", "--as", "sdy"], ""),
    (["explain", "--json", "--mesh", "a:3,b:4", "[6{a}16, 6{b}23]", "[4{b}16, 8{a}23]"], ""),
    (["explain", "--json", "--mesh", "n:2,a:2", "[4{a}8, 2]", "[4{n}8, 2]", "--network", "n:1GB/s:1us,*:2GB/s:1us"], ""),
    (["convert", "--json", "--mesh", "x:2,y:4", "--shape", "32,24", "--as", "hlo2", "P('y', 'x')"], ""),
    (["check", "--json"], hlo()),
    (["check", "--json"], hlo(groups="{{1,0}}")),
    (["check", "--json"], TURNED),
    (["check", "--json", "--mesh", "x:2,y:2", "--to", "[2{y,x}8]"], EXCHANGED),
    (["check", "--json", str(ROOT / "examples/foreign/whole_array.hlo")], ""),
    (["check", "--json", "--shrink", "--peer", PEER, "--mesh", "x:4,y:6", "--from", "[3{x}12, 2{y}12]", "--to", "[12, 3{x}12]"], ""),
    (["grad", "--json", str(ARRAY / "choice.array")], ""),
    (["partition", "--json", "--choose", "--devices", "4", str(ARRAY / "choice.array")], ""),
    (["partition", "--json", "--choose", "--devices", "4", "--memory-limit", "1KiB", "-"], SHARED),
    (["partition", "--json", "--choose", "--devices", "4", "--memory-limit", "1KiB", "--network", "*:1GB/s:1us", "-"], SHARED),
    (["partition", "--json", "--choose", "--devices", "4", "--network", "2:1GB/s:1us,*:1MB/s:1us", str(ARRAY / "choice.array")], ""),
    (["partition", "--json", "--choose", "--what-if", "--devices", "2,4", "--memory-limit", "none,128", str(ARRAY / "choice.array")], ""),
    (["partition", "--json", "--choose", "--what-if", "--devices", "4", "--network", "2:1GB/s:1us,*:1MB/s:1us", str(ARRAY / "choice.array")], ""),
    (["check", "--json"], example("dot_product")),
    (["check", "--json"], example("dot_product").replace("as sum{d}[8, 8]", "as [8, 8]")),
    (["check", "--json"], example("listing_3")),
    (["check", "--json"], SQUARED),
    (["run", "--json", "--backend", "sim", "-"], example("dot_product")),
    (["validate", "--json", "--seed", "1", str(WHOLE / "update.before.hlo"), str(WHOLE / "update.after.hlo")], ""),
    (["validate", "--json", "--seed", "1", str(WHOLE / "layer.before.hlo"), "-"], (WHOLE / "layer.after.hlo").read_text().replace(" all-reduce(", " copy(")),
    (["validate", "--json", str(WHOLE / "called.hlo"), str(WHOLE / "called.hlo")], ""),
    (["validate", "--json", str(WHOLE / "block.before.hlo"), str(WHOLE / "block.after.hlo")], ""),
    (["validate", "--json", "--passes", str(WHOLE / "dump")], ""),
    (["validate", "--json", "--explain", str(WHOLE / "gathered.before.hlo"), str(WHOLE / "gathered.after.hlo")], ""),
    (["explain", "--json", str(WHOLE / "dump")], ""),
    (["validate", "--json", "--shrink", "--peer", "false {before}", str(WHOLE / "layer.before.hlo")], ""),
    (["run", "--json", "--backend", "sim", "-"], example("dot_product").replace('denotes einsum "ik,kj->ij"', 'denotes neg (einsum "ik,kj->ij" x w)')),
]


KERNEL = Path(RETILE).resolve().parent / "retile-kernel"
# The same of the fields `kernel`, which only retile-kernel can fill.
KERNEL_CALLS = [
    (["plan", "--json", "--kernel", "--one-dim", "--mesh", "x:4", "[1{x}4]", "[4]"], ""),
    (["check", "--json", "--kernel"], program(*SUM, "allreduce groups=[[0],[1]]")),
]


class Schemas(Case):
    def test_objects_have_the_fields_of_their_schema(self):
        path = os.path.dirname(os.path.abspath(RETILE)) + ":" + os.environ["PATH"]
        seen, count, found = {}, 0, []
        texts = list(recorded())
        for words, stdin in CALLS + KERNEL_CALLS * KERNEL.exists():
            done = retile(*words, stdin=stdin, env=environment(PATH=path))  # the peer of --shrink is a script that calls retile
            self.assertIn('{"schema":"retile.', done.stdout, (words, done.stderr))
            texts.append((" ".join(words), done.stdout))
        for name, text in texts:
            for value in objects_in(text):
                count += 1
                found += [f"{name}: {complaint}" for complaint in complaints(value, seen)]
        print(*found, sep="\n")
        self.assertGreater(count, 500)
        for schema, one in SCHEMAS.items():
            for form, rows in one["forms"].items():
                fields = {row[0].removesuffix("?") for row in REFERENCE.rows_of_form(SCHEMAS, rows)}
                # a proof has the rows of a verdict, but never asks retile-kernel
                fields -= {field for field in fields if field.split(".")[0] == "kernel" and (not KERNEL.exists() or schema == "retile.proof/1")}
                with self.subTest(schema=schema, form=form):
                    self.assertEqual(fields - seen.get((schema, form), set()), set(), "no object has these")

    @unittest.skipUnless(KERNEL.exists(), "retile-kernel is not built, so its fields are not seen")
    def test_fields_of_retile_kernel(self):
        for words, stdin in KERNEL_CALLS:
            self.assertIn("kernel", json.loads(retile(*words, stdin=stdin).stdout))

    def test_what_differs_from_the_table_is_noticed(self):
        text = (ROOT / "tests/cli/golden/plan_example_3_1.json").read_text()
        for spoil, wanted in (
                (lambda value: value, []),
                (lambda value: {**value, "colour": 1}, ["colour is in no table"]),
                (lambda value: {name: value[name] for name in value if name != "height"}, ["height is missing"]),
                (lambda value: {**value, "height": "6"}, ["height is '6', not integer"]),
                (lambda value: {**value, "height": True}, ["height is True, not integer"]),
                (lambda value: {**value, "scope": "wide"}, ["scope is 'wide', not one_dim or several_dims or any"]),
                (lambda value: {**value, "mesh": [[4, "x"]]}, ["mesh is [[4, 'x']], not list of [text, integer]"]),
                (lambda value: {"schema": value["schema"], "states": value["states"], **value},
                 ["the fields of the object stand in another order"]),
                (lambda value: {**value, "steps": [{**value["steps"][0], "cost": None}]}, ["steps[].cost is None, not integer"]),
                (lambda value: {**value, "steps": [{**value["steps"][0], "costs": 1}]}, ["steps[].costs is in no table"]),
                (lambda value: {**value, "schema": "retile.plan/7"}, ["retile.plan/7 is no schema"])):
            self.assertEqual(complaints(spoil(json.loads(text)), {}), wanted)
        verdict = {"schema": "retile.verdict/1"}
        shrunk = {"schema": "retile.shrunk/1", "kind": "aborted", "mesh": "x:2", "order": None, "shape": [2], "from": "[2]", "to": "[2]",
                  "runs": 1, "complete": True, "verdict": verdict, "program": "", "words": ""}
        self.assertIn("within_bound is missing", complaints(shrunk, {}))


if __name__ == "__main__":
    main()
