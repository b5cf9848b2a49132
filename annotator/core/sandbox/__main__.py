"""``python -m annotator.core.sandbox PATH``: the sandbox as a service."""

import sys

from annotator.core.sandbox.service import main

raise SystemExit(main(sys.argv[1:]))
