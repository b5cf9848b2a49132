"""Pseudonymise a person on request: what identifies them is removed, and their work stays under a pseudonym."""

from collections.abc import Callable

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.db import transaction
from django.utils.translation import gettext as _

from annotator.errors import Conflict
from annotator.models import Digest, Invitation, MemberAbilities, Notice, NoticeSettings, SavedView, User
from annotator.services.accounts.people import locked_account
from annotator.services.accounts.sessions import end_all_sessions
from annotator.services.security_log import log_security

#: Each removes what an application stores for a person alone, in the transaction that pseudonymises them.
FORGET_PERSON: list[Callable[[User], None]] = []


def pseudonymise(*, actor: User, public_id: str) -> User:
    """Remove the names, addresses, factors and connected accounts of a deactivated person. It can't be undone.

    Their reviews, comments and edits stay, under the pseudonym that releases use. What others wrote about them stays,
    and so do the network addresses in the security log, which only grows. Raises Hidden, or Conflict for an account
    that is not deactivated.
    """
    with transaction.atomic():
        person = locked_account(actor, public_id)
        if person.is_active:
            raise Conflict(_("Deactivate the account first. Pseudonymising can’t be undone."))
        if person.username == person.pseudonym:
            return person
        person.username, person.display_name, person.email = person.pseudonym, "", ""
        person.first_name = person.last_name = person.demo_note = person.language = person.chosen_language = ""
        person.own_keys, person.last_login, person.is_staff = {}, None, False
        person.set_unusable_password()
        person.save()
        end_all_sessions(person)
        for mine in (EmailAddress, SocialAccount, Authenticator, MemberAbilities):
            mine.objects.filter(user=person).delete()
        for theirs in (Notice, Digest, NoticeSettings):
            theirs.objects.filter(person=person).delete()
        SavedView.objects.filter(person=person, shared=False).delete()
        person.api_tokens.update(name="")
        Invitation.objects.filter(accepted_by=person).update(address="", note="")
        for forget in FORGET_PERSON:
            forget(person)
        log_security("account_pseudonymised", person=person, actor=actor)
    return person
