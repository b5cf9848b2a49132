"""The toolsets of the demo: those of the candidates get names and categories; one comes from an OpenAPI document."""

import json
from pathlib import Path

from annotator.models import Project, Toolset, User
from annotator.services.toolsets.details import Details, change_details, newest
from annotator.services.toolsets.importing import import_toolset, read_description

#: The name of the toolset from an OpenAPI document.
FERRIES = "Island ferries"
LICENCE, SOURCE = "CC0-1.0", "Written for the demo"


def describe(folder: Path, project: Project, administrator: User) -> None:
    """Give the toolsets of the candidates what ``toolsets.json`` says, by the name of their first tool."""
    known = json.loads((folder / "toolsets.json").read_text())
    for toolset in Toolset.objects.filter(project=project).select_related("project", "head", "category"):
        tool = newest(toolset).tools()[0]
        details = known[tool.get("function", tool)["name"]]
        change_details(actor=administrator, toolset=toolset, details=Details(licence=LICENCE, source=SOURCE, **details))


def import_ferries(folder: Path, project: Project, administrator: User) -> None:
    """Import the toolset that needs an editor: its findings are real."""
    _kind, read = read_description((folder / "ferries.yaml").read_text())
    details = Details(read.name, "Public transport", ["travel", "draft"], LICENCE, SOURCE)
    import_toolset(actor=administrator, project=project, tools=read.tools, details=details)
