"""Pages that others link to, and the navigation bar."""

from django.urls import reverse

# Not that of Django, which would read the settings while they are being made.
from annotator.core.text import gettext_noop as _

# An app does not know the pages of the apps above it. To link to them, use the address of an object, or one of these
# settings with the template tag ``page_url``.
LOGIN_REDIRECT_URL = "home"
NEW_PROJECT_PAGE = "protocol"
ARCHIVE_PAGE = "project-archive"
EXAMPLES_PAGE = "example-list"
OUTDATED_PAGE = "guideline-outdated"
IMPORTS_PAGE = "import-list"
RELEASES_PAGE = "release-list"
EXPORTS_PAGE = "dialogue-export"
PLAY_PAGE, WORKSPACE_PLAY_PAGE = "dialogue-play", "workspace-play"
ABSOLUTE_URL_OVERRIDES = {
    "annotator.project": lambda project: reverse("project", args=[project.slug]),
    "annotator.dialogue": lambda dialogue: reverse("dialogue", args=[dialogue.project.slug, dialogue.public_id]),
    "annotator.job": lambda job: reverse("job-list", args=[job.project.slug]),
    "annotator.webhook": lambda webhook: reverse("webhook", args=[webhook.project.slug, webhook.public_id]),
}
_OVERSEERS, _ADMINISTRATORS = ("senior_reviewer", "administrator"), ("administrator",)
_EVERYONE: tuple[str, ...] = ()
# The navigation of a project: page, label, keyboard shortcut, roles that see it, and roles that see it in the bar;
# for the others it is in the project's menu. An annotator needs four pages all day.
PROJECT_BAR: list[tuple[str, str, str, tuple[str, ...], tuple[str, ...] | None]] = [
    ("dialogue-list", _("Dialogues"), "g d", _EVERYONE, _EVERYONE),
    ("guideline", _("Guideline"), "g g", _EVERYONE, _EVERYONE),
    ("feedback-list", _("Feedback"), "g f", _EVERYONE, _EVERYONE),
    ("project", _("Project"), "g p", _EVERYONE, _OVERSEERS),
    ("statistics", _("Statistics"), "g t", _EVERYONE, _OVERSEERS),
    ("release-list", _("Releases"), "g r", _EVERYONE, _ADMINISTRATORS),
    ("protocol", _("Protocol"), "g o", _EVERYONE, None),
    ("member-list", _("People"), "g e", _EVERYONE, None),
    ("review-session-list", _("Disputes"), "g x", _OVERSEERS, None),
    ("gold-list", _("Gold"), "g k", _OVERSEERS, None),
    ("history-list", _("History"), "g y", _OVERSEERS, None),
    ("assignment-list", _("Assignments"), "g a", _ADMINISTRATORS, None),
    ("import-list", _("Imports"), "g i", _ADMINISTRATORS, None),
    ("toolset-list", _("Toolsets"), "g l", _ADMINISTRATORS, None),
    ("composite-list", _("Composites"), "g c", _ADMINISTRATORS, None),
    ("job-list", _("Jobs"), "g j", _ADMINISTRATORS, None),
    ("project-settings", _("Settings"), "g s", _ADMINISTRATORS, None),
]
