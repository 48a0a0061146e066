"""Small HLO modules: every row of the table of operations, of every element type, with every attribute off its default.

`draw(row, random)` makes a `Module` of one operation. Its operands are of known numbers. Three texts come of it: with these
numbers as constants, with parameters that hold them, and, where the operation moves or adds elements, with operands cut
from one parameter, whose elements an evaluator follows.
"""

import re
import struct
from math import prod

INTEGERS = [f"{sign}{bits}" for bits in (2, 4, 8, 16, 32, 64) for sign in "su"]
REALS = ["f16", "bf16", "f32", "f64", "f8e5m2", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "f8e3m4", "f4e2m1fn", "f8e8m0fnu"]
COMPLEX = ["c64", "c128"]
ALL = ["pred", *INTEGERS, *REALS, *COMPLEX]
WITHOUT_COMPLEX = ["pred", *INTEGERS, *REALS]
PRECISE = ["f16", "bf16", "f32", "f64"]
UNARY = {"not": ["pred", *INTEGERS], "negate": INTEGERS + PRECISE, "abs": [one for one in INTEGERS if one[0] == "s"] + PRECISE,
         "sign": [one for one in INTEGERS if one[0] == "s"] + PRECISE, "popcnt": INTEGERS, "count-leading-zeros": INTEGERS}
BINARY = {"add": ["pred", *INTEGERS, *REALS], "subtract": INTEGERS + PRECISE, "multiply": ["pred", *INTEGERS, *PRECISE],
          "divide": INTEGERS + PRECISE, "remainder": INTEGERS + PRECISE, "maximum": WITHOUT_COMPLEX, "minimum": WITHOUT_COMPLEX,
          "and": ["pred", *INTEGERS], "or": ["pred", *INTEGERS], "xor": ["pred", *INTEGERS],
          "shift-left": INTEGERS, "shift-right-arithmetic": INTEGERS, "shift-right-logical": INTEGERS}
