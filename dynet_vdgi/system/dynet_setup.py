"""DyNet with this program's options: `from dynet_vdgi.system.dynet_setup import dy`.

DyNet reads its options once, when it is imported, and by default from `sys.argv`; so they are set
here, and no other module imports DyNet.
"""

from __future__ import annotations

import mmap
import sys
from typing import Any

from dynet_vdgi.errors import VdgiError

# MB for values, gradients, parameters, scratch. The first pools grow on demand; a graph executed
# with autobatching cannot grow them during its backward pass, so they start larger than one
# sentence needs.
MEMORY = "96,96,32,32"

ROOM = sum(map(int, MEMORY.split(","))) + 100
"""MB needed when DyNet starts: its memory and its library."""

if "dynet" not in sys.modules:
    arguments = sys.argv
    try:
        import dynet_config

        try:  # without enough memory DyNet ends the program
            mmap.mmap(-1, ROOM << 20).close()
        except (OSError, ValueError):
            raise MemoryError from None
        dynet_config.set(mem=MEMORY, random_seed=1, autobatch=0)
        sys.argv = arguments[:1]  # DyNet reads all of them, and fails on one that is not UTF-8
        import dynet  # noqa: F401 - for the modules of this package
    except ImportError as error:
        raise VdgiError(
            f"DyNet cannot be imported ({error}); install it with: pip install 'dyNET38>=2.2'"
        ) from None
    finally:
        sys.argv = arguments


def new_collection() -> Any:
    """A `dynet.ParameterCollection` without weight decay.

    A program that has imported DyNet before may have asked for some, which would hold here, too,
    and change what is learnt; L2 is a setting (`train.l2`).
    """
    collection = dy.ParameterCollection()
    collection.set_weight_decay_lambda(0.0)
    return collection


import dynet as dy  # noqa: E402

__all__ = ["MEMORY", "ROOM", "dy"]
