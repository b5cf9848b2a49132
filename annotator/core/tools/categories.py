"""The categories of toolsets that a project starts with. Each project has its own list from then on."""

from annotator.core.text import gettext_noop as _

#: Characters of a category, and categories of a project.
MAX_LENGTH, MAX_CATEGORIES = 60, 200

STARTING: tuple[str, ...] = (
    _("Accommodation"), _("Accounting"), _("Advertising"), _("Agriculture"), _("Air travel"), _("Animals"), _("Art"),
    _("Banking"), _("Books"), _("Business"), _("Calendar"), _("Cars"), _("Chemistry"), _("Communication"),
    _("Construction"), _("Cryptocurrency"), _("Data"), _("Development of software"), _("Education"), _("Email"),
    _("Energy"), _("Entertainment"), _("Environment"), _("Events and tickets"), _("Fashion"), _("Files"),
    _("Films and television"), _("Fitness"), _("Food"), _("Games"), _("Government"), _("Health"), _("Home"),
    _("Insurance"), _("Job search"), _("Languages"), _("Law"), _("Logistics"), _("Maps"), _("Medicine"), _("Music"),
    _("News"), _("Public transport"), _("Real estate"), _("Science"), _("Security"), _("Shopping"),
    _("Social networks"), _("Sports"), _("Weather"),
)  # fmt: skip
