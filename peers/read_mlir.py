"""StableHLO per device, and Shardy's collectives, as jaxlib prints them."""

import re

import numpy as np

import ends
from groups import along, numbers, rows
from tags import Held, Machine, Refused, take_boxes

TENSOR = re.compile(r"tensor<((?:\d+x)*)([\w]+)>")
MESH = re.compile(r"sdy\.mesh\s+@([\w.\-]+)\s*=\s*<\[(.*?)\](?:,\s*device_ids=\[([\d,\s]*)\])?>")
ALONE = {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "negate"}


def extents(text):
    found = TENSOR.fullmatch(text.strip())
    if not found:
        raise Refused(f"no tensor: {text[:60]}")
    return tuple(int(one) for one in found[1].split("x") if one)


def meshes(text):
    found = {}
    for name, axes, order in MESH.findall(text):
        listed = [(axis, int(size)) for axis, size in re.findall(r'"([^"]+)"\s*=\s*(\d+)', axes)]
        found[name] = (listed, numbers(order) if order.strip() else None)
    return found


def body(text):
    """The lines of the one function, an operation in each."""
    lines, inside = [], False
    for line in text.splitlines():
        if "func.func" in line:
            if inside:
                raise Refused("several functions")
            inside = True
            argument = re.search(r"\((%[\w]+)\s*:\s*(tensor<[^>]*>)", line)
            if not argument:
                raise Refused("no argument")
            lines.append(("argument", argument[1], extents(argument[2]), line))
        elif inside and line.strip() not in ("", "}"):
            lines.append(("line", line.strip()))
    if not lines:
        raise Refused("no function")
    return lines


def joined(lines):
    """Operations with a region stand on one line."""
    whole = []
    for line in lines:
        if whole and whole[-1].count("({") > whole[-1].count("})"):
            whole[-1] += " " + line
        else:
            whole.append(line)
    return whole


def dense(text):
    """`dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>` as numbers of that shape."""
    found = re.search(r"dense<(.*?)>\s*:\s*(tensor<[^>]*>)", text)
    if not found:
        raise Refused(f"no dense numbers: {text[:60]}")
    shape, kind = extents(found[2]), TENSOR.fullmatch(found[2])[2]
    words = found[1].strip()
    if words.startswith('"0x'):
        raw = bytes.fromhex(words.strip('"')[2:])
        if kind not in ("i64", "i32", "ui32", "ui64"):
            raise Refused(f"dense {kind} as hexadecimal digits")
        listed = np.frombuffer(raw, dtype="<i8" if kind.endswith("64") else "<i4").astype(np.int64)
    else:
        flat = [one for one in re.sub(r"[\[\]\s]", "", words).split(",") if one]
        listed = np.array([{"true": 1, "false": 0}[one] if one in ("true", "false") else
                           int(one) if re.fullmatch(r"-?\d+", one) else int(float(one) != 0) for one in flat], dtype=np.int64)
    if listed.size == 1 and np.prod(shape, dtype=np.int64) != 1:
        return np.full(shape, listed[0])
    if listed.size != np.prod(shape, dtype=np.int64):
        raise Refused("dense numbers of another size")
    return listed.reshape(shape)


def groups_of(text, known):
    at = text.find("replica_groups = ")
    if at < 0:
        raise Refused("replica_groups is missing")
    rest = text[at + len("replica_groups = "):]
    if rest.startswith("dense"):
        return [[device for device in row if device >= 0] for row in dense(rest).tolist()]
    found = re.match(r"#stablehlo\.replica_group_mesh_axes<mesh = @([\w.\-]+), axes = \[(.*?)\]>", rest)
    if not found or found[1] not in known:
        raise Refused(f"groups are not read: {rest[:60]}")
    axes = [(name, int(before or 1), int(part) if part else None) for name, before, part in
            re.findall(r'axis_ref<name = "([^"]+)"(?:, sub_axis_info = \((\d+)\)(\d+))?>', found[2])]
    mesh, order = known[found[1]]
    return along(mesh, order, axes)


def number(text, name):
    found = re.search(name + r" = (-?\d+)", text)
    if not found:
        raise Refused(f"{name} is missing")
    return int(found[1])


