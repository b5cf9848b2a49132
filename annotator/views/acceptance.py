"""The page on which people accept the guideline, and the setting that asks them to."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotator.errors import Conflict, Hidden
from annotator.models import GuidelineAcceptance
from annotator.services import acceptance
from annotator.services.dialogues.revisions import latest_guideline
from annotator.views.pages import PageRequest, project_page


@project_page
@require_http_methods(["GET", "POST"])
def guideline_acceptance(request: PageRequest) -> HttpResponse:
    """Show the current guideline with a button that accepts it."""
    project, refused, status = request.project, "", 200
    if request.method == "POST":
        number = request.POST.get("number", "")
        try:
            is_number = number.isascii() and number.isdigit() and len(number) < 9
            acceptance.accept_guideline(actor=request.user, project=project, number=int(number) if is_number else 0)
        except Conflict as error:
            refused, status = error.sentence, error.status
        else:
            messages.success(request, _("Version %(number)s accepted.") % {"number": number})
            return redirect(settings.LOGIN_REDIRECT_URL)
    guideline = latest_guideline(project)
    if guideline is None:
        raise Hidden(_("There is no guideline yet."))
    mine = GuidelineAcceptance.objects.filter(guideline=guideline, person=request.user).first()
    context = {"project": project, "guideline": guideline, "mine": mine, "refused": refused}
    return render(request, "annotator/guideline_acceptance.html", context, status=status)


@project_page
@require_POST
def acceptance_setting(request: PageRequest) -> HttpResponse:
    """Set whether people must accept the guideline before they get work."""
    required = "required" in request.POST
    acceptance.require_acceptance(actor=request.user, project=request.project, required=required)
    if required:
        messages.success(request, _("People must now accept the guideline before they get work."))
    else:
        messages.success(request, _("People get work without accepting the guideline."))
    return redirect("guideline", slug=request.project.slug)
