"""The verbs of the command line, a module each: `add_arguments(parser)` and `run(arguments)`.

A module's docstring is its help text. Modules import what is heavy (NumPy, DyNet) only inside `run`.
"""
