"""The program as JAX lowers it, with the shardings of all arguments and results that XLA chose."""

import jax
from jax.interpreters.mlir import ir, make_ir_context


def kept(shardings):
    """Those of arguments and results that the program has: JAX says None for arguments that it dropped."""
    return [one for one in jax.tree_util.tree_leaves(shardings, is_leaf=lambda one: one is None) if one is not None]


def with_shardings(arguments, types, shardings):
    """Attributes of arguments or results, those without a sharding with the one that XLA chose."""
    if len(types) != len(shardings):
        raise ValueError(f"the program has {len(types)} arguments or results, and JAX says {len(shardings)} shardings")
    made = []
    for given, one, sharding in zip(arguments, types, shardings):
        words = {named.name: named.attr for named in given}
        if "sdy.sharding" not in words and "mhlo.sharding" not in words:
            rank = len(ir.RankedTensorType(one).shape)
            words["mhlo.sharding"] = ir.StringAttr.get(str(sharding._to_xla_hlo_sharding(rank)))
        made.append(ir.DictAttr.get(words))
    return ir.ArrayAttr.get(made)


def lowered_text(lowered, compiled):
    """What JAX lowered, as StableHLO that says how all arguments and results lie."""
    with make_ir_context():
        module = ir.Module.parse(str(lowered.compiler_ir("stablehlo")))
        main = next(one for one in module.body.operations if "sym_name" in one.attributes and ir.StringAttr(one.attributes["sym_name"]).value == "main")
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        for name, types, shardings in (("arg_attrs", kind.inputs, kept(compiled.input_shardings)), ("res_attrs", kind.results, kept(compiled.output_shardings))):
            given = main.attributes[name] if name in main.attributes else [ir.DictAttr.get({}) for _ in types]
            main.attributes[name] = with_shardings(given, types, shardings)
        return str(module)
