"""Operations of HLO on single numbers, lifted over arrays: reals as doubles, integers and predicates as machines have them."""

import math

import numpy as np

from whole_text import COMPLEX, REALS, Refusal

# What a real holds: bits of fraction that are written down, bits of exponent.
FORMATS = {"f64": (52, 11), "f32": (23, 8), "bf16": (7, 8), "f16": (10, 5), "f8e5m2": (2, 5), "f8e4m3": (3, 4), "f8e3m4": (4, 3)}


def is_signed(values):
    return values.dtype.kind == "i"


def bits_of(kind):
    if kind.kind == "pred":
        return 1
    digits = "".join(one for one in kind.kind.split("e")[0] if one.isdigit())
    return int(digits)


def unsigned(values):
    """The same bits as an unsigned integer."""
    return values.view(np.dtype(f"u{values.dtype.itemsize}"))


def fold_width(values, kind):
    """Integers of 2 and 4 bits are kept in 8: what runs over is cut off."""
    if kind.kind not in ("s2", "s4", "u2", "u4"):
        return values
    bits = bits_of(kind)
    cut = values.astype(np.int64) & ((1 << bits) - 1)
    if kind.kind[0] == "s":
        cut = np.where(cut >> (bits - 1), cut - (1 << bits), cut)
    return cut.astype(kind.dtype)


