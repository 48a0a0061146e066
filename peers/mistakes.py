"""One mistake planted in the text of a compiler: devices of groups, offsets, dimensions, parts of axes, or an operation left out."""

import random
import re


def places(pattern, text):
    return list(re.finditer(pattern, text))


def put(text, found, new, group=0):
    return text[:found.start(group)] + new + text[found.end(group):]


def swapped(listed, draw):
    """The same numbers with two different ones exchanged."""
    numbers = re.findall(r"\d+", listed)
    pairs = [(i, j) for i in range(len(numbers)) for j in range(i) if numbers[i] != numbers[j]]
    if not pairs:
        return None
    i, j = draw.choice(pairs)
    numbers[i], numbers[j] = numbers[j], numbers[i]
    following = iter(numbers)
    return re.sub(r"\d+", lambda _: next(following), listed)


def choose(text, pattern, change, draw, group=0):
    """One of the places that match, changed; nothing where none changes."""
    found = places(pattern, text)
    draw.shuffle(found)
    for one in found:
        new = change(one[group])
        if new is not None and new != one[group]:
            return put(text, one, new, group)
    return None


def group_entry(text, draw):
    """Two devices of the groups or pairs exchanged, or two axes."""
    ways = [
        (r"(?:replica_groups|source_target_pairs)=(\{\{[\d,{}]*\}\})", lambda one: swapped(one, draw)),
        (r"(?:replica_groups|source_target_pairs) = dense<(\[\[.*?\]\])>", lambda one: swapped(one, draw)),
        (r"replica_groups=mesh\[[^\]]*\][^{\n]*(\{'[^}]*\})", lambda one: other_axes(one, r"'[^']+'(?::\(\d+\)\d+)?", draw)),
        (r"axes = \[(#stablehlo.axis_ref[^\]]*)\]", lambda one: other_axes(one, r"#stablehlo\.axis_ref<[^>]*>", draw)),
        (r"sdy\.\w+ \[(.*?)\] %", lambda one: other_axes(one, r'"[^"]+"(?::\(\d+\)\d+)?', draw)),
        (r'"(\w)"(?=[,}:])', lambda one: draw.choice([name for name in "xyz" if name != one])),
        (r"replica_groups=mesh\[[^\]]*\][^{\n]*\{'(\w+)'", lambda one: re.sub(r"\d|\w$", lambda m: draw.choice("012xyz"), one)),
        (r'axis_ref<name = "(\w)"', lambda one: draw.choice("xyz")),
    ]
    draw.shuffle(ways)
    for pattern, change in ways:
        new = choose(text, pattern, change, draw, 1)
        if new:
            return new
    return None


def other_axes(listed, pattern, draw):
    axes = re.findall(pattern, listed)
    if len(axes) < 2:
        return None
    order = axes[:]
    draw.shuffle(order)
    following = iter(order)
    return re.sub(pattern, lambda _: next(following), listed)


def turn(text, draw):
    """T(..), or the order of a transpose."""
    return choose(text, r"(?:T\(|transpose\(%[\w.\-]+\), dimensions=\{|, dims = \[)([\d, ]+)[\]})]", lambda one: swapped(one, draw), draw, 1)


def table(text, draw):
    """A table of offsets begins with its second entry."""
    def rotate(listed):
        numbers = re.findall(r"\d+", listed)
        following = iter(numbers[1:] + numbers[:1])
        return re.sub(r"\d+", lambda _: next(following), listed)
    return choose(text, r"(?:constant\(\{|constant dense<\[)(\d+(?:, \d+)+)[}\]]", rotate, draw, 1)


