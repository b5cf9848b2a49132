"""Sign-in with an identity provider: from our page to the provider's."""

import logging
from functools import wraps

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from requests import RequestException

from annotator.config.providers import IdentityProvider
from annotator.errors import Busy

_LOG = logging.getLogger(__name__)
#: What reading an answer of a provider raises if the answer is not as the standard says.
MALFORMED = (AttributeError, KeyError, TypeError, ValueError)


@wraps(openid_connect.callback)  # its parameters are the provider's, so they are no filters of a page
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Return from a provider of OpenID Connect: allauth's view, for answers of any shape."""
    try:
        response: HttpResponse = openid_connect.callback(request, provider_id)
    except MALFORMED as error:
        _LOG.warning("The provider “%s” answered in a way that can’t be read: %r", provider_id, error, exc_info=True)
        return render(request, "socialaccount/authentication_error.html", status=401)
    return response


@require_POST
def provider_sign_in(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Go to a provider to sign in, or to connect its account to the person who is signed in.

    The answer is a page that leads on by itself, not a redirect: the content security policy forbids forms that lead
    to other sites, and providers often lead on to further ones.
    """
    known = next((one for one in settings.IDENTITY_PROVIDERS if one.id == provider_id), None)
    if known is None:
        raise Http404
    page = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(page, allowed_hosts={request.get_host()}):
        page = ""
    process = "connect" if request.user.is_authenticated else "login"
    return render(
        request,
        "socialaccount/login_redirect.html",
        {"provider": known.name, "address": _address(request, known, process, page)},
    )


def _address(request: HttpRequest, known: IdentityProvider, process: str, page: str) -> str:
    try:
        provider = get_adapter().get_provider(request, known.id)
        return str(provider.redirect(request, process, next_url=page or None)["Location"])
    except SocialApp.DoesNotExist:
        raise Http404 from None
    except (RequestException, *MALFORMED):
        sentence = _("%(provider)s does not respond. Try again in a minute, or sign in with a password.")
        raise Busy(sentence % {"provider": known.name}) from None
