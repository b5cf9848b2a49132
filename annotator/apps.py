from django.apps import AppConfig


class AnnotatorConfig(AppConfig):
    name = "annotator"

    def ready(self) -> None:
        # They register the kinds of jobs they run.
        from annotator.services import history_checks, replay_runner, trials  # noqa: F401
