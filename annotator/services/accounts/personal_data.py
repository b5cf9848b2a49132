"""What is stored about a person, for themselves: a list of tables and columns, and an export as JSON lines.

Every table that names a person is in ``PERSONAL_DATA`` or in ``NOT_EXPORTED``, with the reason; a test compares both
with the models. Applications add their tables. Columns are chosen so that the export says nothing that its person may
not see: no secrets, no work of others, and nothing that tells known answers from other items.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotator.core.text import Message
from annotator.errors import Hidden
from annotator.models import User
from annotator.services.access.operators import is_operator
from annotator.services.security_log import log_security
from annotator.translation import translated

#: Reasons that many tables share.
IN_HISTORY = "what the person did to a project is in the rows of annotator.Event"
OF_A_MOMENT = "it says for a short time what the person is working on"


@dataclass(frozen=True)
class PersonalTable:
    """A table, the field that names the person, and the columns to export, also of rows that it points to."""

    label: str
    field: str
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return ``app.Model.field``."""
        return f"{self.label}.{self.field}"


def table(name: str, columns: str) -> PersonalTable:
    """Return a table: ``table("annotator.Membership.user", "project__slug role")``."""
    label, _dot, field = name.rpartition(".")
    return PersonalTable(label, field, tuple(columns.split()))


ACCOUNT = "public_id pseudonym username display_name email first_name last_name language chosen_language own_keys"
PERSONAL_DATA = [
    table("account.EmailAddress.user", "email verified primary"),
    table("usersessions.UserSession.user", "ip user_agent created_at last_seen_at"),
    table("socialaccount.SocialAccount.user", "provider uid date_joined last_login extra_data"),
    table("mfa.Authenticator.user", "type created_at last_used_at"),
    table("annotator.ApiToken.user", "name scopes created_at expires_at revoked_at last_used_at last_address"),
    table("annotator.Membership.user", "project__slug role provider created_at ended_at expires_at"),
    table("annotator.MemberAbilities.user", "project__slug languages skills"),
    table("annotator.GuidelineAcceptance.person", "guideline__project__slug guideline__number created_at"),
    table("annotator.Invitation.accepted_by", "project__slug roles address accepted_at"),
    table("annotator.Invitation.created_by", "project__slug roles created_at expires_at revoked_at"),
    table("annotator.Notice.person", "project__slug kind message target created_at read_at"),
    table("annotator.NoticeSettings.person", "daily time_zone updated_at"),
    table("annotator.Digest.person", "day sent_at error"),
    table("annotator.SavedView.person", "project__slug name query shared created_at"),
    table("annotator.SecurityEvent.person", "kind created_at address device details"),
    table("annotator.Event.actor", "project__slug kind created_at"),
]
NOT_EXPORTED = {
    "annotator.SecurityEvent.actor": "it is about other people’s accounts, or in the rows of SecurityEvent.person",
    "annotator.Draft.author": OF_A_MOMENT,
    "annotator.User_groups.user": "Assay does not use groups of Django",
    "annotator.User_user_permissions.user": "Assay does not use permissions of Django",
    **dict.fromkeys(
        (
            "annotator.ArchivedProject.person", "annotator.Dialogue.owner", "annotator.Guideline.author",
            "annotator.GuidelineChange.author", "annotator.Job.requester", "annotator.ProjectDeletion.person",
            "annotator.Replay.requester", "annotator.Revision.author", "annotator.SuggestionDecision.person",
            "annotator.ToolsetRevision.author", "annotator.VariantMatch.author", "annotator.Waiver.author",
            "annotator.Waiver.withdrawn_by", "annotator.Webhook.requester",
        ),
        IN_HISTORY,
    ),
}  # fmt: skip


def export_person(*, actor: User | None, person: User, request: HttpRequest | None = None) -> Iterator[str]:
    """Return the lines of the export, each {"table", …columns}. ``actor``: the person, an operator or None (command).

    Raises Hidden for others.
    """
    if actor is not None and actor.pk != person.pk and not is_operator(actor):
        raise Hidden(_("This account doesn’t exist."))
    log_security("data_exported", person=person, actor=actor, request=request)
    return _lines(person)


def _lines(person: User) -> Iterator[str]:
    account = {name: getattr(person, name) for name in (*ACCOUNT.split(), "date_joined", "last_login", "is_active")}
    yield _line("account", account)
    for one in PERSONAL_DATA:
        rows = apps.get_model(one.label)._base_manager.filter(**{one.field: person}).order_by("pk")
        for row in rows.values(*one.columns).iterator(chunk_size=500):
            yield _line(one.name, row)


def _line(name: str, row: dict[str, Any]) -> str:
    return json.dumps({"table": name} | row, cls=_Encoder, ensure_ascii=False) + "\n"


class _Encoder(DjangoJSONEncoder):
    """Writes messages as sentences in the language of the request."""

    def default(self, o: Any) -> Any:
        return translated(o) if isinstance(o, Message) else super().default(o)
