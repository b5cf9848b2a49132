"""Every table with rows of a project, found by following foreign keys: what an export reads and a deletion empties.

A new table is part of both without being listed. Tables that lead to no project hold people, or results that are
stored by content and shared by all projects.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.apps import apps
from django.db.models import ForeignKey, Model, QuerySet

from annotator.models import Project
from benchmark.models import ImportBatch
from benchmark.services.imports.report import report_path
from benchmark.services.stored_files import full_path

_APPS = ("annotator", "reviews", "benchmark")
#: Foreign keys against the order of the tables, to a newest revision: they are emptied first.
BACKWARDS = (("annotator.dialogue", "head"), ("annotator.toolset", "head"))
#: Columns with the name of a file below MEDIA_ROOT, or blank.
FILE_COLUMNS = (
    ("benchmark.importbatch", "file"),
    ("benchmark.release", "archive"),
    ("benchmark.predictionfile", "file"),
)


@dataclass(frozen=True)
class ProjectTable:
    """A table, and the lookup that leads from its rows to their project, such as ``dialogue__project``."""

    model: type[Model]
    path: str

    @property
    def label(self) -> str:
        """Return its name, such as ``reviews.review``."""
        return str(self.model._meta.label_lower)

    def rows(self, project_id: int) -> QuerySet[Any]:
        """Return its rows of a project, in the order of their keys."""
        return self.model._base_manager.filter(**{self.path: project_id}).order_by("pk")


@cache
def project_tables() -> tuple[ProjectTable, ...]:
    """Return the tables, each after all those that its foreign keys name. Deletion goes backwards."""
    models = [model for name in _APPS for model in apps.get_app_config(name).get_models(include_auto_created=True)]
    paths: dict[type[Model], str] = {Project: "pk"}
    # A key that may be empty is only followed where no other one leads to a project.
    while _follow(models, paths, nullable=False) or _follow(models, paths, nullable=True):
        pass
    ordered = _in_order([model for model in models if model in paths])
    return tuple(ProjectTable(model, paths[model]) for model in ordered)


def _follow(models: list[type[Model]], paths: dict[type[Model], str], *, nullable: bool) -> bool:
    """Add the paths that are one step longer than the known ones; return whether there were any."""
    found = {}
    for model in [one for one in models if one not in paths]:
        ahead = [key for key in _keys(model) if _target(key) in paths and key.null == nullable]
        if ahead:
            key = min(ahead, key=lambda one: (paths[_target(one)] != "pk", paths[_target(one)].count("__"), one.name))
            further = paths[_target(key)]
            found[model] = key.name if further == "pk" else f"{key.name}__{further}"
    paths |= found
    return bool(found)


def _in_order(models: list[type[Model]]) -> Iterator[type[Model]]:
    waiting = dict.fromkeys(models)
    while waiting:
        free = [one for one in waiting if not {_target(key) for key in _keys(one)} & (waiting.keys() - {one})]
        if not free:
            names = ", ".join(one._meta.label for one in waiting)
            raise RuntimeError(f"Foreign keys go round in a circle: {names}. Add one of them to BACKWARDS.")
        for one in free:
            del waiting[one]
        yield from free


def _keys(model: type[Model]) -> list[ForeignKey[Any, Any]]:
    """Return the foreign keys of a table that say where its rows belong."""
    keys = [field for field in model._meta.concrete_fields if isinstance(field, ForeignKey)]
    return [key for key in keys if (model._meta.label_lower, key.name) not in BACKWARDS]


def _target(key: ForeignKey[Any, Any]) -> Any:
    return key.related_model


def stored_files(project_id: int) -> Iterator[str]:
    """Yield the names of a project's files below MEDIA_ROOT that exist: uploads, reports and archives."""
    for name in _file_names(project_id):
        if full_path(name).is_file():
            yield name


def _file_names(project_id: int) -> Iterator[str]:
    tables = {table.label: table for table in project_tables()}
    for label, column in FILE_COLUMNS:
        rows = tables[label].rows(project_id).exclude(**{column: ""})
        yield from rows.values_list(column, flat=True).iterator(500)
    for batch in ImportBatch.objects.filter(project=project_id).order_by("pk").iterator(500):
        yield f"imports/{report_path(batch).name}"
