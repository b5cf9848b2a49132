from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "reviews"

    def ready(self) -> None:
        # Each registers the kind of job it runs.
        from annotator.services.blindness import BLIND, REVIEWED_BLIND
        from annotator.services.history_checks import PROJECT_RECORDS, RECORDS
        from annotator.services.projects import GIVEN, IN_HAND, TAKE_BACK
        from reviews.services import migrating, sampling, sending_back  # noqa: F401
        from reviews.services.leaving import end_tests, give_back_claims, name_claims
        from reviews.services.record_checks import project_record_faults, record_faults
        from reviews.services.sealing import blind_for, reviewed_blind

        BLIND.append(blind_for)
        REVIEWED_BLIND.append(reviewed_blind)
        RECORDS.append(record_faults)
        PROJECT_RECORDS.append(project_record_faults)
        IN_HAND.append(name_claims)
        TAKE_BACK.append(give_back_claims)
        GIVEN.append(end_tests)