# What every type of numbers with a point has, or nearly: values whose sums and products need no denormal.
REAL_VALUES = [0.0, -0.0, 1.0, -1.0, 1.5, -1.5, 2.0, 3.0, -4.0, 6.0, 0.5, -0.5, float("inf"), float("-inf"), float("nan")]
WIDE_VALUES = REAL_VALUES + [2.75, -2.75, 100.5, -129.0, 255.0, 256.0, 2047.0, 2049.0, 40000.0, 1 / 3, -2 / 3, 7.25, 33.0]
FINITE = {"f4e2m1fn", "f8e8m0fnu", "f8e4m3fn", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz"}


class Operand:
    def __init__(self, kind, shape, tiles, decides=False):
        self.kind, self.shape, self.tiles, self.decides = kind, list(shape), tiles, decides


class Module:
    """One operation of operands with known numbers: `line` is the instruction, with `@0` and so on for its operands."""

    def __init__(self, row, operands, result, line, replicas=1, partitions=1, body="", results=None, moves=False):
        self.row, self.operands, self.result, self.line = row, operands, result, line
        self.replicas, self.partitions, self.body = replicas, partitions, body
        self.results, self.moves = results, moves

    @property
    def devices(self):
        return self.replicas * self.partitions

    def header(self):
        counts = (f", replica_count={self.replicas}" if self.replicas > 1 else "") + (f", num_partitions={self.partitions}" if self.partitions > 1 else "")
        return f"HloModule m{counts}\n\n" + (self.body + "\n" if self.body else "")

    def entry(self, lines, manual):
        out = []
        for k, line in enumerate([*lines, *self.last_lines()]):
            if manual and self.partitions > 1:
                kind = line.split(" = ", 1)[1]
                shardings = "{" + ", ".join(["{manual}"] * (kind[:kind.index(")")].count("[") or 1)) + "}" if kind.startswith("(") else "{manual}"
                line += f", sharding={shardings}"
            out.append("  " + line)
        return self.header() + "ENTRY e {\n" + "\n".join(out) + "\n}\n"

    def last_lines(self):
        line = f"r = {self.result} " + re.sub(r"@(\d+)", r"o\1", self.line)
        if self.results is None:
            return ["ROOT " + line]
        return [line, *self.results]

    def constants(self, manual=False):
        """Operands as constants; what devices hold differently is cut from a table by the device's number."""
        lines = []
        for k, one in enumerate(self.operands):
            if all(tile == one.tiles[0] for tile in one.tiles):
                lines.append(f"o{k} = {array(one.kind, one.shape)} constant({nested(one.kind, one.shape, one.tiles[0])})")
                continue
            table = [self.devices, *one.shape]
            flat = [value for tile in one.tiles for value in tile]
            lines += [f"t{k} = {array(one.kind, table)} constant({nested(one.kind, table, flat)})"]
            lines += self.number_lines(k)
            zeros = "".join(f", z{k}" for _ in one.shape)
            lines += [f"z{k} = s32[] constant(0)", f"s{k} = {array(one.kind, [1, *one.shape])} dynamic-slice(t{k}, d{k}{zeros}), "
                      f"dynamic_slice_sizes={{{','.join(map(str, [1, *one.shape]))}}}", f"o{k} = {array(one.kind, one.shape)} reshape(s{k})"]
        return self.entry(lines, manual)

    def number_lines(self, k):
        return [f"p{k} = u32[] partition-id()", f"q{k} = u32[] replica-id()", f"m{k} = u32[] constant({self.partitions})",
                f"qm{k} = u32[] multiply(q{k}, m{k})", f"pq{k} = u32[] add(p{k}, qm{k})", f"d{k} = s32[] convert(pq{k})"]

    def parameters(self):
        lines = [f"o{k} = {array(one.kind, one.shape)} parameter({k})" for k, one in enumerate(self.operands)]
        return self.entry(lines, True), [argument(one.kind, one.shape, one.tiles) for one in self.operands]

    def moved(self):
        return [one for one in self.operands if not one.decides]

    def elements(self, manual=False):
        """Operands that are moved are cut from one parameter; its numbers, all devices' one behind the other."""
        moved = self.moved()
        total = sum(prod(one.shape) for one in moved)
        kind = moved[0].kind
        lines, begin = [f"p = {array(kind, [total])} parameter(0)"], 0
        for k, one in enumerate(self.operands):
            if one.decides:
                lines.append(f"o{k} = {array(one.kind, one.shape)} constant({nested(one.kind, one.shape, one.tiles[0])})")
                continue
            end = begin + prod(one.shape)
            lines += [f"c{k} = {array(kind, [end - begin])} slice(p), slice={{[{begin}:{end}]}}", f"o{k} = {array(kind, one.shape)} reshape(c{k})"]
            begin = end
        tiles = [[value for one in moved for value in one.tiles[d]] for d in range(self.devices)]
        return self.entry(lines, manual), argument(kind, [total], tiles)


def argument(kind, shape, tiles):
    return {"type": kind, "shape": shape, "tiles": [[encoded(kind, value) for value in tile] for tile in tiles]}


def rounded(kind, value):
    """What a type holds of a number: texts say any, arguments are of their type. All other numbers that are drawn fit."""
    if value != value or abs(value) == float("inf") or kind not in ("bf16", "f16", "f32"):
        return value
    if kind != "bf16":
        code = "e" if kind == "f16" else "f"
        return struct.unpack(code, struct.pack(code, value))[0]
    bits = struct.unpack("I", struct.pack("f", value))[0]
    bits += 0x7fff + (bits >> 16 & 1)  # to the nearest, of two the even one
    return struct.unpack("f", struct.pack("I", bits & 0xffff0000))[0]


def encoded(kind, value):
    if kind in COMPLEX:
        return [value.real.hex(), value.imag.hex()]
    return rounded(kind, float(value)).hex() if kind in REALS else int(value)


def array(kind, shape):
    return f"{kind}[{','.join(map(str, shape))}]"


def literal(kind, value):
    if kind == "pred":
        return "true" if value else "false"
    if kind in COMPLEX:
        return f"({value.real!r}, {value.imag!r})"
    if kind in REALS:
        return repr(float(value))
    return str(value)


def nested(kind, shape, values):
    if not shape:
        return literal(kind, values[0])
    if not values:
        return "{" + ", ".join("{}" for _ in range(shape[0])) + "}" if len(shape) > 1 else "{}"
    step = len(values) // shape[0]
    return "{" + ", ".join(nested(kind, shape[1:], values[k * step:(k + 1) * step]) for k in range(shape[0])) + "}"


def bounds(kind):
    bits = int(kind[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)


def value(kind, random):
    if kind == "pred":
        return random.randrange(2)
    if kind in COMPLEX:
        return complex(random.randrange(-8, 9), random.randrange(-8, 9))
    if kind == "f8e8m0fnu":
        return random.choice([1.0, 2.0, 0.5, 4.0, 0.25, 1024.0])
    if kind in REALS:
        one = random.choice(WIDE_VALUES if kind in PRECISE else REAL_VALUES)
        return 1.0 if kind in FINITE and (one != one or abs(one) == float("inf")) else one
    low, high = bounds(kind)
    edges = [low, high, 0, 1, low + 1, high - 1, high // 2, 2, 3, 5, -1, -2, int(kind[1:]), int(kind[1:]) - 1]
    inside = [one for one in edges if low <= one <= high]
    return random.choice(inside) if random.randrange(3) else random.randint(low, high)


def small(kind, random):
    """A value whose sums are exact in every order."""
    if kind in REALS:
        return float(random.randrange(0, 3)) if kind not in ("f8e8m0fnu", "f4e2m1fn") else 1.0
    return value(kind, random)


def shape_of(random, rank=None, least=1):
    return [random.randint(least, 3) for _ in range(random.randrange(5) if rank is None else rank)]


def operand(kind, shape, random, devices=1, draw_value=value, decides=False):
    return Operand(kind, shape, [[draw_value(kind, random) for _ in range(prod(shape))] for _ in range(devices)], decides)


def same_operand(kind, shape, random, devices, decides=True):
    tile = [value(kind, random) for _ in range(prod(shape))]
    return Operand(kind, shape, [tile] * devices, decides)


def starts(shape, sizes, random):
    """A scalar for every dimension: inside, at the ends and beyond."""
    kind = random.choice([one for one in INTEGERS if one not in ("s2", "u2", "s4", "u4")])
    out = []
    for extent in shape:
        low, high = bounds(kind)
        place = random.choice([random.randint(0, extent), -1, extent + 5, low, high, 0])
        out.append(Operand(kind, [], [[min(max(place, low), high)]], decides=True))
    return out


def listed(values):
    return "{" + ",".join(map(str, values)) + "}"


# ---- What moves on one device -------------------------------------------------------------------------------------------

def plain(row, random, kind):
    x = operand(kind, shape_of(random), random)
    return Module(row, [x], array(kind, x.shape), f"{row}(@0)", moves=True)


def reshape(row, random, kind):
    x = operand(kind, shape_of(random), random)
    factors = [one for one in x.shape if one > 1] + [1] * random.randrange(2)
    random.shuffle(factors)
    to = random.choice([[prod(x.shape)], factors]) if prod(x.shape) > 1 else [1] * random.randrange(4)
    if row == "bitcast":
        to = x.shape if random.randrange(2) else to
    return Module(row, [x], array(kind, to), f"{row}(@0)", moves=True)


def transpose(row, random, kind):
    x = operand(kind, shape_of(random), random)
    order = random.sample(range(len(x.shape)), len(x.shape))
    return Module(row, [x], array(kind, [x.shape[k] for k in order]), f"transpose(@0), dimensions={listed(order)}", moves=True)


def reverse(row, random, kind):
    x = operand(kind, shape_of(random), random)
    dims = sorted(random.sample(range(len(x.shape)), random.randint(0, len(x.shape))))
    return Module(row, [x], array(kind, x.shape), f"reverse(@0), dimensions={listed(dims)}", moves=True)


def slice_(row, random, kind):
    x = operand(kind, shape_of(random), random)
    ranges, to = [], []
    for extent in x.shape:
        low = random.randrange(extent)
        high, step = random.randint(low + 1, extent), random.randint(1, 3)
        ranges.append(f"[{low}:{high}:{step}]" if step > 1 or random.randrange(2) else f"[{low}:{high}]")
        to.append(-(-(high - low) // step))
    return Module(row, [x], array(kind, to), f"slice(@0), slice={{{', '.join(ranges)}}}", moves=True)


def pad(row, random, kind):
    x, v = operand(kind, shape_of(random, random.randint(1, 4)), random), operand(kind, [], random)
    while True:
        padding, to = [], []
        for extent in x.shape:
            low, high, inside = random.randint(-2, 2), random.randint(-2, 2), random.randrange(3)
            padding.append(f"{low}_{high}_{inside}" if inside or random.randrange(2) else f"{low}_{high}")
            to.append(extent + (extent - 1) * inside + low + high)
        if min(to) > 0:
            break
    return Module(row, [x, v], array(kind, to), f"pad(@0, @1), padding={'x'.join(padding)}", moves=True)


def concatenate(row, random, kind):
    shape = shape_of(random, random.randint(1, 4))
    dim, parts = random.randrange(len(shape)), []
    for _ in range(random.randint(1, 4)):
        parts.append(operand(kind, [random.randint(1, 3) if k == dim else extent for k, extent in enumerate(shape)], random))
    to = [sum(one.shape[dim] for one in parts) if k == dim else extent for k, extent in enumerate(shape)]
    inner = ", ".join(f"@{k}" for k in range(len(parts)))
    return Module(row, parts, array(kind, to), f"concatenate({inner}), dimensions={{{dim}}}", moves=True)


def broadcast(row, random, kind):
    to = shape_of(random)
    dims = sorted(random.sample(range(len(to)), random.randint(0, len(to))))
    x = operand(kind, [to[k] for k in dims], random)
    return Module(row, [x], array(kind, to), f"broadcast(@0), dimensions={listed(dims)}", moves=True)


def dynamic_slice(row, random, kind):
    x = operand(kind, shape_of(random, random.randint(1, 4)), random)  # of rank 0 the peer's own text is not read by it
    sizes = [random.randint(1, extent) for extent in x.shape]
    at = starts(x.shape, sizes, random)
    inner = "".join(f", @{k + 1}" for k in range(len(at)))
    return Module(row, [x, *at], array(kind, sizes), f"dynamic-slice(@0{inner}), dynamic_slice_sizes={listed(sizes)}", moves=True)


def dynamic_update_slice(row, random, kind):
    x = operand(kind, shape_of(random), random)
    u = operand(kind, [random.randint(1, extent) for extent in x.shape], random)
    at = starts(x.shape, u.shape, random)
    inner = "".join(f", @{k + 2}" for k in range(len(at)))
    return Module(row, [x, u, *at], array(kind, x.shape), f"dynamic-update-slice(@0, @1{inner})", moves=True)


def select(row, random, kind):
    shape = shape_of(random)
    chosen = same_operand("pred", shape if random.randrange(3) else [], random, 1)
    return Module(row, [chosen, operand(kind, shape, random), operand(kind, shape, random)], array(kind, shape), "select(@0, @1, @2)", moves=True)


def tuple_(row, random, kind):
    parts = [operand(kind, shape_of(random), random) for _ in range(random.randint(1, 3))]
    kinds = ", ".join(array(kind, one.shape) for one in parts)
    inner = ", ".join(f"@{k}" for k in range(len(parts)))
    if row == "tuple":
        return Module(row, parts, f"({kinds})", f"tuple({inner})", results=[f"ROOT e = ({kinds}) tuple({', '.join(f'o{k}' for k in range(len(parts)))})"], moves=True)
    which = random.randrange(len(parts))
    if row == "get-tuple-element":
        return Module(row, parts, f"({kinds})", f"tuple({inner})",
                      results=[f"ROOT e = {array(kind, parts[which].shape)} get-tuple-element(r), index={which}"], moves=True)
    if len(parts) == 1:
        return Module(row, parts, array(kind, parts[0].shape), "opt-barrier(@0)", moves=True)
    return Module(row, parts, f"({kinds})", f"tuple({inner})",
                  results=[f"b = ({kinds}) opt-barrier(r)", f"ROOT e = {array(kind, parts[which].shape)} get-tuple-element(b), index={which}"], moves=True)


# ---- What makes others --------------------------------------------------------------------------------------------------

def constant(row, random, kind):
    x = operand(kind, shape_of(random), random)
    return Module(row, [], array(kind, x.shape), f"constant({nested(kind, x.shape, x.tiles[0])})")


def iota(row, random, kind):
    shape = shape_of(random, random.randint(1, 4))
    dim = random.randrange(len(shape))
    return Module(row, [], array(kind, shape), f"iota(), iota_dimension={dim}")


def parameter(row, random, kind):
    x = operand(kind, shape_of(random), random)
    return Module(row, [x], array(kind, x.shape), "copy(@0)", moves=True)


def number(row, random, kind):
    replicas, partitions = random.choice([(1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (2, 4), (4, 2), (3, 2), (1, 8)])
    return Module(row, [], "u32[]", f"{row}()", replicas, partitions)


def convert(row, random, kind):
    to = random.choice(WITHOUT_COMPLEX)
    x = operand(kind, shape_of(random), random, draw_value=lambda kind, random: convertible(kind, to, random))
    return Module(row, [x], array(to, x.shape), "convert(@0)")


def convertible(kind, to, random):
    """Not what nobody defines: beyond the largest of a type without infinities, or what is none of its kind."""
    while True:
        one = value(kind, random)
        if to == "f8e8m0fnu" and one not in (1.0, 2.0, 0.5, 4.0):
            continue
        if to in FINITE and (one != one or abs(one) > 6):
            continue
        return one


def compare(row, random, kind):
    shape = shape_of(random)
    a, b = (operand(kind, shape, random, decides=True) for _ in "ab")
    orders = {"pred": ["", "UNSIGNED"]}.get(kind, ["", "FLOAT", "TOTALORDER"] if kind in REALS else ["", "SIGNED", "UNSIGNED"])
    order = random.choice(orders)
    return Module(row, [a, b], array("pred", shape), f"compare(@0, @1), direction={random.choice(['EQ', 'NE', 'LT', 'LE', 'GT', 'GE'])}"
                  + (f", type={order}" if order else ""))


def clamp(row, random, kind):
    shape = shape_of(random)
    low, x, high = (operand(kind, shape, random) for _ in "abc")
    if random.randrange(2):
        low, high = operand(kind, [], random), operand(kind, [], random)
    return Module(row, [low, x, high], array(kind, shape), "clamp(@0, @1, @2)")


def unary(row, random, kind):
    x = operand(kind, shape_of(random), random)
    return Module(row, [x], array(kind, x.shape), f"{row}(@0)")


def binary(row, random, kind):
    shape = shape_of(random)
    a, b = (operand(kind, shape, random, draw_value=small if kind in REALS and kind not in PRECISE else value) for _ in "ab")
    return Module(row, [a, b], array(kind, shape), f"{row}(@0, @1)", moves=False)


# ---- Collectives --------------------------------------------------------------------------------------------------------

class Group:
    """Counts of devices, groups of them and the attributes that say so, in every mode."""

    def __init__(self, random, modes, empty):
        self.replicas, self.partitions = random.choice([(1, 2), (1, 4), (2, 1), (4, 1), (2, 2), (1, 6), (2, 4), (4, 2), (1, 8), (3, 1)])
        self.mode = random.choice(modes)
        if self.mode in ("partitions", "devices") and self.partitions == 1:
            self.partitions, self.replicas = self.replicas, 1
        numbers = {"replicas": self.replicas, "partitions": self.partitions, "both": self.replicas, "devices": self.replicas * self.partitions}[self.mode]
        sizes = [n for n in range(1, numbers + 1) if numbers % n == 0]
        size = random.choice(sizes)
        order = random.sample(range(numbers), numbers)
        groups = [order[k:k + size] for k in range(0, numbers, size)]
        self.size = size * (self.partitions if self.mode == "both" else 1)
        channel = f", channel_id={random.randint(1, 9)}" if self.mode != "replicas" else ""
        ids = ", use_global_device_ids=true" if self.mode == "devices" else ""
        text = "{" + ",".join(map(listed, groups)) + "}"
        if size == numbers and order == sorted(order) and random.randrange(2) and self.mode in empty:
            text = "{}"
        elif random.randrange(3) == 0:
            text, sizes = f"[{numbers // size},{size}]<=[{numbers}]", [numbers // size, size]
        self.text = f", replica_groups={text}{channel}{ids}"

    @property
    def devices(self):
        return self.replicas * self.partitions


def collective(row, random, kind):
    modes = ["replicas", "partitions"] if row in ("all-to-all", "collective-permute") else ["replicas", "both", "devices"]
    group = Group(random, modes, [] if row == "all-to-all" else ["replicas", "both"])
    reduces = row in ("all-reduce", "reduce-scatter")
    shape = shape_of(random, random.randint(0 if row in ("all-reduce", "collective-permute") else 1, 3))
    dim = random.randrange(len(shape)) if shape else 0
    if row in ("all-to-all", "reduce-scatter"):
        shape[dim] = group.size * random.randint(1, 2)
    to = list(shape)
    if row == "all-gather":
        to[dim] *= group.size
    if row == "reduce-scatter":
        to[dim] //= group.size
    x = operand(kind, shape, random, group.devices, small if reduces else value)
    body, words, name = "", f", dimensions={{{dim}}}", ""
    if reduces:
        name = random.choice(["add", "maximum", "minimum"] + (["or", "and"] if kind == "pred" else []))
        body = f"%body (a: {kind}[], b: {kind}[]) -> {kind}[] {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n  ROOT c = {kind}[] {name}(a, b)\n}}\n"
        words = (words if row == "reduce-scatter" else "") + ", to_apply=%body"
    if row == "collective-permute":
        numbers = group.replicas if group.mode == "replicas" else group.partitions
        targets = random.sample(range(numbers), numbers)
        pairs = [(source, target) for source, target in enumerate(targets) if random.randrange(4)]
        channel = group.text[group.text.index(", channel_id"):] if "channel_id" in group.text else ""
        return Module(row, [x], array(kind, to), f"collective-permute(@0), source_target_pairs={{{','.join(f'{{{a},{b}}}' for a, b in pairs)}}}" + channel, group.replicas, group.partitions, moves=True)
    return Module(row, [x], array(kind, to), f"{row}(@0){group.text}{words}", group.replicas, group.partitions, body, moves=True)


MAKERS = {"parameter": (parameter, ALL), "constant": (constant, WITHOUT_COMPLEX), "iota": (iota, INTEGERS + REALS), "partition-id": (number, ["u32"]),
          "replica-id": (number, ["u32"]), "tuple": (tuple_, ALL), "get-tuple-element": (tuple_, ALL), "opt-barrier": (tuple_, ALL),
          "copy": (plain, ALL), "bitcast": (reshape, ALL), "reshape": (reshape, ALL), "transpose": (transpose, ALL), "reverse": (reverse, ALL),
          "slice": (slice_, ALL), "pad": (pad, ALL), "concatenate": (concatenate, ALL), "broadcast": (broadcast, ALL),
          "dynamic-slice": (dynamic_slice, ALL), "dynamic-update-slice": (dynamic_update_slice, ALL), "select": (select, ALL),
          "convert": (convert, WITHOUT_COMPLEX), "compare": (compare, WITHOUT_COMPLEX), "clamp": (clamp, INTEGERS + PRECISE),
          **{row: (unary, kinds) for row, kinds in UNARY.items()}, **{row: (binary, kinds) for row, kinds in BINARY.items()},
          "all-gather": (collective, ALL), "all-to-all": (collective, ALL), "collective-permute": (collective, ALL),
          "all-reduce": (collective, WITHOUT_COMPLEX), "reduce-scatter": (collective, WITHOUT_COMPLEX)}


def draw(row, number_, random):
    """Module `number_` of a row: types one after the other."""
    make, kinds = MAKERS[row]
    return make(row, random, kinds[number_ % len(kinds)])
