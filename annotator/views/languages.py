"""The language of pages: which one a request gets, a person's choice, and the texts of scripts."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.shortcuts import redirect, render
from django.utils.translation import activate, get_language, override
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_safe
from django.views.i18n import JavaScriptCatalog

from annotator.services.accounts.languages import choose_language
from annotator.views.forms import LanguageForm
from annotator.views.pages import PageRequest, posted, takes


class LanguageMiddleware(LocaleMiddleware):
    """Activates the language that the person has chosen, else that of the browser. The API always speaks English."""

    def process_request(self, request: HttpRequest) -> None:
        if request.path_info.startswith("/api/"):
            activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = settings.LANGUAGE_CODE
            return
        chosen = getattr(request.user, "chosen_language", "")
        if chosen not in dict(settings.LANGUAGES):
            super().process_request(request)
            return
        activate(chosen)
        request.LANGUAGE_CODE = get_language() or chosen


@login_required
@require_http_methods(["GET", "POST"])
def language_settings(request: PageRequest) -> HttpResponse:
    """Choose the language of pages and mails."""
    form = LanguageForm(posted(request), initial={"language": request.user.chosen_language})
    if form.is_valid():
        choose_language(actor=request.user, language=form.cleaned_data["language"])
        LanguageMiddleware(lambda _request: HttpResponse()).process_request(request)
        messages.success(request, _("Saved. Pages and mails are now in this language."))
        return redirect("language-settings")
    return render(request, "annotator/language_settings.html", {"form": form}, status=422 if form.is_bound else 200)


@require_safe
@takes("language", "version")
@cache_control(private=True, max_age=31_536_000, immutable=True)
def script_texts(request: HttpRequest) -> HttpResponseBase:
    """Return the texts of scripts in a language. Pages name a version in the address, so browsers keep the answer."""
    language = request.GET.get("language", settings.LANGUAGE_CODE)
    if language not in dict(settings.LANGUAGES):
        raise Http404
    with override(language):
        response = JavaScriptCatalog.as_view()(request)
    response["Content-Type"] = "text/javascript; charset=utf-8"
    return response
