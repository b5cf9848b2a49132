"""The arguments of the command ``assay``."""

import argparse
import os
from collections.abc import Callable
from typing import NamedTuple

EPILOG = """\
environment:
  ASSAY_URL      address of the server, for example https://assay.example.org
  ASSAY_TOKEN    a token, created under “API tokens” there; importing, suggesting and scoring need the scope
                 import, claiming and submitting annotate, freezing and deciding reports administer
  ASSAY_PROJECT  the project's slug, instead of --project

output: JSON lines on standard output, sentences on standard error; -o table shows lists as tables.

exit codes:
  0  done
  1  the job failed, something was rejected or not scored, or a release is damaged
  2  nothing was done: wrong arguments, a refusal of the server, or no answer
  3  claim: there is no item for you

the whole way:
  assay import chats.jsonl --format sharegpt      import a file and wait for the end
  assay claim > item.json                         take an item; edit "document" in the file
  assay submit item.json --verdict approve        submit the review
  assay freeze 1.0 --format neutral               release what is verified
  assay download 1.0 release.zip                  download it and compare the checksum
  assay records release.zip                       print its records
  assay score 1.0 predictions.jsonl               score what a model answered

"assay COMMAND --help" describes a command. The commands submit, skip, unclaim, suggest and fields read standard input
if their FILE is "-".
"""


class Argument(NamedTuple):
    """The names and the options of an argument, as argparse takes them."""

    names: tuple[str, ...]
    options: dict[str, object]


def argument(*names: str, **options: object) -> Argument:
    """Return an argument of a command."""
    return Argument(names, options)


def flag(name: str, text: str) -> Argument:
    """Return an option without a value."""
    return argument(name, action="store_true", help=text)


def build(commands: dict[str, tuple[str, tuple[Argument, ...], Callable[..., int]]], offline: set[str]) -> (
    argparse.ArgumentParser
):  # fmt: skip
    """Return the parser. ``offline``: commands that need no server."""
    made = argparse.ArgumentParser(
        prog="assay", description="Use a server of Assay over HTTP, and read releases.", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    under = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (text, arguments, run) in commands.items():
        one = under.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        one.set_defaults(run=run, offline=name in offline, timeout=30.0)
        one.add_argument("-o", "--output", choices=("jsonl", "table"), default="jsonl", help="how to print rows")
        if name not in offline:
            one.add_argument(
                "--insecure", action="store_true", help="allow plain http to another machine: others can read the token"
            )
            one.add_argument("--timeout", type=float, default=30.0, metavar="S", help="seconds for each step (30)")
            if name != "projects":
                one.add_argument(
                    "--project", default=os.environ.get("ASSAY_PROJECT"), metavar="SLUG",
                    help="the project, as in its address; by default ASSAY_PROJECT",
                )  # fmt: skip
        for names, options in arguments:
            one.add_argument(*names, **options)  # type: ignore[arg-type]
    return made


def pair(text: str) -> tuple[str, str]:
    """Return NAME=VALUE as a pair. Raises ArgumentTypeError."""
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise argparse.ArgumentTypeError(f"“{text}” is not NAME=VALUE")
    return name, value
