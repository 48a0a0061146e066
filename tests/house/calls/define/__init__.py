"""Which calls are recorded. Each module has `calls()`, a list of calls without their answers."""
