"""``python -m annotator.sandbox PATH``: the sandbox as a service."""

import sys

from annotator.sandbox.service import main

raise SystemExit(main(sys.argv[1:]))
