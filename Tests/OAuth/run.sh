#!/bin/bash
# Runs brewlogd against django-oauth-toolkit, an authorization server from PyPI:
#   Tests/OAuth/run.sh BUILD_DIRECTORY [case ...]
# BUILD_DIRECTORY holds brewlogd; the server is installed beside it, once. Where PyPI cannot be
# reached, it says so and ends well: nothing was tested.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
programs=$(cd "$1" && pwd)
shift
environment=$programs/oauth-server
python=$environment/bin/python

skip() {
  echo "oauth-test: SKIPPED, $1" >&2
  exit 0
}

command -v python3 >/dev/null || skip "there is no python3"
if ! "$python" -c 'import oauth2_provider' 2>/dev/null; then
  rm -rf "$environment"
  python3 -m venv "$environment" || skip "python3 has no venv module"
  "$python" -m pip install -q --disable-pip-version-check \
    'django-oauth-toolkit==3.4.1' 'django>=5.2,<5.3' 'oauthlib>=3.3,<4' \
    || { rm -rf "$environment"; skip "django-oauth-toolkit could not be installed from PyPI"; }
fi

cd "$here"
BREWLOG_PROGRAMS=$programs PYTHONDONTWRITEBYTECODE=1 exec "$python" cases.py -v "$@"
