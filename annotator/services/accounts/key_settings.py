"""A person's own keys for the actions of ``annotator.core.keys``."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.keys import ACTIONS, check_own
from annotator.errors import Conflict, Invalid
from annotator.models import User
from annotator.translation import translated


def change_keys(*, actor: User, keys: Mapping[str, str], seen: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Store a person's keys and return those that differ from the table.

    ``keys``: {action: key}; a blank key switches the action's key off; actions that are left out keep that of the
    table. ``seen``: the own keys that the page showed. Raises Invalid with the action as ``field`` if a key can't be
    used, such as one that another action has, and Conflict if another window changed the keys since.
    """
    own = {name: key for name, key in keys.items() if name not in ACTIONS or key != ACTIONS[name].key}
    if (problem := check_own(own)) is not None:
        raise Invalid(translated(problem[1]), field=problem[0])
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=actor.pk)
        if seen is not None and person.own_keys != seen:
            raise Conflict(_("Another window changed your keys. Nothing was saved. Load the page again."))
        person.own_keys = own
        person.save(update_fields=["own_keys"])
    actor.own_keys = own
    return own