def dropped(text, draw):
    """An operation whose result has its operand's type is left out."""
    lines = text.splitlines()
    found = []
    for k, line in enumerate(lines):
        hlo = re.match(r"\s*(?:ROOT )?(%[\w.\-]+) = (\w+\[[\d,]*\])\S* [\w\-]+\((%[\w.\-]+)\)", line)
        stable = re.match(r'\s*(%\w+) = "?stablehlo\.\w+"?\(?\s*(%\w+).*: \((tensor<[^>]*>).*\) -> (tensor<[^>]*>)$', line)
        shardy = re.match(r"\s*(%\w+) = sdy\.\w+ .*?(%\w+) out_sharding", line)
        if hlo:
            operand = [one for one in lines if re.match(r"\s*" + re.escape(hlo[3]) + " = ", one)]
            if operand and re.search(r"= (\w+\[[\d,]*\])", operand[0])[1] == hlo[2]:
                found.append((k, hlo[1], hlo[3]))
        elif stable and stable[3] == stable[4]:
            found.append((k, stable[1], stable[2]))
        elif shardy:
            found.append((k, shardy[1], shardy[2]))
    if not found:
        return None
    k, name, operand = draw.choice(found)
    root = "ROOT " in lines[k]
    kept = lines[:k] + lines[k + 1:]
    if root:
        made = next(j for j, line in enumerate(kept) if re.match(r"\s*" + re.escape(operand) + " = ", line))
        if made != k - 1:
            return None
        kept[made] = re.sub(r"%", "ROOT %", kept[made], count=1)
    return "\n".join(re.sub(re.escape(name) + r"(?![\w.\-])", operand, line) for line in kept) + "\n"


def dimension(text, draw):
    """A collective or concatenation works along another dimension."""
    def change(listed):
        return str(draw.choice([one for one in range(4) if str(one) != listed]))
    ways = [r"all-(?:gather|to-all)\(.*?dimensions=\{(\d)\}", r"(?:all_gather_dim|split_dimension|concat_dimension|scatter_dimension) = (\d)",
            r"\}: \d->(\d)", r"\}: (\d)->\d", r"concatenate\(.*?dimensions=\{(\d)\}", r"iota_dimension=(\d)"]
    draw.shuffle(ways)
    for pattern in ways:
        new = choose(text, pattern, change, draw, 1)
        if new:
            return new
    found = re.search(r"sdy\.(?:all_gather|all_slice) (\[\{.*?\}\]) %", text)
    if found:
        lists = re.findall(r"\{[^{}]*\}", found[1])
        order = lists[:]
        draw.shuffle(order)
        if order != lists:
            return put(text, found, f"[{', '.join(order)}]", 1)
    return None


def sub_axis(text, draw):
    """Another part of an axis."""
    def change(listed):
        before, part = re.findall(r"\d+", listed)
        return draw.choice([f"({part}){before}", f"({part}){part}", f"(1){part}", f"({before}){int(part) * 2}", f"({before}){max(int(part) // 2, 1)}"])
    return choose(text, r"""(?:['"]:|sub_axis_info = )(\(\d+\)\d+)""", change, draw, 1)


def padding(text, draw):
    """A pad, a slice or a table one further."""
    def shift(listed):
        numbers = [int(one) for one in re.findall(r"\d+", listed)]
        if len(numbers) == 2 and "_" in listed:
            return f"{numbers[0] + 1}_{numbers[1] - 1}" if numbers[1] else f"{max(numbers[0] - 1, 0)}_1"
        return re.sub(r"\d+", lambda m: str(int(m[0]) + 1), listed)
    ways = [r"padding=(?:\d+_\d+x)*?(\d+_\d+)", r"slice=\{(?:\[\d+:\d+\], )*?\[(\d+:\d+)\]", r"s32\[\d+\]\{0\} constant\(\{(?:\d+, )*?(\d+)",
            r"constant dense<\[(?:\d+, )*?(\d+)", r"stablehlo.slice %\w+ \[(?:\d+:\d+, )*?(\d+:\d+)"]
    draw.shuffle(ways)
    for pattern in ways:
        new = choose(text, pattern, shift, draw, 1)
        if new:
            return new
    return None


KINDS = {"group": group_entry, "turn": turn, "table": table, "dropped": dropped, "dimension": dimension, "sub-axis": sub_axis,
         "padding": padding}


def mutant(text, kind, seed):
    """The text with one mistake of that kind, or nothing. What says the ends of an MLIR function, and its mesh, stays."""
    head, inner = "", text
    if "func.func" in text:
        at = text.index("\n", text.index("func.func")) + 1
        head, inner = text[:at], text[at:]
    new = KINDS[kind](inner, random.Random(f"mutant {seed}"))
    if new is None or new == inner or " = " not in new:  # a function that does nothing does not say what its types are of
        return None
    return head + new
