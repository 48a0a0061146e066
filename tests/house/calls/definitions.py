"""The calls that define/ lists: a module for each file of records."""

import importlib
import json

import calls as recorded_calls

# Which module defines the calls of which file.
FILES = {
    "usage": "of_usage",
    "notation": "of_notation",
    "plan": "of_plan",
    "lower": "of_lower",
    "check": "of_check",
    "prove": "of_prove",
    "run_sim": "of_run", "run_mpi": "of_mpi", "pipes": "of_pipes", "oracle": "of_oracle",
}
ORDER = ("id", "argv", "shell", "stdin", "env", "files", "streams", "needs", "progress")


def defined():
    """file -> its calls by id, without answers."""
    out, seen = {}, set()
    for name, module in FILES.items():
        calls = {}
        for call in importlib.import_module("define." + module).calls():
            words = recorded_calls.words_of(call)
            needs = set(call.get("needs", ()))
            if "prove" in words and "retile" in words and "--help" not in words:
                needs.add("z3")
            call = {key: call[key] for key in ORDER if key in call and key != "needs"} | ({"needs": sorted(needs)} if needs else {})
            if call["id"] in seen:
                raise SystemExit(f"{call['id']} is defined twice")
            seen.add(call["id"])
            # As a file keeps it: lists in place of tuples.
            calls[call["id"]] = json.loads(json.dumps({key: call[key] for key in ORDER if key in call}))
        out[name] = calls
    return out


def question(call):
    return {key: value for key, value in call.items() if key != "expected"}