def listed(text, name):
    found = re.search(name + r"\s*=\s*(?:array<i64(?::\s*([-\d,\s]*))?>|\[([-\d,\s]*)\])", text)
    if not found:
        raise Refused(f"{name} is missing")
    return numbers(found[1] or found[2] or "")


def results(text):
    """The type behind the last arrow, or behind the last colon."""
    tail = text.rsplit("->", 1)[-1] if "->" in text.rsplit(" : ", 1)[-1] else text.rsplit(" : ", 1)[-1]
    return extents(tail)


def run_stablehlo(text, start):
    known = meshes(text)
    parts = re.search(r"num_partitions = (\d+)", text)
    if not parts:
        raise Refused("no number of partitions")
    machine = Machine(int(parts[1]))
    first, *rest = body(text)
    values, seen = {first[1]: start(machine, first[2])}, []
    seen.append((first[1], "argument", values[first[1]]))
    for line in joined([one[1] for one in rest]):
        if re.match(r"(func\.)?return\b", line):
            given = re.findall(r"%[\w#]+", line)
            if len(given) != 1 or given[0] not in values:
                raise Refused("one result")
            return machine, values[given[0]], seen
        found = re.match(r'(%[\w]+)\s*=\s*"?(?:stablehlo\.)([\w]+)"?(.*)$', line)
        if not found:
            raise Refused(f"not read: {line[:60]}")
        name, op, tail = found.groups()
        names = re.findall(r"%[\w]+", tail.split("({")[0])
        if any(one not in values for one in names):
            raise Refused(f"an operand of {name} is not known")
        out = tile_operation(machine, op, tail, [values[one] for one in names], results(tail), known)
        if out.shape != results(tail):
            raise Refused(f"{name} is said to be {results(tail)}, and is {out.shape}")
        written = re.search(r":\s*\(([^()]*)\)\s*->", tail)
        if written:
            types = [extents(one) for one in re.findall(r"tensor<[^>]*>", written[1])]
            if types != [values[one].shape for one in names]:
                raise Refused(f"operands of {name} are of another type")
        values[name] = out
        seen.append((name, op, out))
    raise Refused("no return")


def tile_operation(machine, op, tail, given, shape, known):
    if op == "constant":
        return machine.constant(dense(tail))
    if op == "partition_id":
        return machine.device_number()
    if op == "iota":
        return machine.iota(shape, number(tail, "dim"))
    if not given:
        raise Refused(f"{op} without operands")
    one = given[0]
    if op in ("convert", "optimization_barrier"):
        return one
    if op == "reshape":
        return machine.reshape(one, shape)
    if op == "transpose":
        return machine.transpose(one, listed(tail, "dims"))
    if op == "slice":
        bounds = re.findall(r"(\d+):(\d+)(?::(\d+))?", re.search(r"\[(.*?)\]", tail)[1])
        return machine.slice(one, [(int(low), int(high), int(step or 1)) for low, high, step in bounds])
    if op == "pad":
        low, high, interior = (listed(tail, key) for key in ("low", "high", "interior"))
        return machine.pad(one, given[1], list(zip(low, high, interior)))
    if op == "concatenate":
        return machine.concatenate(given, number(tail, "dim"))
    if op == "broadcast_in_dim":
        return machine.broadcast(one, shape, listed(tail, "dims"))
    if op == "dynamic_slice":
        return machine.dynamic_slice(one, given[1:], listed(tail, "sizes"))
    if op == "dynamic_update_slice":
        return machine.dynamic_update_slice(one, given[1], given[2:])
    if op == "select":
        return machine.select(*given)
    if op == "compare":
        return machine.calculate(re.match(r"\s*(\w+)", tail)[1], given)
    if op in ALONE:
        return machine.calculate(op, given)
    if op == "collective_permute":
        return machine.permute(one, dense(tail.split("source_target_pairs = ")[1]).tolist())
    if op not in ("all_gather", "all_to_all", "all_reduce", "reduce_scatter"):
        raise Refused(f"stablehlo.{op} is not read")
    groups = groups_of(tail, known)
    if op == "all_gather":
        return machine.all_gather(one, groups, number(tail, "all_gather_dim"))
    if op == "all_to_all":
        if any(len(group) != number(tail, "split_count") for group in groups):
            raise Refused("split_count is not the size of the groups")
        return machine.all_to_all(one, groups, number(tail, "split_dimension"), number(tail, "concat_dimension"))
    region = re.findall(r"stablehlo\.(add|maximum|minimum)\b", tail)
    if len(region) != 1:
        raise Refused("the reduction is not read")
    if op == "all_reduce":
        return machine.all_reduce(one, groups, region[0])
    return machine.reduce_scatter(one, groups, number(tail, "scatter_dimension"), region[0])


