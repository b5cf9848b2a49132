"""field.*: whether the labels of a document answer the project's custom fields."""

from collections.abc import Iterator

from annotator.core.checks.context import Context
from annotator.core.checks.registry import Found, check
from annotator.core.fields import asked, span_problem, unknown_labels, value_problem


@check("field.missing", "A required field has no value", "error", to_do=True)
def missing(context: Context) -> Iterator[Found]:
    """A required custom field needs a value wherever it is asked."""
    for one in asked(context.settings.fields, context.document):
        if one.field.required and one.shown and one.value is None:
            yield one.place, None, f"Answer “{one.field.title}”."


@check("field.value", "A label is not a value of its field", "error")
def value(context: Context) -> Iterator[Found]:
    """A label must be one of the options, or on the scale, of its custom field."""
    for one in asked(context.settings.fields, context.document):
        problem = None if one.value is None else value_problem(one.field, one.value)
        if problem:
            yield one.place, one.value, f"“{one.field.title}”: {problem}"


@check("field.span", "A marked span no longer quotes its text", "error")
def span(context: Context) -> Iterator[Found]:
    """A span must quote the text in which it was marked."""
    for one in asked(context.settings.fields, context.document):
        problem = None if one.value is None else span_problem(one.field, one.value, one.part)
        if problem:
            yield one.place, one.value, f"“{one.field.title}”: {problem}"


@check("field.unknown", "A label has no field that asks for it", "warning")
def unknown(context: Context) -> Iterator[Found]:
    """Labels stay when a custom field is removed, or when its condition is no longer met. They may be out of date."""
    for anchor, value in unknown_labels(context.settings.fields, context.document):
        key = anchor.rpartition("/")[2]
        yield anchor, value, f"The project has no field {key} for this place. Remove the label, or define the field."
    for one in asked(context.settings.fields, context.document):
        if one.value is not None and not one.shown:
            message = f"“{one.field.title}” is not asked here, because its condition is not met. Remove the label."
            yield one.place, one.value, message
