from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AnnotatorConfig(AppConfig):
    name = "annotator"

    def ready(self) -> None:
        from annotator.config.postgresql import encoding  # noqa: F401 - registers a check

        # These register their kinds of jobs.
        from annotator.services.accounts import providers, security_events, sessions  # noqa: F401 - connect to signals
        from annotator.services.dialogues import composite_checks, field_checks, replay_runner, trials  # noqa: F401
        from annotator.services.integrity import history_checks  # noqa: F401
        from annotator.services.operations import forgetting  # noqa: F401 - registers its retention
        from annotator.services.operations.updates import note_version
        from annotator.services.webhooks import deliveries  # noqa: F401 - registers its retention

        post_migrate.connect(note_version, sender=self)
