"""Applications, middleware and templates."""

from django.contrib.messages import constants as levels

from annotator.config.settings.mode import BASE_DIR

INSTALLED_APPS = [
    "annotator",
    "reviews",
    "benchmark",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django.forms",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.github",
    "allauth.socialaccount.providers.google",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "csp",
    "django_htmx",
    "drf_spectacular",
    "rest_framework",
    "template_partials",
]

MIDDLEWARE = [
    "annotator.views.request_log.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "annotator.views.protective_headers.ProtectiveHeadersMiddleware",
    "annotator.views.middleware.ContentPolicyMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "annotator.views.middleware.HealthMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "annotator.views.middleware.CacheMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "annotator.views.middleware.SizeMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "annotator.views.sessions.SessionAgeMiddleware",
    "annotator.views.languages.LanguageMiddleware",
    "annotator.views.middleware.PersonMiddleware",
    "annotator.views.middleware.KeysMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "annotator.views.second_factor.SecondFactorMiddleware",
    "annotator.views.middleware.RateMiddleware",
    "annotator.views.middleware.TurnsMiddleware",
    "annotator.views.maintenance.MaintenanceMiddleware",
    "annotator.views.middleware.FormAddressMiddleware",
    "annotator.views.middleware.NulMiddleware",
    "annotator.views.middleware.DomainErrorMiddleware",
    "reviews.views.workspace.next_item.NextItemMiddleware",
    "annotator.views.middleware.FilterMiddleware",
]

ROOT_URLCONF = "annotator.config.urls"
WSGI_APPLICATION = "annotator.config.wsgi.application"
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
# The tone in which a page shows a message.
MESSAGE_TAGS = {
    levels.DEBUG: "info",
    levels.INFO: "info",
    levels.SUCCESS: "good",
    levels.WARNING: "warn",
    levels.ERROR: "bad",
}

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotator.views.context.chrome",
            ],
        },
    },
    {
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "DIRS": [BASE_DIR / "templates" / "jinja2"],
        "OPTIONS": {"environment": "annotator.presentation.components.jinja.environment"},
    },
]