# --------------------------------------------------------------------------------------------------------------- two operands
def divide(a, b):
    if a.dtype.kind in "fc":
        return np.divide(a, b)
    zero = b == 0
    safe = np.where(zero, np.ones_like(b), b)
    if not is_signed(a):
        return np.where(zero, np.array(np.iinfo(a.dtype).max, a.dtype), a // safe)
    over = (b == -1) & (a == np.iinfo(a.dtype).min)
    safe = np.where(over, np.ones_like(b), safe)
    quotient = a // safe
    quotient = quotient + ((quotient < 0) & (quotient * safe != a)).astype(a.dtype)
    return np.where(zero, np.array(-1, a.dtype), np.where(over, a, quotient)).astype(a.dtype)


def remainder(a, b):
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    zero = b == 0
    safe = np.where(zero, np.ones_like(b), b)
    if is_signed(a):
        safe = np.where(b == -1, np.ones_like(b), safe)
    return np.where(zero, a, np.fmod(a, safe)).astype(a.dtype)


def power(a, b):
    if a.dtype.kind == "f":
        return np.where((b == 0) | (a == 1), 1.0, np.power(a, b))
    if a.dtype.kind == "c":
        return np.where(b == 0, 1.0, np.power(a, b))
    a, b = np.broadcast_arrays(a, b)
    out, base, left = np.ones_like(a), a.copy(), np.where(b < 0, 0, b).astype(np.uint64)
    while left.any():
        out = np.where(left & np.uint64(1), out * base, out).astype(a.dtype)
        base, left = (base * base).astype(a.dtype), left >> np.uint64(1)
    if not is_signed(a):
        return out
    odd = np.where(b & 1, a, np.ones_like(a))
    small = np.where(a == 1, np.ones_like(a), np.where(a == -1, odd, np.zeros_like(a)))
    return np.where(b < 0, small, out).astype(a.dtype)


def shifted(how):
    def shift(a, b):
        bits = a.dtype.itemsize * 8
        inside = unsigned(np.ascontiguousarray(b)) < bits
        by = np.where(inside, b, np.zeros_like(b))
        if how == "left":
            return np.where(inside, unsigned(np.ascontiguousarray(a)) << unsigned(by), unsigned(np.zeros_like(a))).view(a.dtype)
        if how == "logical":
            return np.where(inside, unsigned(np.ascontiguousarray(a)) >> unsigned(by), unsigned(np.zeros_like(a))).view(a.dtype)
        signed = np.ascontiguousarray(a).view(np.dtype(f"i{a.dtype.itemsize}"))
        by = np.where(inside, by, np.full_like(by, bits - 1)).astype(signed.dtype)
        return (signed >> by).view(a.dtype)

    return shift


def arithmetic(numbers, of_predicates=None):
    def both(a, b):
        if a.dtype == np.bool_:
            if of_predicates is None:
                raise Refusal("arithmetic of predicates")
            return of_predicates(a, b)
        return numbers(a, b)

    return both


def extremum(function):
    """NaN wins; of complex numbers there is none."""

    def of(a, b):
        if a.dtype.kind == "c":
            raise Refusal("an order of complex numbers")
        return function(a, b)

    return of


BINARY = {
    "add": arithmetic(np.add, np.logical_or),
    "subtract": arithmetic(np.subtract),
    "multiply": arithmetic(np.multiply, np.logical_and),
    "divide": divide,
    "remainder": remainder,
    "power": power,
    "maximum": extremum(np.maximum),
    "minimum": extremum(np.minimum),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift-left": shifted("left"),
    "shift-right-logical": shifted("logical"),
    "shift-right-arithmetic": shifted("arithmetic"),
    "atan2": np.arctan2,
    "complex": lambda a, b: a + 1j * b,
}


# ---------------------------------------------------------------------------------------------------------------- one operand
def lifted(function):
    """A function of Python's floats over an array."""
    each = np.frompyfunc(function, 1, 1)
    return lambda values: each(values).astype(np.float64) if values.size else values.astype(np.float64)


def sign(a):
    if a.dtype.kind == "c":
        size = np.abs(a)
        return np.where(size == 0, a, a / np.where(size == 0, 1.0, size))
    return np.sign(a).astype(a.dtype)


def count_ones(a):
    left, out = unsigned(np.ascontiguousarray(a)).astype(np.uint64), np.zeros(a.shape, np.uint64)
    while left.any():
        out += left & np.uint64(1)
        left = left >> np.uint64(1)
    return out.astype(a.dtype)


def leading_zeros(bits):
    def count(a):
        left, out = unsigned(np.ascontiguousarray(a)).astype(np.uint64) & np.uint64((1 << bits) - 1), np.full(a.shape, bits, np.uint64)
        while left.any():
            out -= (left != 0).astype(np.uint64)
            left = left >> np.uint64(1)
        return out.astype(a.dtype)

    return count


def round_away(a):
    """Halves away from zero; adding a half to the number just below a half would make one of it."""
    whole = np.trunc(a)
    return whole + np.where(np.abs(a - whole) >= 0.5, np.copysign(1.0, a), 0.0)


def logistic(a):
    if a.dtype.kind == "c":
        return 1.0 / (1.0 + np.exp(-a))
    small = np.exp(-np.abs(a))
    return np.where(a >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


def inverse_root(a):
    return 1.0 / np.sqrt(a)


UNARY = {
    "negate": np.negative,
    "abs": np.abs,
    "sign": sign,
    "not": np.invert,
    "exponential": np.exp,
    "exponential-minus-one": np.expm1,
    "log": np.log,
    "log-plus-one": np.log1p,
    "logistic": logistic,
    "tanh": np.tanh,
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "sqrt": np.sqrt,
    "rsqrt": inverse_root,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "floor": np.floor,
    "round-nearest-even": np.rint,
    "round-nearest-afz": round_away,
    "is-finite": np.isfinite,
    "erf": lifted(math.erf),
    "real": np.real,
    "imag": np.imag,
    "popcnt": count_ones,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cosh": np.cosh,
    "sinh": np.sinh,
}


# ------------------------------------------------------------------------------------------------------------- between types
def total_order(a):
    """Integers in the order of all doubles: -NaN, -inf, .. -0, +0, .. inf, NaN."""
    bits = np.ascontiguousarray(a).view(np.int64)
    return np.where(bits < 0, np.int64(np.iinfo(np.int64).min) - bits - 1, bits)


COMPARISONS = {"EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal, "LT": np.less}


def compare(direction, total, a, b):
    if total and a.dtype.kind == "f":
        a, b = total_order(a), total_order(b)
    if a.dtype.kind == "c" and direction not in ("EQ", "NE"):
        raise Refusal("an order of complex numbers")
    return COMPARISONS[direction](a, b)


def convert(a, from_kind, to_kind):
    if a.dtype.kind == "c" and to_kind.kind not in COMPLEX:
        a = a.real
    if to_kind.kind == "pred":
        return a != 0
    if to_kind.kind in REALS or to_kind.kind in COMPLEX or a.dtype.kind != "f":
        return fold_width(a.astype(to_kind.dtype), to_kind)
    bits, signed = bits_of(to_kind), to_kind.kind[0] == "s"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    cut = np.trunc(np.nan_to_num(a, nan=0.0, posinf=np.inf, neginf=-np.inf))
    inside = np.where((cut > low) & (cut < high), cut, 0.0).astype(to_kind.dtype)
    out = np.where(cut >= high, np.array(high, to_kind.dtype), inside)
    return np.where(cut <= low, np.array(low, to_kind.dtype), out)


def rounded(a, kind, fraction=None, exponent=None):
    """Doubles rounded to another format, half to even; what is too small goes to zero where the format is narrow in exponent."""
    if fraction is None:
        if kind not in FORMATS:
            return a
        fraction, exponent = FORMATS[kind]
    if fraction >= 52 and exponent >= 11:
        return a
    bias = (1 << (exponent - 1)) - 1
    mantissa, power_of_two = np.frexp(a)
    lowest = np.maximum(power_of_two, 2 - bias)
    step = np.ldexp(1.0, lowest - 1 - fraction)
    with np.errstate(all="ignore"):
        out = np.where(np.isfinite(a), np.rint(a / step) * step, a)
    largest = (2.0 - 2.0**-fraction) * 2.0**bias
    return np.where(np.abs(out) > largest, np.copysign(np.inf, a), out) if mantissa.size else a


def to_bits(a, kind):
    """The bits of numbers as unsigned integers of the type's width."""
    if kind.kind == "f64":
        return np.ascontiguousarray(a).view(np.uint64)
    if kind.kind == "f32":
        return a.astype(np.float32).view(np.uint32)
    if kind.kind == "f16":
        return a.astype(np.float16).view(np.uint16)
    if kind.kind == "bf16":
        return (rounded(a, "bf16").astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    if a.dtype.kind in "iu" and bits_of(kind) >= 8:
        return unsigned(np.ascontiguousarray(a))
    raise Refusal(f"the bits of {kind.kind}")


def from_bits(bits, kind):
    if kind.kind == "f64":
        return bits.view(np.float64)
    if kind.kind == "f32":
        return bits.view(np.float32).astype(np.float64)
    if kind.kind == "f16":
        return bits.view(np.float16).astype(np.float64)
    if kind.kind == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if kind.kind[0] in "su" and bits_of(kind) >= 8:
        return bits.view(kind.dtype)
    raise Refusal(f"the bits of {kind.kind}")


def same_bits(a, from_kind, to_kind):
    """bitcast-convert; a narrower type has one more dimension behind the others, its lowest bits first."""
    wide, narrow = bits_of(from_kind), bits_of(to_kind)
    bits = np.ascontiguousarray(to_bits(a, from_kind))
    if wide > narrow:
        bits = bits[..., None].view(np.dtype(f"u{narrow // 8}"))
    elif wide < narrow:
        bits = bits.view(np.dtype(f"u{narrow // 8}"))[..., 0]
    return from_bits(np.ascontiguousarray(bits), to_kind)


# ------------------------------------------------------------------------------------------------------------- random bits
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key, counter):
    """Threefry-2x32 with 20 rounds; pairs of 32-bit words."""
    keys = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    a, b = counter[0] + keys[0], counter[1] + keys[1]
    for group in range(5):
        for turn in ROTATIONS[group % 2]:
            a = a + b
            b = ((b << np.uint32(turn)) | (b >> np.uint32(32 - turn))) ^ a
        a = a + keys[(group + 1) % 3]
        b = b + keys[(group + 2) % 3] + np.uint32(group + 1)
    return a, b


def philox(key, counter):
    """Philox-4x32 with 10 rounds; a key of two words, a counter of four."""
    key = [key[0], key[1]]
    for _ in range(10):
        high, low = [], []
        for word, factor in ((counter[0], 0xD2511F53), (counter[2], 0xCD9E8D57)):
            product = word.astype(np.uint64) * np.uint64(factor)
            high.append((product >> np.uint64(32)).astype(np.uint32))
            low.append(product.astype(np.uint32))
        counter = [high[1] ^ counter[1] ^ key[0], low[1], high[0] ^ counter[3] ^ key[1], low[0]]
        key = [key[0] + np.uint32(0x9E3779B9), key[1] + np.uint32(0xBB67AE85)]
    return counter


def halves(words):
    return (words & np.uint64(0xFFFFFFFF)).astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)


def threefry_bits(key, counted, shape, width):
    """Words of 32 bits come in two halves, which alternate along the first dimension of even extent, or else along the longest."""
    if width == 64:
        steps = counted.reshape(-1, *[1] * len(shape)) + np.arange(np.prod(shape, dtype=np.int64)).astype(np.uint64).reshape(1, *shape)
        low, high = threefry([one.reshape(-1, *[1] * len(shape)) for one in key], halves(steps))
        return low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32)), int(np.prod(shape, dtype=np.int64))
    full = shape or (1,)
    cut = next((k for k, extent in enumerate(full) if extent % 2 == 0), int(np.argmax(full)))
    half = (*full[:cut], -(-full[cut] // 2), *full[cut + 1 :])
    steps = np.arange(np.prod(half, dtype=np.int64)).astype(np.uint64).reshape(1, *half) + counted.reshape(-1, *[1] * len(half))
    pair = threefry([one.reshape(-1, *[1] * len(half)) for one in key], halves(steps))
    made = np.stack(pair, cut + 2).reshape(len(steps), *full[:cut], 2 * half[cut], *full[cut + 1 :])
    kept = made[(slice(None),) * (cut + 1) + (slice(0, full[cut]),)]
    return kept.reshape(len(steps), *shape), int(np.prod(half, dtype=np.int64))


def philox_bits(key, counted, high, shape, width):
    """Blocks of four words, numbered by a counter of 128 bits."""
    size = int(np.prod(shape, dtype=np.int64))
    blocks = -(-size * max(width, 32) // 128)
    steps = counted[:, None] + np.arange(blocks).astype(np.uint64)
    high = high[:, None] + (steps < counted[:, None]).astype(np.uint64)
    four = np.stack(philox([one[:, None] for one in key], [*halves(steps), *halves(high)]), -1)
    if width == 64:
        made = four[..., 0::2].astype(np.uint64) | (four[..., 1::2].astype(np.uint64) << np.uint64(32))
    else:
        made = four
    return made.reshape(len(counted), -1)[:, :size].reshape(len(counted), *shape), blocks


def random_bits(algorithm, state, kind):
    """The next state and the bits, a function of the state, the type and the shape alone. `state` is (leading, words of 64 bits):
    the key, and the counter. Where Philox has two words, the key is the upper half of its counter, too."""
    if state.shape[1] not in (2, 3):
        raise Refusal(f"a state of {state.shape[1]} words")
    width, key, counted = bits_of(kind), halves(state[:, 0]), state[:, 1]
    if algorithm == "rng_three_fry":
        bits, used = threefry_bits(key, counted, kind.shape, width)
    else:
        bits, used = philox_bits(key, counted, state[:, 2] if state.shape[1] > 2 else state[:, 0], kind.shape, width)
    after = state.copy()
    after[:, 1] = counted + np.uint64(used)
    if width < 32:
        bits = bits.astype(np.dtype(f"u{max(width // 8, 1)}"))
    return after, from_bits(np.ascontiguousarray(bits), kind)
