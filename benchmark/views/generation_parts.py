"""What the pages of generations share."""

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotator.core.editing.scope import line_ends
from annotator.errors import Invalid
from benchmark.models import Generation


def figures_of(generation: Generation) -> list[tuple[str, str]]:
    """Return what it has used, with its limits."""
    tokens, cost = f"{generation.tokens:,}", f"{generation.cost:.4f}"
    if generation.token_budget is not None:
        tokens += f" / {generation.token_budget:,}"
    if generation.cost_budget is not None:
        cost += f" / {generation.cost_budget.normalize():f}"
    return [(_("Answers of models"), f"{generation.requests:,}"), (_("Tokens"), tokens), (_("Cost"), cost)]


def number_of(posted: QueryDict, name: str) -> int:
    """Return a whole number of a form. Raises Invalid."""
    given = posted.get(name, "")
    if not (given.isascii() and given.isdigit() and len(given) < 9):
        raise Invalid(_("Reload the page and try again."), field=name)
    return int(given)


def text_of_form(posted: QueryDict) -> str:
    """Return the text of a form. Raises Invalid if it is blank."""
    text = line_ends(posted.get("text", ""))
    if not text.strip():
        raise Invalid(_("Enter a text."), field="text")
    return text
