"""The form of a coverage's targets: what it is about, and how many are wanted."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotator.core.coverage import LEVELS, SIGN, level_of
from annotator.models import Project
from annotator.views.number_fields import WholeNumberField
from benchmark.models import TargetDimension
from benchmark.services.coverage.targets import MAX_WANTED, read_targets, values_of
from benchmark.views.pyramid import names, words

#: Between dimension and value.
_SIGN = ":"


def level_words(level: int) -> str:
    """Return the name of all sequences of a length."""
    return ngettext("All sequences of %(count)d task", "All sequences of %(count)d tasks", level) % {"count": level}


def words_of_value(dimension: str, value: str) -> str:
    """Return a value of a dimension in words."""
    if dimension == TargetDimension.CELL:
        return names(tuple(value.split(SIGN)))
    if dimension == TargetDimension.LEVEL:
        return level_words(int(value))
    if dimension in (TargetDimension.INFORMATION, TargetDimension.TOPOLOGY, TargetDimension.LANGUAGE):
        return words(dimension, value)
    return value


class TargetForm(forms.Form):
    target = forms.TypedChoiceField(
        label=gettext_lazy("Of what"),
        help_text=gettext_lazy("A target of one sequence goes before the one of all sequences of its length."),
    )
    wanted = WholeNumberField(
        required=False,
        min_value=1,
        max_value=MAX_WANTED,
        label=gettext_lazy("How many"),
        help_text=gettext_lazy("Verified or released. Empty removes the target."),
    )

    def __init__(self, project: Project, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        field = self.fields["target"]
        assert isinstance(field, forms.TypedChoiceField)  # noqa: S101
        field.choices = choices_of(project)
        field.coerce = lambda value: tuple(value.split(_SIGN, 1))


def choices_of(project: Project) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return everything that can have a target, in groups; the words of those that have one say how many."""
    targets = read_targets(project)
    groups: list[tuple[str, list[tuple[str, str]]]] = []
    for dimension in TargetDimension:
        wanted = targets.of(dimension)
        values = values_of(project, dimension)
        values += sorted(wanted.keys() - set(values))
        options = [(value, _option(words_of_value(dimension, value), wanted.get(value))) for value in values]
        if dimension == TargetDimension.CELL:
            for level in LEVELS:
                some = [(value, text) for value, text in options if level_of(value) == level]
                groups.append((level_words(level), _named(dimension, some)))
        elif options:
            groups.append((str(dimension.label), _named(dimension, options)))
    return groups


def _named(dimension: str, options: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"{dimension}{_SIGN}{value}", text) for value, text in options]


def _option(text: str, wanted: int | None) -> str:
    return _("%(what)s (target %(wanted)s)") % {"what": text, "wanted": f"{wanted:,}"} if wanted else text
