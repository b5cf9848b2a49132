"""Pages of prompt templates: their versions, a preview, and a new version."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotator.errors import Hidden, Invalid
from annotator.presentation.components.labels import words_of
from annotator.services.access.permissions import require_administrator
from annotator.services.database.filters import one_of
from annotator.views.pages import PageRequest, posted, project_page, takes
from benchmark.core.generation.purposes import ROLE_OF, SAMPLES, Purpose
from benchmark.core.generation.templates import render as render_prompt
from benchmark.services.generation import templates
from benchmark.views.generation_forms import PromptForm
from benchmark.views.generations import trail_of


@project_page
@require_safe
def prompt_list(request: PageRequest) -> HttpResponse:
    """List the prompts with their newest versions."""
    require_administrator(actor=request.user, project=request.project)
    newest = templates.newest_templates(request.project)
    context = {
        "project": request.project,
        "rows": [newest[purpose] for purpose in Purpose],
        "trail": trail_of(request.project, (_("Prompts"), "")),
    }
    return render(request, "benchmark/generation/prompts.html", context)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes("version")
def prompt(request: PageRequest, purpose: str) -> HttpResponse:
    """Show a prompt and its versions; preview or save a new version."""
    project = request.project
    if purpose not in set(Purpose):
        raise Hidden(_("There is no such prompt."))
    asked = Purpose(purpose)
    versions = templates.list_versions(actor=request.user, project=project, purpose=asked)
    numbers = {str(one.number): one for one in versions}
    chosen = numbers[one_of(request.GET, "version", numbers, str(versions[0].number))]
    form = PromptForm(posted(request), initial={"content": versions[0].content})
    preview = ""
    if form.is_bound and form.is_valid():
        content = form.cleaned_data["content"]
        try:
            templates.check_content(asked, content)
            preview = render_prompt(asked, content, SAMPLES[asked])
            if "preview" not in request.POST:
                made = templates.save_template(actor=request.user, project=project, purpose=asked, content=content)
                messages.info(request, _("Version %(number)s is the newest.") % {"number": made.number})
                return redirect("prompt", slug=project.slug, purpose=purpose)
        except Invalid as refusal:
            form.add_error("content", refusal.sentence)
    title = words_of("prompt", purpose)
    context = {
        "project": project, "purpose": purpose, "role": ROLE_OF[asked].value, "form": form, "preview": preview,
        "versions": versions, "chosen": chosen, "before": numbers.get(str(chosen.number - 1)),
        "names": sorted(SAMPLES[asked]), "title": title,
        "trail": trail_of(project, (_("Prompts"), reverse("prompt-list", args=[project.slug])), (title, "")),
    }  # fmt: skip
    return render(request, "benchmark/generation/prompt.html", context, status=422 if form.errors else 200)
