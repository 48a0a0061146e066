"""Makes a large pair of texts of a small one: a training step that is done many times, one behind the other.

    peers/whole_unrolled.py FOLDER STEPS OUT

FOLDER has before.hlo and after.hlo of a step from a state to a state, as record_whole.py writes them. The state is the first
arguments of the step, and the last results: each step takes what the last one made, and all take the same batch. OUT gets before.hlo
and after.hlo of STEPS steps.
"""

import re
import sys
from pathlib import Path

PARAMETER = re.compile(r"^(\s+(?:ROOT )?)%(\S+) = (.*?) parameter\((\d+)\)")
DEFINITION = re.compile(r"^\s+(?:ROOT )?%(\S+) = (\S+) ")
NAME = re.compile(r"%([\w.#-]+)")


def entry_of(lines):
    """Where the lines of the entry's body begin and end."""
    begin = next(k for k, line in enumerate(lines) if line.startswith("ENTRY ")) + 1
    return begin, next(k for k in range(begin, len(lines)) if lines[k].startswith("}"))


def results_of(root):
    """The names that the tuple at the end has, without the comments between them."""
    inside = root[root.index(" tuple(") + len(" tuple("):]
    return NAME.findall(inside[:inside.index(")")])


def unrolled(text, steps):
    lines = text.split("\n")
    begin, end = entry_of(lines)
    body = lines[begin:end]
    own = {found.group(1) for found in (re.match(r"\s+(?:ROOT )?%(\S+) = ", line) for line in body) if found}
    root = next(line for line in body if line.lstrip().startswith("ROOT "))
    results = results_of(root)
    parameters = {int(found.group(4)): found.group(2) for found in map(PARAMETER.match, body) if found}
    types = {found.group(1): found.group(2).split("{")[0] for found in map(DEFINITION.match, body) if found}
    given = [types[parameters[k]] for k in range(len(parameters))]
    made = [types[name] for name in results]
    carried = next(count for count in range(min(len(given), len(made)), -1, -1) if given[:count] == made[len(made) - count:])
    first = len(results) - carried  # of the results that are the state

    def renamed(line, step):
        if step == 0:
            return line
        return NAME.sub(lambda found: f"%{found.group(1)}.step{step}" if found.group(1) in own else found.group(0), line)

    out = []
    for step in range(steps):
        for line in body:
            if line is root and step < steps - 1:
                continue
            found = PARAMETER.match(line)
            if found and step > 0:
                number = int(found.group(4))
                source = renamed("%" + results[first + number], step - 1) if number < carried else "%" + found.group(2)
                out.append(f"{found.group(1)}%{found.group(2)}.step{step} = {found.group(3)} copy({source})")
            else:
                out.append(renamed(line, step))
    return "\n".join(lines[:begin] + out + lines[end:])


def main():
    folder, steps, out = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    for name in ("before.hlo", "after.hlo"):
        (out / name).write_text(unrolled((folder / name).read_text(), steps))


if __name__ == "__main__":
    main()
