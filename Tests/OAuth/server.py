"""An authorization server that is not ours, with a protected resource: django-oauth-toolkit.

All that concerns OAuth is the toolkit's own. Here are its settings, one account, the clients, a
login page, tips to serve, and a few handles by which a test reaches behind the clients' backs.
"""

import argparse
import json
import os
from datetime import timedelta

parser = argparse.ArgumentParser()
parser.add_argument("--directory", required=True)
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--access-lifetime", type=int, default=3600)
parser.add_argument("--grace", type=int, default=0, help="seconds in which a spent token is answered again")
parser.add_argument("--reuse-protection", action="store_true")
parser.add_argument("--no-rotation", action="store_true")
parser.add_argument("--device-lifetime", type=int, default=600)
parser.add_argument("--device-interval", type=int, default=1)
parser.add_argument("--lock-patience", type=int, default=20, help="seconds before a locked database is a 500")
options = parser.parse_args()

import django
from django.conf import settings

address = f"http://127.0.0.1:{options.port}"
settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.path.join(options.directory, "server.sqlite3"),
            "OPTIONS": {"timeout": options.lock_patience, "transaction_mode": "IMMEDIATE"},
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "oauth2_provider"],
    LOGIN_URL="/login/",
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    OAUTH2_PROVIDER={
        "ACCESS_TOKEN_EXPIRE_SECONDS": options.access_lifetime,
        "ALLOWED_REDIRECT_URI_SCHEMES": ["http", "https"],
        "DEFAULT_SCOPES": ["tips"],
        "DEVICE_FLOW_INTERVAL": options.device_interval,
        "OAUTH_DEVICE_VERIFICATION_URI": address + "/o/device",
        "OAUTH_DEVICE_VERIFICATION_URI_COMPLETE": lambda code: f"{address}/o/device?user_code={code}",
        "PKCE_REQUIRED": True,
        "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": options.grace,
        "REFRESH_TOKEN_REUSE_PROTECTION": options.reuse_protection,
        "ROTATE_REFRESH_TOKEN": not options.no_rotation,
        "SCOPES": {"tips": "Read tips", "nothing": "Read nothing"},
    },
    ROOT_URLCONF=__name__,
    SECRET_KEY="a dummy for tests",
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "context_processors": ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth"],
                "loaders": [
                    ("django.template.loaders.locmem.Loader", {"login.html": "<form method='post'>{% csrf_token %}{{ form }}<button>Sign in</button></form>"}),
                    "django.template.loaders.app_directories.Loader",
                ],
            },
        }
    ],
    USE_TZ=True,
)
django.setup()

from django.contrib.auth import get_user_model
from django.contrib.auth.views import LoginView
from django.core.management import call_command
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.urls import include, path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.decorators import protected_resource
from oauth2_provider.models import get_access_token_model, get_application_model, get_device_grant_model, get_refresh_token_model
from oauth2_provider.urls import metadata_urlpatterns

AccessTokens = get_access_token_model().objects
RefreshTokens = get_refresh_token_model().objects
Devices = get_device_grant_model().objects


@protected_resource(scopes=["tips"], advertise_metadata=True)
def today(request):
    return JsonResponse({"id": "rinse", "title": "Rinse the filter", "body": "Hot water first, then the coffee."})


def counts(request):
    return JsonResponse(
        {
            "access": AccessTokens.count(),
            "refresh": RefreshTokens.count(),
            "live": RefreshTokens.filter(revoked=None).count(),
        }
    )


@csrf_exempt
def expire_access(request):
    return JsonResponse({"changed": AccessTokens.update(expires=timezone.now() - timedelta(seconds=1))})


@csrf_exempt
def revoke_refresh(request):
    return JsonResponse({"changed": RefreshTokens.filter(revoked=None).update(revoked=timezone.now())})


@csrf_exempt
def expire_devices(request):
    return JsonResponse({"changed": Devices.update(expires=timezone.now() - timedelta(seconds=1))})


urlpatterns = [
    path("login/", LoginView.as_view(template_name="login.html")),
    path("tips/today", today),
    path("behind/counts", counts),
    path("behind/expire-access", expire_access),
    path("behind/revoke-refresh", revoke_refresh),
    path("behind/expire-devices", expire_devices),
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    path("", include(metadata_urlpatterns)),
]

# The toolkit gives a client one grant besides the refresh.
CLIENTS = [
    ("brewlog-password", "dummy-secret", "password", ""),
    ("brewlog-device", "", "urn:ietf:params:oauth:grant-type:device_code", ""),
    ("brewlog-code", "", "authorization-code", "http://127.0.0.1/callback"),
]


def set_up():
    call_command("migrate", verbosity=0, interactive=False)
    if not get_user_model().objects.exists():
        get_user_model().objects.create_user("ada", password="dummy-password")
    Applications = get_application_model().objects
    for client, secret, grant, redirects in CLIENTS:
        if not Applications.filter(client_id=client).exists():
            Applications.create(
                name=client, client_id=client, client_secret=secret, authorization_grant_type=grant,
                client_type="confidential" if secret else "public", redirect_uris=redirects,
            )


class Handler(WSGIRequestHandler):
    def log_message(self, *arguments):
        """A query may hold codes; the server's own log holds none of it."""


if __name__ == "__main__":
    set_up()
    if options.device_lifetime != 1800:
        # oauthlib has the lifetime of device codes built in, and the toolkit no setting for it.
        from oauthlib.oauth2.rfc8628.endpoints.device_authorization import DeviceAuthorizationEndpoint

        DeviceAuthorizationEndpoint.expires_in = property(lambda self: options.device_lifetime)
    server = ThreadedWSGIServer(("127.0.0.1", options.port), Handler)
    server.set_app(get_wsgi_application())
    print(json.dumps({"address": address}), flush=True)
    server.serve_forever()
