"""``manage.py import_toolset FILE|- --project SLUG --name NAME``"""

import sys
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import CommandParser
from django.db.models import Q

from annotator.core.tools.sources.reading import MAX_BYTES, SourceKind
from annotator.core.wording import counted
from annotator.management.base import SentenceCommand, Stop
from annotator.models import Project, Role, User
from annotator.services.toolsets.details import Details, newest
from annotator.services.toolsets.importing import import_toolset, read_description
from annotator.translation import translated


class Command(SentenceCommand):
    help = (
        "Import a description of tools as a toolset: OpenAI functions, a result of MCP’s tools/list, an OpenAPI 3 "
        "document or Python functions. The last line of the output is JSON."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the description, or - for standard input")
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--name", default="", help="default: the title in the description")
        parser.add_argument(
            "--kind", choices=[str(kind) for kind in SourceKind], default="", help="default: recognised"
        )
        parser.add_argument("--category", default="", help="one of the project's categories")
        parser.add_argument("--tag", action="append", default=[], dest="tags", metavar="TAG")
        parser.add_argument("--licence", default="")
        parser.add_argument("--source", default="", help="where the tools come from")
        parser.add_argument(
            "--as", dest="person", default="", metavar="NAME",
            help="the administrator who imports it; default: the only one of the project",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise Stop(f"There is no project “{options['project']}”.")
        person = _administrator(project, options["person"])
        kind, read = read_description(_text_of(options["file"]), options["kind"])
        for note in read.notes:
            self.say(f"{note.place}: {translated(note.message)}" if note.place else translated(note.message))
        name = options["name"] or read.name
        if not name:
            raise Stop("The description has no title. Name the toolset with --name NAME.")
        details = Details(name, options["category"], options["tags"], options["licence"], options["source"])
        toolset = import_toolset(actor=person, project=project, tools=read.tools, details=details)
        revision = newest(toolset)
        facts = revision.facts or {}
        errors, warnings = facts["errors"], facts["warnings"]
        self.say(
            f"Imported {toolset.name} with {counted(revision.tool_count, 'function')}, {counted(errors, 'error')} and "
            f"{counted(warnings, 'warning')}."
        )
        told = {
            "toolset": toolset.public_id, "name": toolset.name, "kind": str(kind), "tools": revision.tool_count,
            "errors": errors, "warnings": warnings, "notes": len(read.notes), "sha256": revision.content_hash,
        }  # fmt: skip
        self.stdout.write(orjson.dumps(told).decode())


def _text_of(file: str) -> str:
    try:
        # One byte more than is read, so that a larger file is refused as such; it may split a character.
        with sys.stdin.buffer if file == "-" else Path(file).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        return data.decode("utf-8-sig", errors="replace" if len(data) > MAX_BYTES else "strict")
    except UnicodeDecodeError:
        raise Stop(f"{file} is not text in UTF-8.") from None
    except OSError as error:
        raise Stop(f"Can't read {file}: {error.strerror}.") from None


def _administrator(project: Project, name: str) -> User:
    """Return the administrator with this name or email address, or the only one. Raises Stop."""
    people = User.objects.filter(
        memberships__project=project, memberships__role=Role.ADMINISTRATOR, memberships__ended_at=None, is_active=True
    )
    if name:
        people = people.filter(Q(username__iexact=name) | Q(email__iexact=name))
    found = list(people.order_by("username").distinct()[:2])
    if len(found) == 1:
        return found[0]
    if name:
        raise Stop(f"{'More than one' if found else 'No'} administrator of {project.slug} is called “{name}”.")
    if found:
        raise Stop(f"{project.slug} has several administrators. Choose one with --as NAME.")
    raise Stop(f"{project.slug} has no administrator. Make somebody its administrator first.")
