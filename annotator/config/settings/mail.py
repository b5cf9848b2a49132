"""How mails are sent."""

from annotator.config import environment as env
from annotator.config.settings.mode import DATA_DIR, DEMO

# The demo writes mails to files.
EMAIL_BACKEND = env.mail_backend(default=f"django.core.mail.backends.{'filebased' if DEMO else 'console'}.EmailBackend")
EMAIL_FILE_PATH = env.text("EMAIL_FILE_PATH", default=str(DATA_DIR / "mail"))
EMAIL_TIMEOUT = env.seconds("EMAIL_TIMEOUT", default=30, minimum=1)
EMAIL_HOST = env.mail_host(default="localhost")
EMAIL_PORT = env.integer("EMAIL_PORT", default=25, minimum=1, maximum=65535)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER", default="")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD", default="")
EMAIL_USE_TLS = env.boolean("EMAIL_USE_TLS", default=False)
DEFAULT_FROM_EMAIL = env.mail_address("DEFAULT_FROM_EMAIL", default="assay@localhost")
