"""Many mistakes in one build: a function that gets mistakes has a body for each beside its own, and the environment says which one
runs. So the tree is compiled once for all of them, and a mistake costs no more than the test that must notice it."""

import bisect
import re

# What all sources include first. In constant expressions nothing is planted; what is evaluated there has to be planted alone.
VARIABLE = "RETILE_PLANTED"
HEADER = f"""#pragma once
#include <cstdlib>
namespace retile_planted {{
inline const int chosen = [] {{
  const char* const text = std::getenv("{VARIABLE}");
  return text == nullptr ? 0 : std::atoi(text);
}}();
constexpr bool is(int number) {{ return !__builtin_is_constant_evaluated() && chosen == number; }}
}}  // namespace retile_planted
"""

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|[A-Za-z_]\w*|\d(?:'?[\w.])*|[{}]""",
    re.DOTALL)


def braces(text):
    """(place of the opening brace, of the closing one) of every pair, in the order in which they close."""
    opened, pairs = [], []
    for match in TOKEN.finditer(text):
        if match.group() == "{":
            opened.append(match.start())
        elif match.group() == "}" and opened:
            pairs.append((opened.pop(), match.start()))
    return pairs


def body(pairs, begin, last_line):
    """The braces around the body of a function whose text begins there and whose last line goes from one place to another: of the
    pairs that end on this line and lie in no other of them the last, as a constructor has other pairs before it."""
    low, high = last_line
    found = [pair for pair in pairs if pair[0] >= begin and low <= pair[1] < high]
    outer = [pair for pair in found if not any(other[0] < pair[0] and pair[1] < other[1] for other in found)]
    return max(outer, default=None)


class File:
    """A source with mistakes. `mistakes`: (number, begin, end, new text) each; `functions`: (begin, place where its last line begins,
    where that ends) of all functions of the source."""

    def __init__(self, text, functions, mistakes):
        pairs = braces(text)
        bodies = sorted({found for found in (body(pairs, begin, (low, high)) for begin, low, high in functions) if found})
        groups = {}
        self.left_out = []  # numbers of mistakes that lie in no body
        for mistake in mistakes:
            _, begin, end, _ = mistake
            around = [one for one in bodies if one[0] < begin and end <= one[1]]
            if around:
                groups.setdefault(around[-1], []).append(mistake)
            else:
                self.left_out.append(mistake[0])
        # A body in another one that gets a copy would be copied with its mistakes: they belong to the outer one.
        merged = {}
        for inner in sorted(groups):
            outer = next((one for one in sorted(merged) if one[0] < inner[0] and inner[1] < one[1]), inner)
            merged.setdefault(outer, []).extend(groups[inner])
        self.branches = []  # (first line, last line, number)
        self.bodies = []  # (first line, last line, numbers) of all that a function became
        out, done = [], 0
        lines = 1

        def put(piece):
            nonlocal lines
            out.append(piece)
            lines += piece.count("\n")

        for (opened, closed), group in sorted(merged.items()):
            put(text[done:opened + 1])
            first = lines
            for number, begin, end, new in group:
                branch = lines
                put(f" if (::retile_planted::is({number})) {{" + text[opened + 1:begin] + new + text[end:closed] + "\n} else")
                self.branches.append((branch, lines, number))
            put(" {" + text[opened + 1:closed] + "\n}\n")
            self.bodies.append((first, lines, [mistake[0] for mistake in group]))
            done = closed
        put(text[done:])
        self.text = "".join(out)

    def numbers_at(self, line):
        """The mistakes that an error in this line is about: that of a branch, else all of the function; none elsewhere."""
        # The line of an `else` belongs to two branches; both are left out then.
        exact = [number for first, last, number in self.branches if first <= line <= last]
        return exact or [number for first, last, numbers in self.bodies if first <= line <= last for number in numbers]


def line_starts(text):
    return [0, *(match.end() for match in re.finditer("\n", text)), len(text)]


def line_of(starts, place):
    return bisect.bisect_right(starts, place)
