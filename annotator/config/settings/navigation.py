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
EXPORTS_PAGE, DATASET_STATISTICS_PAGE = "dialogue-export", "dialogue-statistics"
SIMILAR_PAGE, SIMILAR_SETTINGS_PAGE = "similar-list", "similar-settings"
PLAY_PAGE, WORKSPACE_PLAY_PAGE = "dialogue-play", "workspace-play"
ABSOLUTE_URL_OVERRIDES = {
    "annotator.project": lambda project: reverse("project", args=[project.slug]),
    "annotator.dialogue": lambda dialogue: reverse("dialogue", args=[dialogue.project.slug, dialogue.public_id]),
    "annotator.job": lambda job: reverse("job-list", args=[job.project.slug]),
    "annotator.webhook": lambda webhook: reverse("webhook", args=[webhook.project.slug, webhook.public_id]),
}
_OVERSEERS, _ADMINISTRATORS = ("senior_reviewer", "administrator"), ("administrator",)
_EVERYONE: tuple[str, ...] = ()
_CONTRIBUTORS = ("annotator", *_OVERSEERS)
# The navigation of a project: page, label, action of the table of keys, roles that see it, roles that see it in the bar
# (for the others it is in the project's menu), and its section there. An annotator needs four pages all day.
PROJECT_BAR: list[tuple[str, str, str, tuple[str, ...], tuple[str, ...] | None, str]] = [
    ("dialogue-list", _("Dialogues"), "go-dialogues", _EVERYONE, _EVERYONE, _("Work")),
    ("guideline", _("Guideline"), "go-guideline", _EVERYONE, _EVERYONE, _("Work")),
    ("feedback-list", _("Feedback"), "go-feedback", _EVERYONE, _EVERYONE, _("Work")),
    ("project", _("Project"), "go-project", _EVERYONE, _OVERSEERS, _("Work")),
    ("review-session-list", _("Disputes"), "go-disputes", _OVERSEERS, None, _("Work")),
    ("assignment-list", _("Assignments"), "go-assignments", _ADMINISTRATORS, None, _("Work")),
    ("statistics", _("Statistics"), "go-statistics", _EVERYONE, _OVERSEERS, _("Quality")),
    ("coverage", _("Coverage"), "go-coverage", _EVERYONE, None, _("Quality")),
    ("gold-list", _("Gold"), "go-gold", _OVERSEERS, None, _("Quality")),
    ("training", _("Training"), "go-training", _OVERSEERS, None, _("Quality")),
    ("import-list", _("Imports"), "go-imports", _ADMINISTRATORS, None, _("Data")),
    ("toolset-list", _("Toolsets"), "go-toolsets", _ADMINISTRATORS, None, _("Data")),
    ("composite-list", _("Composites"), "go-composites", _ADMINISTRATORS, None, _("Data")),
    ("generation-list", _("Generations"), "go-generations", _CONTRIBUTORS, None, _("Data")),
    ("release-list", _("Releases"), "go-releases", _EVERYONE, _ADMINISTRATORS, _("Releases")),
    ("protocol", _("Protocol"), "go-protocol", _EVERYONE, None, _("Settings")),
    ("member-list", _("People"), "go-people", _EVERYONE, None, _("Settings")),
    ("history-list", _("History"), "go-history", _OVERSEERS, None, _("Settings")),
    ("job-list", _("Jobs"), "go-jobs", _ADMINISTRATORS, None, _("Settings")),
    ("project-settings", _("Settings"), "go-settings", _ADMINISTRATORS, None, _("Settings")),
]
# The tabs of a person's account, and of the pages of operators, who run the installation: page, label.
ACCOUNT_PAGES: list[tuple[str, str]] = [
    ("account_change_password", _("Password")),
    ("mfa_index", _("Second factor")),
    ("account_email", _("Email address")),
    ("socialaccount_connections", _("Connected accounts")),
    ("account-sessions", _("Sign-ins")),
    ("account-data", _("Your data")),
]
OPERATOR_PAGES: list[tuple[str, str]] = [
    ("operator-operations", _("Operations")),
    ("operator-updates", _("Updates")),
    ("operator-person-list", _("People")),
    ("operator-token-list", _("API tokens")),
    ("operator-project-list", _("Projects")),
    ("operator-security-log", _("Security log")),
]
# What the search (Ctrl+K) finds also: page, part of it, label and roles. A test compares both lists with the URLs.
PROJECT_PAGES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("statistics-team", "", _("Team today"), _OVERSEERS),
    ("statistics-accuracy", "", _("Accuracy"), _EVERYONE),
    ("statistics-sensitivity", "", _("Sensitivity of the audit"), _OVERSEERS),
    ("statistics-agreement", "", _("Agreement"), _EVERYONE),
    ("statistics-revisions", "", _("Revisions"), _EVERYONE),
    ("statistics-samples", "", _("Samples"), _EVERYONE),
    ("statistics-fields", "", _("Answers to custom fields"), _OVERSEERS),
    ("statistics-suggestions", "", _("Suggestions"), _OVERSEERS),
    ("saved-view-list", "", _("Saved views"), _EVERYONE),
    ("dialogue-statistics", "", _("Dataset statistics"), _EVERYONE),
    ("similar-list", "", _("Similar dialogues"), _OVERSEERS),
    ("similar-settings", "", _("Threshold for similar dialogues"), _ADMINISTRATORS),
    ("example-list", "", _("Examples"), _EVERYONE),
    ("construct-cases", "", _("Construct cases"), _ADMINISTRATORS),
    ("sample-trajectories", "", _("Sample trajectories"), _ADMINISTRATORS),
    ("toolset-list", "", _("Toolsets"), _EVERYONE),
    ("toolset-statistics", "", _("Statistics of toolsets"), _EVERYONE),
    ("toolset-import", "", _("Import a toolset"), _ADMINISTRATORS),
    ("toolset-choose", "", _("Choose functions"), _ADMINISTRATORS),
    ("toolset-categories", "", _("Categories of toolsets"), _ADMINISTRATORS),
    ("toolset-review", "", _("Review of toolsets"), _ADMINISTRATORS),
    ("training", "", _("Training"), _EVERYONE),
    ("training-new", "", _("Add training item"), _ADMINISTRATORS),
    ("gold-new", "", _("Create gold item"), _ADMINISTRATORS),
    ("guideline-acceptance", "", _("Accept the guideline"), _EVERYONE),
    ("guideline-edit", "", _("Edit guideline"), _ADMINISTRATORS),
    ("guideline-outdated", "", _("Outdated work"), _ADMINISTRATORS),
    ("protocol-edit", "", _("Edit protocol"), _ADMINISTRATORS),
    ("protocol-changes", "", _("Protocol changes"), _EVERYONE),
    ("protocol-move", "", _("Move items to the current version"), _ADMINISTRATORS),
    ("invite-many", "", _("Invite many people"), _ADMINISTRATORS),
    ("member-tokens", "", _("API tokens of members"), _ADMINISTRATORS),
    ("field-list", "", _("Custom fields"), _ADMINISTRATORS),
    ("field-create", "", _("New custom field"), _ADMINISTRATORS),
    ("endpoint-list", "", _("Endpoints"), _ADMINISTRATORS),
    ("generation-start", "", _("New generation"), _ADMINISTRATORS),
    ("generation-figures", "", _("Acceptance of generated answers"), _ADMINISTRATORS),
    ("prompt-list", "", _("Prompts"), _ADMINISTRATORS),
    ("webhook-list", "", _("Webhooks"), _ADMINISTRATORS),
    ("release-settings", "", _("Licence and texts"), _ADMINISTRATORS),
    ("project-settings", "s-checks", _("Checks"), _ADMINISTRATORS),
    ("project-archive", "", _("Archive and export"), _OVERSEERS),
]
# Other words for a page, or for a part of it, by which the search finds it, too.
SEARCH_WORDS = {
    "assignment-list": _("assign pause limit who works on what reassign"),
    "coverage": _("sequences policies gaps targets heat map uniformity needed"),
    "construct-cases": _("constrained constraints seed generate"),
    "sample-trajectories": _("queries attempts solved constrained cases"),
    "dialogue-list": _("items list filter search tags"),
    "dialogue-statistics": _("composition lengths tools policies diversity distinct openings"),
    "endpoint-list": _("models inference runs keys"),
    "example-list": _("good and bad examples samples"),
    "feedback-list": _("disputes replies errors in my work decisions"),
    "field-list": _("labels questions schema"),
    "field-create": _("labels questions schema"),
    "generation-figures": _("accuracy by model candidates chosen rejected"),
    "generation-list": _("candidates models roles user planner checker generate"),
    "generation-start": _("candidates models cell gap generate"),
    "prompt-list": _("templates Jinja versions roles"),
    "gold-list": _("known answers hidden test honeypot"),
    "gold-new": _("known answers hidden test honeypot"),
    "guideline": _("rules instructions manual handbook"),
    "guideline-acceptance": _("agree read rules"),
    "guideline-edit": _("publish new version rules"),
    "guideline-outdated": _("stale old guideline send back again"),
    "history-list": _("events log audit who changed what"),
    "import-list": _("upload files candidates data"),
    "invite-many": _("new people members links addresses onboarding"),
    "job-list": _("background tasks failed running"),
    "member-list": _("members roles team invite languages skills"),
    "project": _("progress overview stages"),
    "project-archive": _("delete close restore backup download everything"),
    "project-settings": _("name rules options configuration"),
    "project-settings#s-checks": _("findings severities warnings errors"),
    "protocol": _("stages reviewers checklist workflow"),
    "protocol-edit": _("stages reviewers checklist workflow"),
    "protocol-move": _("migrate new version"),
    "release-list": _("publish download benchmark versions archive"),
    "release-settings": _("license card description citation"),
    "review-session-list": _("adjudication disagreements sessions"),
    "saved-view-list": _("filters bookmarks"),
    "similar-list": _("near-duplicates groups clusters templates"),
    "similar-settings": _("near-duplicates percent preview"),
    "statistics": _("figures progress charts speed"),
    "statistics-accuracy": _("quality error rate"),
    "statistics-agreement": _("kappa alpha consistency raters"),
    "statistics-samples": _("audit draw random error rate"),
    "statistics-sensitivity": _("overlooked known errors experts"),
    "statistics-team": _("stuck active idle help reassign who is working today goals"),
    "toolset-categories": _("subjects domains"),
    "toolset-choose": _("subset scenario draw seed"),
    "toolset-import": _("OpenAPI MCP Python JSON schema upload"),
    "toolset-list": _("tools functions schema"),
    "toolset-review": _("verified tools"),
    "toolset-statistics": _("parameters types depth counts"),
    "training": _("trainees practice test pass mark onboarding new people"),
    "training-new": _("trainees practice test onboarding"),
    "webhook-list": _("integration callbacks notifications events"),
}
