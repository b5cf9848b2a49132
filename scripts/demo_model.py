"""Serve the demo's scripted models, in the demo's environment, until a signal arrives."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import django


def main() -> None:
    django.setup()
    from benchmark.demo.scripted_endpoint import main as serve

    serve()


if __name__ == "__main__":
    main()