# Shardy: the types are of the whole array; what each device holds, the sharding says.


class Spread:
    """Which digits of the mesh cut each dimension (major to minor), and along which there are addends."""

    def __init__(self, mesh, order, dims, sums, kind="sum"):
        self.mesh, self.order, self.dims, self.sums, self.kind = mesh, order, dims, sums, kind

    def sizes(self, digits):
        return int(np.prod([part for _, _, part in digits], dtype=np.int64))

    def numbers(self, digits):
        """For every device its number along the digits."""
        whole = dict(self.mesh)
        places = ends.positions({"mesh": self.mesh, "from_order": self.order}, "from")
        found = np.zeros(int(np.prod([size for _, size in self.mesh], dtype=np.int64)), dtype=np.int64)
        for name, before, part in digits:
            found = found * part + places[name] // (whole[name] // (before * part)) % part
        return found

    def boxes(self, shape):
        """Starts and limits in the array, a row for every device."""
        columns = []
        for extent, digits in zip(shape, self.dims):
            tile = -(-extent // self.sizes(digits))
            at = self.numbers(digits)
            columns.append((np.minimum(at * tile, extent), np.minimum((at + 1) * tile, extent)))
        count = len(self.numbers([]))
        empty = np.zeros((count, 0), dtype=np.int64)
        return tuple(np.stack([one[k] for one in columns], axis=1) if columns else empty for k in (0, 1))

    def tile(self, shape):
        return [-(-extent // self.sizes(digits)) for extent, digits in zip(shape, self.dims)]

    def check(self):
        used = [digit for digits in self.dims + [self.sums] for digit in digits]
        for name, size in self.mesh:
            spans = sorted((before, before * part) for one, before, part in used if one == name)
            if any(high[0] % low[1] for low, high in zip(spans, spans[1:])) or any(size % high for _, high in spans):
                raise Refused(f"parts of axis {name} meet")

    def same(self, other, shape):
        if any(np.any(a != b) for a, b in zip(self.boxes(shape), other.boxes(shape))):
            return False
        if self.sizes(self.sums) != self.sizes(other.sums) or (self.sums and self.kind != other.kind):
            return False
        return bool(np.all(self.numbers(self.sums) == other.numbers(other.sums)))


def digits_of(text, mesh):
    """`"x", "y":(1)2` as (axis, what is before it, its size)."""
    whole, found = dict(mesh), []
    left = re.sub(r'"[^"]+"(?::\(\d+\)\d+)?|[,\s?]', "", text)
    if left:
        raise Refused(f"axes are not read: {text[:40]}")
    for name, before, part in re.findall(r'"([^"]+)"(?::\((\d+)\)(\d+))?', text):
        if name not in whole:
            raise Refused(f"no axis {name}")
        size = int(part) if part else whole[name]
        before = int(before or 1)
        if size < 1 or before < 1 or whole[name] % (before * size):
            raise Refused(f"no such part of axis {name}")
        if size > 1:
            found.append((name, before, size))
    return found


def merged(digits):
    """Neighbouring parts of an axis as one."""
    out = []
    for name, before, part in digits:
        if out and out[-1][0] == name and out[-1][1] * out[-1][2] == before:
            out[-1] = (name, out[-1][1], out[-1][2] * part)
        else:
            out.append((name, before, part))
    return out


def lists_of(text, mesh):
    """`[{"x"}, {}]`, a list for every dimension."""
    found = re.match(r"\s*\[((?:\s*\{[^{}]*\}(?:p\d+)?\s*,?)*)\]", text)
    if not found:
        raise Refused(f"no lists of axes: {text[:40]}")
    return [digits_of(one, mesh) for one in re.findall(r"\{([^{}]*)\}", found[1])]


def sharding_of(text, known, rank):
    found = re.match(r"(?:#sdy\.sharding)?<@([\w.\-]+),\s*", text)
    if not found or found[1] not in known:
        raise Refused(f"no sharding: {text[:60]}")
    mesh, order = known[found[1]]
    tail = text[found.end():]
    dims = lists_of(tail, mesh)
    if len(dims) != rank:
        raise Refused("a sharding of another rank")
    sums = re.match(r"\s*\[[^\]]*\](?:,\s*replicated=\{[^}]*\})?,\s*unreduced=?(sum|max|min)?\s*\{([^}]*)\}", tail)
    spread = Spread(mesh, order, dims, digits_of(sums[2], mesh) if sums else [], (sums[1] or "sum") if sums else "sum")
    spread.check()
    return spread


class Shardy:
    """One function: what each device holds, and what it is said to hold."""

    def __init__(self, text, start):
        self.known = meshes(text)
        first, *rest = body(text)
        self.shape, head = first[2], first[3]
        stated = re.search(r"%\w+:\s*tensor<[^>]*>\s*\{.*?sdy\.sharding = (#sdy\.sharding<.*?\]?[^\]>]*>)\}", head.split("->")[0] + "}")
        self.lines = joined([one[1] for one in rest])
        if stated:
            self.spread = sharding_of(stated[1], self.known, len(self.shape))
        elif len(self.known) == 1:
            mesh, order = next(iter(self.known.values()))
            self.spread = Spread(mesh, order, [[] for _ in self.shape], [])
        else:
            raise Refused("the argument has no sharding")
        self.machine = Machine(len(self.spread.numbers([])))
        self.values = {first[1]: (start(self.machine, tuple(self.spread.tile(self.shape))), self.spread)}
        self.seen = [(first[1], "argument", self.values[first[1]][0])]

    def run(self):
        """Answers like the others; with the name of the first value that is not what it is said to be, if any."""
        for line in self.lines:
            if re.match(r"(func\.)?return\b", line):
                given = re.findall(r"%[\w]+", line)
                if len(given) != 1 or given[0] not in self.values:
                    raise Refused("one result")
                return self.machine, self.values[given[0]][0], self.seen, None
            found = re.match(r"(%[\w]+)\s*=\s*sdy\.(\w+)\s+(.*?)(%[\w]+)\s+out_sharding=(<.*>)\s*:\s*(tensor<[^>]*>)$", line)
            if not found:
                raise Refused(f"not read: {line[:60]}")
            name, op, axes, operand, claim, kind = found.groups()
            if operand not in self.values or extents(kind) != self.shape:
                raise Refused(f"{name} has an operand that is not known, or another type")
            value, spread = self.values[operand]
            claimed = sharding_of(claim, self.known, len(self.shape))
            made = Spread(spread.mesh, spread.order, [list(one) for one in spread.dims], list(spread.sums), spread.kind)
            if op == "collective_permute":
                out = self.permuted(value, made, claimed)
                right = out is not None
            else:
                out = self.moved(op, axes, value, made)
                made.check()
                right = len(claimed.numbers([])) == self.machine.devices and made.same(claimed, self.shape)
            self.seen.append((name, f"sdy.{op}", out))
            if not right:
                return self.machine, None, self.seen, name
            self.values[name] = (out, claimed)
        raise Refused("no return")

    def permuted(self, value, made, claimed):
        """Every device gets the tile that it is said to hold, if there is one."""
        if made.tile(self.shape) != claimed.tile(self.shape):
            return None
        held = list(zip(*(map(tuple, part) for part in made.boxes(self.shape)), made.numbers(made.sums)))
        wanted = list(zip(*(map(tuple, part) for part in claimed.boxes(self.shape)), claimed.numbers(claimed.sums)))
        if made.sizes(made.sums) != claimed.sizes(claimed.sums):
            return None
        sources = {}
        for device, key in enumerate(held):
            sources.setdefault(key, device)
        if any(key not in sources for key in wanted):
            return None
        return Held(value.cells[[sources[key] for key in wanted]], value.tagged)

    def groups(self, spread, digits):
        axes = [(name, before, part) for name, before, part in digits]
        return along(spread.mesh, spread.order, axes)

    def take(self, spread, dim, digits):
        """Takes the last digits of a dimension; a digit may be a part of what the sharding lists."""
        left = list(spread.dims[dim])
        for name, before, part in reversed(digits):
            while part > 1:
                axis, above, size = left.pop() if left else (None, 0, 0)
                common = min(size, part)
                if axis != name or above * size != before * part or size % common or part % common:
                    raise Refused("these axes are not the last ones of the dimension")
                part //= common
                if size > common:
                    left.append((axis, above, size // common))
        spread.dims[dim] = merged(left)

    def give(self, spread, dim, digits):
        spread.dims[dim] = merged(spread.dims[dim] + digits)

    def forget(self, spread, digits):
        """A slice along axes of addends: everyone keeps a part of its own addend, and nobody adds up."""
        whole = dict(spread.mesh)
        gone = primes(digits, whole)
        spread.sums = merged([one for one in primes(spread.sums, whole) if one not in gone])

    def check_cuts(self, fine, count, coarse, parts):
        """Whether tiles begin at the same places before and after, or one of them is whole."""
        self.recut = self.recut or (count != parts and fine * parts != coarse)

    def moved(self, op, axes, value, spread):
        """The types are of the whole array: where tiles begin at other places than before, every device gets its own."""
        before = Spread(spread.mesh, spread.order, [list(one) for one in spread.dims], list(spread.sums), spread.kind)
        self.recut = False
        out = self.collective(op, axes, value, spread)
        return self.assembled(value, before, spread) if self.recut else out

    def assembled(self, value, before, after):
        if before.sums != after.sums:
            raise Refused("an uneven cut of addends")
        whole = np.full([before.sizes(before.sums)] + list(self.shape), -2, dtype=np.int64)
        (starts, limits), addend = before.boxes(self.shape), before.numbers(before.sums)
        for device in reversed(range(len(addend))):
            box = tuple(slice(low, high) for low, high in zip(starts[device], limits[device]))
            inside = tuple(slice(high - low) for low, high in zip(starts[device], limits[device]))
            whole[(addend[device], *box)] = value.cells[(device, *inside)]
        (starts, limits), tile = after.boxes(self.shape), after.tile(self.shape)
        out = np.full([len(addend)] + tile, -2, dtype=np.int64)
        for device in range(len(addend)):
            box = tuple(slice(low, high) for low, high in zip(starts[device], limits[device]))
            inside = tuple(slice(high - low) for low, high in zip(starts[device], limits[device]))
            out[(device, *inside)] = whole[(addend[device], *box)]
        return Held(out, True)

    def collective(self, op, axes, value, spread):
        cells, shape = value.cells, self.shape
        if op == "all_gather":
            for dim, digits in enumerate(self.lists(axes, spread)):
                if digits:
                    fine, count = spread.tile(shape)[dim], spread.sizes(spread.dims[dim])
                    self.take(spread, dim, digits)
                    self.check_cuts(fine, count, spread.tile(shape)[dim], spread.sizes(digits))
                    cells = self.machine.all_gather(Held(cells, True), self.groups(spread, digits), dim).cells
                    cells = fit(cells, dim, spread.tile(shape)[dim])
            return Held(cells, True)
        if op == "all_slice":
            starts, whole = [], spread.tile(shape)
            for dim, digits in enumerate(self.lists(axes, spread)):
                self.forget(spread, digits)
                self.give(spread, dim, digits)
                fine = spread.tile(shape)[dim]
                self.check_cuts(fine, spread.sizes(spread.dims[dim]), whole[dim], spread.sizes(digits))
                starts.append(spread.numbers(digits) * fine)
                cells = fit(cells, dim, fine * spread.sizes(digits))
            if self.recut:
                return None
            starts = np.stack(starts, axis=1) if starts else np.zeros((len(cells), 0), dtype=np.int64)
            return Held(take_boxes(cells, starts, spread.tile(shape)), True)
        if op == "all_to_all":
            found = re.fullmatch(r"\s*\[(.*)\]\s*", axes)
            moves = re.findall(r"\{([^{}]*)\}:\s*(\d+)->(\d+)", found[1] if found else "")
            if not moves:
                raise Refused("no moves")
            listed_moves = [(digits_of(text, spread.mesh), int(source), int(target)) for text, source, target in moves]
            if any(source == target or max(source, target) >= len(shape) for _, source, target in listed_moves):
                raise Refused("no such move")
            for digits, source, _ in listed_moves:
                fine, count = spread.tile(shape)[source], spread.sizes(spread.dims[source])
                self.take(spread, source, digits)
                self.check_cuts(fine, count, spread.tile(shape)[source], spread.sizes(digits))
            for digits, _, target in listed_moves:
                coarse = spread.tile(shape)[target]
                self.give(spread, target, digits)
                self.check_cuts(spread.tile(shape)[target], spread.sizes(spread.dims[target]), coarse, spread.sizes(digits))
            for digits, source, target in [] if self.recut else listed_moves:
                cells = fit(cells, target, spread.tile(shape)[target] * spread.sizes(digits))
                cells = self.machine.all_to_all(Held(cells, True), self.groups(spread, digits), target, source).cells
                cells = fit(cells, source, spread.tile(shape)[source])
            return Held(cells, True)
        kind = {"sum": "add", "max": "maximum", "min": "minimum"}[spread.kind]
        if op == "all_reduce":
            word = re.fullmatch(r"\s*(sum|max|min)?\s*\{([^{}]*)\}\s*", axes)
            digits = self.reduced(spread, word[2] if word else None, word[1] if word else None)
            return self.machine.all_reduce(Held(cells, True), self.groups(spread, digits), kind)
        if op == "reduce_scatter":
            word = re.fullmatch(r"\s*(sum|max|min)?\s*(\[.*\])\s*", axes)
            if not word:
                raise Refused("no axes")
            for dim, digits in enumerate(self.lists(word[2], spread)):
                if digits:
                    self.reduced(spread, digits, word[1])
                    coarse = spread.tile(shape)[dim]
                    self.give(spread, dim, digits)
                    fine = spread.tile(shape)[dim]
                    self.check_cuts(fine, spread.sizes(spread.dims[dim]), coarse, spread.sizes(digits))
                    cells = fit(cells, dim, fine * spread.sizes(digits))
                    if self.recut:
                        raise Refused("an uneven cut of addends")
                    cells = self.machine.reduce_scatter(Held(cells, True), self.groups(spread, digits), dim, kind).cells
            return Held(cells, True)
        raise Refused(f"sdy.{op} is not read")

    def lists(self, axes, spread):
        lists = lists_of(axes, spread.mesh)
        if len(lists) != len(self.shape):
            raise Refused("a list for every dimension")
        return lists

    def reduced(self, spread, axes, word):
        digits = digits_of(axes, spread.mesh) if isinstance(axes, str) else axes
        if digits is None or (word and word != spread.kind):
            raise Refused("another reduction than that of the operand")
        left, gone = primes(spread.sums, dict(spread.mesh)), primes(digits, dict(spread.mesh))
        if any(one not in left for one in gone):
            raise Refused("the operand has no addends along these axes")
        spread.sums = merged([one for one in left if one not in gone])
        return digits


def primes(digits, sizes):
    """Every digit as its prime factors, so that parts of parts compare."""
    out = []
    for name, before, part in digits:
        cuts = sorted(cut for cut in range(1, sizes[name] + 1) if sizes[name] % cut == 0)
        chain = [before]
        while chain[-1] < before * part:
            chain.append(next(cut for cut in cuts if cut > chain[-1] and cut % chain[-1] == 0 and before * part % cut == 0))
        out += [(name, low, high // low) for low, high in zip(chain, chain[1:])]
    return out


def fit(cells, dim, extent):
    """Takes what is too much at the end, or adds what nobody looks at."""
    have = cells.shape[dim + 1]
    if have >= extent:
        return cells[(slice(None),) * (dim + 1) + (slice(extent),)]
    shape = list(cells.shape)
    shape[dim + 1] = extent - have
    return np.concatenate([cells, np.full(shape, -2)], axis=dim + 1)
