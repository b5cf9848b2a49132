"""The command ``assay``: data on standard output, words on standard error.

Exit codes: 0 done, 1 the job failed or the release is damaged, 2 nothing was done.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from assay.client import Client, Job
from assay.errors import AssayError, JobFailed, ReleaseError
from assay.release import load_release


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "load":
            release = load_release(options.archive)
            _print({"files": release.verify(), "counts": release.manifest.get("counts", {})})
            return 0
        url, token = os.environ.get("ASSAY_URL"), os.environ.get("ASSAY_TOKEN")
        if not url or not token:
            raise AssayError("Set ASSAY_URL to the server's address and ASSAY_TOKEN to a token.")
        with Client(url, token) as client:
            _run(client, options)
    except (JobFailed, ReleaseError) as error:
        print(error, file=sys.stderr)
        return 1
    except (AssayError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="assay", description="Use Assay over HTTP: set ASSAY_URL and ASSAY_TOKEN.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("projects", help="list your projects")
    commands.add_parser("load", help="verify and count a release").add_argument("archive")
    of_project = {name: commands.add_parser(name) for name in ("import", "imports", "dialogues", "freeze", "download")}
    for one in of_project.values():
        one.add_argument("--project", required=True, metavar="SLUG")
    of_project["import"].add_argument("file")
    of_project["import"].add_argument("--format")
    for flag in ("--dry-run", "--revise"):
        of_project["import"].add_argument(flag, action="store_true")
    of_project["dialogues"].add_argument("--status")
    of_project["freeze"].add_argument("version")
    of_project["freeze"].add_argument("--format", required=True)
    for name in ("import", "freeze"):
        of_project[name].add_argument("--wait", action="store_true", help="wait until the job has ended")
    of_project["download"].add_argument("version")
    of_project["download"].add_argument("out")
    return parser


def _run(client: Client, options: argparse.Namespace) -> None:
    if options.command == "projects":
        for row in client.projects():
            _print(row)
        return
    project = client.project(options.project)
    if options.command == "import":
        flags = {"dry_run": options.dry_run, "revise": options.revise}
        _follow(project.import_file(options.file, options.format, **flags), options.wait)
    elif options.command == "freeze":
        _follow(project.freeze(options.version, options.format), options.wait)
    elif options.command == "download":
        _print({"path": str(project.release(options.version).download(options.out))})
    else:
        filters = {"status": options.status} if options.command == "dialogues" and options.status else {}
        for row in project.dialogues(**filters) if options.command == "dialogues" else project.imports():
            _print(row)


def _follow(job: Job, wait: bool) -> None:
    _print(job.wait() if wait else job.row)


def _print(row: Any) -> None:
    print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
