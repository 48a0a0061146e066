#!/usr/bin/env python3
"""The parameters of a Llama 3 model, a JSON object on each line, as `--many` of retile reads them.

    python3 llama.py 64x8 8x8 > state.jsonl
    retile plan --many state.jsonl

A trainer with FSDP2 and tensor parallelism hands its parameters to servers with tensor parallelism alone, which are other devices.
"""

import argparse
import json


def parameters(layers, width, hidden, heads, kv_heads, words):
    """(name, shape, how it is split) of each: along its rows or columns over tp, or whole."""
    kv_width = width // heads * kv_heads
    yield "tok_embeddings.weight", (words, width), "rows"
    for layer in range(layers):
        block = f"layers.{layer}."
        yield block + "attention.wq.weight", (width, width), "rows"
        yield block + "attention.wk.weight", (kv_width, width), "rows"
        yield block + "attention.wv.weight", (kv_width, width), "rows"
        yield block + "attention.wo.weight", (width, width), "columns"
        yield block + "feed_forward.w1.weight", (hidden, width), "rows"
        yield block + "feed_forward.w2.weight", (width, hidden), "columns"
        yield block + "feed_forward.w3.weight", (hidden, width), "rows"
        yield block + "attention_norm.weight", (width,), "whole"
        yield block + "ffn_norm.weight", (width,), "whole"
    yield "norm.weight", (width,), "whole"
    yield "output.weight", (words, width), "rows"


def trained(split, tp):
    """FSDP2 cuts dimension 0 over dp, what tensor parallelism has left of it."""
    return {"rows": f"(_StridedShard(dim=0, sf={tp}), Shard(0))",
            "columns": "(Shard(0), Shard(1))",
            "whole": "(Shard(0), Replicate())"}[split]


def served(split):
    return {"rows": "(Replicate(), Shard(0))",
            "columns": "(Replicate(), Shard(1))",
            "whole": "(Replicate(), Replicate())"}[split]


def mesh(dp, tp, first):
    return f"DeviceMesh('cuda', {[[first + tp * row + column for column in range(tp)] for row in range(dp)]})"


def sizes(text):
    dp, tp = text.split("x")
    return int(dp), int(tp)


def main():
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("trainer", type=sizes, help="dp x tp, such as 64x8")
    reader.add_argument("server", type=sizes, help="replicas x tp, such as 8x8")
    reader.add_argument("--same-devices", action="store_true", help="the servers are the first devices of the trainer")
    reader.add_argument("--layers", type=int, default=80)
    reader.add_argument("--width", type=int, default=8192)
    reader.add_argument("--hidden", type=int, default=28672)
    reader.add_argument("--heads", type=int, default=64)
    reader.add_argument("--kv-heads", type=int, default=8)
    reader.add_argument("--words", type=int, default=128256)
    given = reader.parse_args()
    dp, tp = given.trainer
    first = 0 if given.same_devices else dp * tp
    print(json.dumps({"mesh": mesh(dp, tp, 0), "mesh_to": mesh(*given.server, first), "dtype": "bf16"}))
    for name, shape, split in parameters(given.layers, given.width, given.hidden, given.heads, given.kv_heads, given.words):
        print(json.dumps({"name": name, "shape": shape, "from": trained(split, tp), "to": served(split)}))


if __name__ == "__main__":
    main()
