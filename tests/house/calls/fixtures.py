"""Files that calls read and that are too large, or no text, for a .jsonl file. Made anew for every call, always the same."""

import math
import struct

SHAPE = (12, 12)


def npy(shape, descr, data, version=(1, 0), fortran=False, header=None):
    """The bytes of a .npy file; `header` in place of the usual dictionary."""
    text = header
    if text is None:
        shown = descr if descr.startswith("[") else repr(descr)
        text = f"{{'descr': {shown}, 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}"
    length_bytes = 2 if version[0] == 1 else 4
    used = 6 + 2 + length_bytes + len(text) + 1
    text += " " * (-used % 64) + "\n"
    length = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text.encode("latin-1") + data


def counting(elements, element_bytes):
    """Different elements, as far as their size allows."""
    return b"".join((i * 2654435761 + 12345).to_bytes(16, "little")[:element_bytes] for i in range(elements))


def size_of(descr):
    digits = "".join(c for c in descr.split("[")[0] if c.isdigit())
    return int(digits) if digits else 4


def good(name):
    """`<f4 12,12`, `>i8 4,6 2.0`: a file of that element type, shape and version of the format."""
    descr, shape, *version = name.split(" ")
    shape = tuple(int(n) for n in shape.split(",") if n)
    version = tuple(int(n) for n in version[0].split(".")) if version else (1, 0)
    return npy(shape, descr, counting(math.prod(shape), size_of(descr)), version)


DATA = counting(144, 4)


def with_header(header, data=DATA):
    return npy(SHAPE, "<f4", data, header=header)


# name -> a file that is no array of 12 x 12 numbers, or none at all
BAD = {
    "empty": b"",
    "text": b"not an array\n",
    "magic alone": b"\x93NUMPY",
    "magic and a byte": b"\x93NUMPY\x01",
    "no length": b"\x93NUMPY\x01\x00",
    "half a length": b"\x93NUMPY\x02\x00\x10\x00",
    "version 0": npy(SHAPE, "<f4", DATA, (0, 0)),
    "version 1.1": npy(SHAPE, "<f4", DATA, (1, 1)),
    "version 4": npy(SHAPE, "<f4", DATA, (4, 0)),
    "header cut short": npy(SHAPE, "<f4", DATA)[:40],
    "header of 2 MiB": b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 21) + b" " * 64,
    "header of 4 GiB": b"\x93NUMPY\x03\x00" + struct.pack("<I", 0xFFFFFFFF) + b" " * 64,
    "header with a NUL": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (12, 12)\0}"),
    "header with DEL": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (12, 12)\x7f}"),
    "header with Latin-1": with_header("{'descr': '<f4', 'fortran_order': False, 'sh\xe4pe': (12, 12)}"),
    "no dictionary": with_header("descr"),
    "no header text": with_header(""),
    "no colon": with_header("{'descr' '<f4'}"),
    "no comma": with_header("{'descr': '<f4' 'fortran_order': False}"),
    "open dictionary": with_header("{'descr': '<f4', "),
    "open string": with_header("{'descr': '<f4}"),
    "bare key": with_header("{descr: '<f4'}"),
    "escape": with_header("{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (12, 12)}"),
    "rest behind the dictionary": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (12, 12)} more"),
    "key twice": with_header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (12, 12)}"),
    "shape twice": with_header("{'descr': '<f4', 'shape': (12, 12), 'fortran_order': False, 'shape': (12, 12)}"),
    "order twice": with_header("{'fortran_order': False, 'fortran_order': False, 'descr': '<f4', 'shape': (12, 12)}"),
    "unknown key": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (12, 12), 'strides': (4, 48)}"),
    "no descr": with_header("{'fortran_order': False, 'shape': (12, 12)}"),
    "no order": with_header("{'descr': '<f4', 'shape': (12, 12)}"),
    "no shape": with_header("{'descr': '<f4', 'fortran_order': False}"),
    "no keys": with_header("{}"),
    "order of no kind": with_header("{'descr': '<f4', 'fortran_order': 0, 'shape': (12, 12)}"),
    "shape of no kind": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': [12, 12]}"),
    "shape without comma": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (144)}"),
    "shape with blanks": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (12 12)}"),
    "shape of words": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (a, b)}"),
    "negative extent": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-12, 12)}"),
    "extent 0": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 12)}", b""),
    "extent of 20 digits": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 1)}"),
    "2^63 bytes": with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}"),
    "2^63 elements": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 2147483648)}"),
    "almost 2^63 bytes": with_header("{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807,)}"),
    "another shape": npy((144,), "<f4", DATA),
    "shape transposed": npy((9, 16), "<f4", DATA),
    "one dimension more": npy((12, 12, 1), "<f4", DATA),
    "Fortran order": npy(SHAPE, "<f4", DATA, fortran=True),
    "too short": npy(SHAPE, "<f4", DATA[:-1]),
    "too long": npy(SHAPE, "<f4", DATA + b"x"),
    "no data": npy(SHAPE, "<f4", b""),
    "structures": npy(SHAPE, "[('a', '<i2'), ('b', '<i2')]", DATA),
}
# Element types that are none, or not of one size.
BAD_DESCRS = ["|O", "O8", "<U1", "|S4", "|a4", "", "<", "f", "<f", "<f3", "<f04", "<f4x", "<f12345", "<i16", "|b4", "<c4", "<c32",
    "|V4",
              "|V2x", "<M4", "<M8ns", "<M8[ns", "<z4", "\x01\x02", "<f4\x1b[31m", "x" * 60, "<u3", "?4", ">>f4"]


def content(name):
    kind, _, rest = name.partition("/")
    if kind == "npy":
        return good(rest)
    if kind == "bad npy":
        return BAD[rest]
    if kind == "npy of":
        return npy(SHAPE, rest.encode().decode("unicode_escape"), DATA)
    raise KeyError(name)
