from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "reviews"

    def ready(self) -> None:
        # Each registers the kind of job it runs.
        from reviews.services import migrating, sampling, sending_back  # noqa: F401
