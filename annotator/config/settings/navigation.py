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
# The navigation of a project: page, label, action of the table of keys, roles that see it, and roles that see it in the
# bar; for the others it is in the project's menu. An annotator needs four pages all day.
PROJECT_BAR: list[tuple[str, str, str, tuple[str, ...], tuple[str, ...] | None]] = [
    ("dialogue-list", _("Dialogues"), "go-dialogues", _EVERYONE, _EVERYONE),
    ("guideline", _("Guideline"), "go-guideline", _EVERYONE, _EVERYONE),
    ("feedback-list", _("Feedback"), "go-feedback", _EVERYONE, _EVERYONE),
    ("project", _("Project"), "go-project", _EVERYONE, _OVERSEERS),
    ("statistics", _("Statistics"), "go-statistics", _EVERYONE, _OVERSEERS),
    ("release-list", _("Releases"), "go-releases", _EVERYONE, _ADMINISTRATORS),
    ("protocol", _("Protocol"), "go-protocol", _EVERYONE, None),
    ("member-list", _("People"), "go-people", _EVERYONE, None),
    ("review-session-list", _("Disputes"), "go-disputes", _OVERSEERS, None),
    ("gold-list", _("Gold"), "go-gold", _OVERSEERS, None),
    ("training", _("Training"), "go-training", _OVERSEERS, None),
    ("history-list", _("History"), "go-history", _OVERSEERS, None),
    ("assignment-list", _("Assignments"), "go-assignments", _ADMINISTRATORS, None),
    ("import-list", _("Imports"), "go-imports", _ADMINISTRATORS, None),
    ("toolset-list", _("Toolsets"), "go-toolsets", _ADMINISTRATORS, None),
    ("composite-list", _("Composites"), "go-composites", _ADMINISTRATORS, None),
    ("job-list", _("Jobs"), "go-jobs", _ADMINISTRATORS, None),
    ("project-settings", _("Settings"), "go-settings", _ADMINISTRATORS, None),
]
