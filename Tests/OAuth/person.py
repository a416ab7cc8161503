"""What a person does in a browser at the authorization server, and the first grant of a token."""

import html
import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request


class Unfollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


def fetch(opener, url, form=None, headers=()):
    """Status, headers and text of one exchange; no redirect is followed."""
    data = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(url, data=data, headers=dict(headers))
    try:
        with opener.open(request, timeout=40) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.headers, answer.read().decode()


def plain():
    return urllib.request.build_opener(Unfollowed)


class Browser:
    """Signed in as the server's one account."""

    def __init__(self, address):
        self.address = address
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(cookies, Unfollowed)
        self.submit("/login/", username="ada", password="dummy-password")

    def submit(self, target, without=(), **fields):
        """Opens a page and sends its form back, filled in. Returns where that leads."""
        url = urllib.parse.urljoin(self.address, target)
        _, _, page = fetch(self.opener, url)
        form = {}
        for tag in re.findall(r"<input[^>]*>", page):
            name = re.search(r'name="([^"]*)"', tag)
            value = re.search(r'value="([^"]*)"', tag)
            if name and name.group(1) not in without:
                form[name.group(1)] = html.unescape(value.group(1)) if value else ""
        form.update(fields)
        status, headers, page = fetch(self.opener, url, form, {"Referer": url})
        if status != 302:
            raise AssertionError(f"{target} answered {status} to the form")
        return urllib.parse.urljoin(url, headers["Location"])

    def decide(self, user_code, approve):
        """Enters the code that a device shows, and approves or denies."""
        page = self.submit("/o/device/", user_code=user_code)
        self.submit(page, without=("action",), action="accept" if approve else "deny")

    def agree(self, authorize_uri):
        """Agrees to a sign-in; returns the address that the browser is sent back to."""
        return self.submit(authorize_uri, allow="Authorize")


def password_grant(address, client="brewlog-password", secret="dummy-secret", scope="tips"):
    """The first pair of tokens, for an import."""
    form = {
        "grant_type": "password", "username": "ada", "password": "dummy-password", "scope": scope,
        "client_id": client, "client_secret": secret,
    }
    status, _, body = fetch(plain(), address + "/o/token/", form)
    if status != 200:
        raise AssertionError(f"the password grant answered {status}")
    return json.loads(body)


def refresh_grant(address, token, client="brewlog-password", secret="dummy-secret"):
    """Status and body: somebody else uses a refresh token."""
    form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": client, "client_secret": secret}
    status, _, body = fetch(plain(), address + "/o/token/", form)
    return status, body
