"""`python -m dynet_vdgi` is the `vdgi` command."""

import sys

from dynet_vdgi.cli import main

if __name__ == "__main__":
    sys.exit(main())
