"""Which attributes a release of JAX knows at every operation, for tests/operations/attributes.txt.

    PYTHON peers/attributes.py > tests/operations/attributes.txt

PYTHON is that of the release's environment, 0.12.0. Its parser of HLO is given each operation with an attribute that none has, and
says which it would take; of StableHLO and CHLO its own classes say it. A line each: the name, and its attributes.
"""

import importlib
import inspect
import re

from jaxlib import xla_client

# Operands with which the parser comes as far as the attributes.
OPERANDS = {
    "": "constant iota partition-id replica-id parameter after-all",
    "p": "get-tuple-element opt-barrier call copy bitcast reshape transpose reverse slice concatenate broadcast dynamic-slice convert not negate abs "
         "sign popcnt count-leading-zeros all-gather all-to-all collective-permute all-reduce reduce-scatter collective-broadcast fusion while map "
         "custom-call bitcast-convert reduce-precision exponential exponential-minus-one log log-plus-one logistic tanh tan sine cosine sqrt "
         "rsqrt cbrt erf floor ceil round-nearest-afz round-nearest-even is-finite acos acosh asin asinh atanh cosh sinh real imag topk fft "
         "rng rng-bit-generator cholesky sort reduce reduce-window scatter dot",
    "p, p": "pad dynamic-update-slice compare add subtract multiply divide remainder maximum minimum and or xor shift-left shift-right-arithmetic "
            "shift-right-logical complex power atan2 gather triangular-solve convolution",
    "p, p, p": "select clamp select-and-scatter",
    "b, p, p": "conditional",
    "i, p, p": "conditional",
}
TEXT = """HloModule attributes
ENTRY e {{
 p = f32[4,8] parameter(0)
 b = pred[] constant(true)
 i = s32[] constant(0)
 ROOT r = {type} {opcode}({operands}), none_has_this=1
}}
"""


def attributes_of(opcode, operands):
    """As the parser says it: `unexpected attribute "..". Allowed attributes: a, b`."""
    inside = {"constant": "0", "parameter": "1"}.get(opcode, operands)
    type_ = "f32[]" if opcode == "constant" else "f32[4,8]"
    try:
        xla_client.hlo.hlo_module_from_text(TEXT.format(type=type_, opcode=opcode, operands=inside))
    except Exception as refusal:
        found = re.search(r"Allowed attributes: ([\w, -]+)", str(refusal))
        if found:
            return set(found[1].strip().split(", "))
        raise
    raise SystemExit(f"{opcode}: an attribute that none has is taken")


def dialect(name):
    """The operations of a dialect, and the attributes that its classes have."""
    out = {}
    for _, one in inspect.getmembers(importlib.import_module(f"jaxlib.mlir.dialects.{name}"), inspect.isclass):
        operation = getattr(one, "OPERATION_NAME", "")
        if operation.startswith(f"{name}."):
            out.setdefault(operation, set()).update(re.findall(r'attributes\["(\w+)"\]', inspect.getsource(one)))
    return out


def main():
    hlo = {}
    for operands, opcodes in OPERANDS.items():
        for opcode in opcodes.split():
            hlo.setdefault(opcode, set()).update(attributes_of(opcode, operands))
    every = set.intersection(*hlo.values())
    print("*", *sorted(every))
    for opcode, attributes in sorted(hlo.items()):
        print(opcode, *sorted(attributes - every))
    for name in ("stablehlo", "chlo"):
        for operation, attributes in sorted(dialect(name).items()):
            print(operation, *sorted(attributes))


if __name__ == "__main__":
    main()
