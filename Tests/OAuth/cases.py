"""brewlogd against an authorization server that nobody here wrote."""

import json
import os
import sqlite3
import threading
import time
import unittest
import urllib.request

from parts import CallFailed, Connection, Daemon, LossyWay, Server
from person import Browser, fetch, password_grant, plain, refresh_grant

SECRET = {"ClientID": "brewlog-password", "ClientAuthentication": "post"}


class Case(unittest.TestCase):
    def server(self, *options):
        server = Server(*options)
        self.addCleanup(server.close)
        return server

    def daemon(self, server, way=None, **sections):
        auth = {"TokenEndpoint": f"{(way or server).address}/o/token/", "RevocationEndpoint": f"{server.address}/o/revoke_token/"}
        auth.update(SECRET)
        auth.update(sections.pop("Auth", {}))
        if auth["ClientID"] == "brewlog-password" and "ClientSecretFile" not in auth:
            auth["ClientSecretFile"] = os.path.join(server.directory, "client-secret")
            with open(os.open(auth["ClientSecretFile"], os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write("dummy-secret")
        daemon = Daemon(server.address, Auth=auth, **sections)
        self.addCleanup(daemon.close)
        return daemon

    def signed_in(self, server, way=None, **sections):
        daemon = self.daemon(server, way, **sections)
        tokens = password_grant(server.address)
        daemon.sign_in(tokens["refresh_token"])
        return daemon, tokens

    def fails(self, name, call):
        with self.assertRaises(CallFailed) as raised:
            call()
        self.assertEqual(raised.exception.name, name, raised.exception)
        return raised.exception.parameters

    def recovers(self, daemon):
        """Refreshes as soon as the backoff lets it."""
        for _ in range(20):
            try:
                return daemon.refresh()
            except CallFailed as failure:
                self.assertEqual(failure.name, "RefreshFailed", failure)
                time.sleep(min(5, failure.parameters.get("retryAfterSeconds", 1)))
        self.fail("no refresh succeeded")

    def silent(self, daemon, tokens):
        """No token in what the daemon has logged (I10)."""
        text = daemon.text()
        for name in ("access_token", "refresh_token"):
            self.assertNotIn(tokens[name], text)


class SignInByImport(Case):
    def test_a_refresh_token_becomes_a_session_and_a_tip(self):
        server = self.server()
        daemon, tokens = self.signed_in(server)
        reply = daemon.today()
        self.assertEqual(reply["tip"]["title"], "Rinse the filter")
        self.assertEqual(reply["provenance"]["source"], "network")
        session = daemon.status()
        self.assertEqual(session["state"], "signedIn")
        self.assertEqual(session["rotations"], 1)
        self.assertEqual(session["scope"], "tips")
        self.assertEqual(server.behind("counts")["live"], 1)
        self.silent(daemon, tokens)

    def test_an_expired_access_token_costs_one_refresh(self):
        server = self.server()
        daemon, _ = self.signed_in(server)
        daemon.today()
        for round in (2, 3):
            server.behind("expire-access")
            self.assertEqual(daemon.today()["provenance"]["source"], "network")
            self.assertEqual(daemon.status()["rotations"], round)

    def test_the_session_goes_on_after_kill(self):
        server = self.server("--reuse-protection")
        daemon, _ = self.signed_in(server)
        daemon.refresh()
        daemon.stop(9)
        daemon.start()
        server.behind("expire-access")
        daemon.today()
        self.assertEqual(daemon.status()["rotations"], 2)

    def test_a_wrong_secret_is_an_error_of_the_configuration(self):
        server = self.server()
        wrong = os.path.join(server.directory, "wrong")
        with open(os.open(wrong, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("another-dummy")
        daemon = self.daemon(server, Auth={"ClientSecretFile": wrong})
        tokens = password_grant(server.address)
        daemon.sign_in(tokens["refresh_token"])
        for _ in range(3):
            failure = self.fails("RefreshFailed", daemon.refresh)
            self.assertIn("invalid_client", failure["reason"])
            self.assertNotIn("retryAfterSeconds", failure)
        self.assertEqual(daemon.status()["state"], "signedIn")
        self.assertEqual(refresh_grant(server.address, tokens["refresh_token"])[0], 200)

    def test_a_scope_that_is_missing_is_refused_without_a_refresh(self):
        server = self.server()
        daemon = self.daemon(server)
        tokens = password_grant(server.address, scope="nothing")
        daemon.call("Session.ImportCredentials", {"accessToken": tokens["access_token"], "refreshToken": tokens["refresh_token"]})
        failure = self.fails("Refused", daemon.today)
        self.assertEqual(failure["httpStatus"], 403)
        self.assertEqual(daemon.status()["rotations"], 0)


class Rotation(Case):
    def test_a_hundred_rotations(self):
        server = self.server("--reuse-protection")
        daemon, _ = self.signed_in(server)
        fingerprints = set()
        for round in range(100):
            fingerprints.add(daemon.refresh()["refreshTokenFingerprint"])
        self.assertEqual(len(fingerprints), 100)
        self.assertEqual(daemon.status()["rotations"], 100)
        self.assertEqual(daemon.today()["provenance"]["source"], "network")
        self.assertEqual(server.behind("counts")["live"], 1)

    def test_many_clients_at_once_rotate_once(self):
        server = self.server("--reuse-protection")
        daemon, _ = self.signed_in(server)
        daemon.today()
        server.behind("expire-access")
        replies = []

        def ask():
            replies.append(daemon.today()["provenance"]["source"])

        threads = [threading.Thread(target=ask) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(replies, ["network"] * 50)
        self.assertEqual(daemon.status()["rotations"], 2)
        daemon.refresh()

    def test_without_rotation_the_token_stays_and_is_not_spent(self):
        server = self.server("--no-rotation")
        daemon, tokens = self.signed_in(server)
        first = daemon.refresh()["refreshTokenFingerprint"]
        self.assertEqual(daemon.refresh()["refreshTokenFingerprint"], first)
        daemon.today()
        daemon.call("Session.Logout", {"revoke": False})
        daemon.sign_in(tokens["refresh_token"])
        self.assertEqual(daemon.refresh()["refreshTokenFingerprint"], first)


class Reuse(Case):
    """Somebody else presents the token that has been rotated away."""

    def reuse(self, *options):
        server = self.server(*options)
        daemon, tokens = self.signed_in(server)
        daemon.refresh()
        status, body = refresh_grant(server.address, tokens["refresh_token"])
        self.assertEqual(status, 400, body)
        return server, daemon

    def test_with_protection_the_session_ends_and_says_so(self):
        _, daemon = self.reuse("--reuse-protection")
        failure = self.fails("SignedOut", daemon.refresh)
        self.assertIn("invalid_grant", failure["reason"])
        self.assertEqual(daemon.status()["state"], "signedOut")
        self.fails("SignedOut", daemon.today)

    def test_without_protection_it_goes_on(self):
        _, daemon = self.reuse()
        daemon.refresh()
        daemon.today()
        self.assertEqual(daemon.status()["state"], "signedIn")

    def test_a_token_that_was_revoked_ends_the_session_at_the_next_refresh(self):
        server = self.server()
        daemon, _ = self.signed_in(server)
        daemon.today()
        server.behind("revoke-refresh")
        server.behind("expire-access")
        self.fails("SignedOut", daemon.today)
        self.assertEqual(daemon.status()["state"], "signedOut")

    def test_a_token_that_was_spent_here_is_not_taken_back(self):
        server = self.server()
        daemon, tokens = self.signed_in(server)
        daemon.refresh()
        self.fails("SpentToken", lambda: daemon.sign_in(tokens["refresh_token"]))
        daemon.refresh()


class LostAnswer(Case):
    """The server rotates, and its answer never arrives."""

    def lose(self, *options):
        server = self.server(*options)
        way = LossyWay(server.port)
        self.addCleanup(way.close)
        daemon, tokens = self.signed_in(server, way)
        daemon.refresh()
        way.loses = True
        self.fails("RefreshFailed", daemon.refresh)
        self.assertEqual(way.lost, 1)
        way.loses = False
        return server, daemon

    def test_inside_of_the_grace_period_it_is_recovered(self):
        server, daemon = self.lose("--grace", "60", "--reuse-protection")
        self.recovers(daemon)
        daemon.today()
        self.assertEqual(daemon.status()["state"], "signedIn")
        daemon.refresh()

    def test_inside_of_the_grace_period_a_restart_recovers_it(self):
        server, daemon = self.lose("--grace", "60", "--reuse-protection")
        daemon.stop(9)
        daemon.start()
        self.recovers(daemon)
        daemon.today()

    def test_after_the_grace_period_the_session_ends_with_that_reason(self):
        _, daemon = self.lose("--grace", "1", "--reuse-protection")
        time.sleep(2.2)
        self.assertIn("not known", self.fails("SignedOut", daemon.refresh)["reason"])

    def test_without_one_the_session_ends_with_that_reason(self):
        for options in ([], ["--reuse-protection"]):
            _, daemon = self.lose(*options)
            time.sleep(1.2)
            failure = self.fails("SignedOut", daemon.refresh)
            self.assertIn("not known", failure["reason"])


class Trouble(Case):
    """The server answers 500 pages, hangs, or has moved."""

    def lock(self, server):
        connection = sqlite3.connect(server.database, isolation_level=None, timeout=30)
        connection.execute("BEGIN IMMEDIATE")
        return connection

    def test_500_pages_end_no_session(self):
        server = self.server("--lock-patience", "0")
        daemon, _ = self.signed_in(server)
        daemon.refresh()
        lock = self.lock(server)
        failure = self.fails("RefreshFailed", daemon.refresh)
        self.assertIn("500", failure["reason"])
        self.assertEqual(daemon.status()["state"], "signedIn")
        lock.execute("ROLLBACK")
        lock.close()
        self.recovers(daemon)
        daemon.today()

    def test_a_refresh_that_hangs_holds_its_callers_no_longer_than_the_deadline(self):
        server = self.server("--lock-patience", "20")
        daemon, _ = self.signed_in(server, Refresh={"Deadline": "11s"})
        daemon.refresh()
        lock = self.lock(server)
        began = time.monotonic()
        with self.assertRaises(CallFailed):
            daemon.call("Session.Refresh", {"waitSeconds": 60})
        self.assertLess(time.monotonic() - began, 15)
        self.assertEqual(daemon.status()["activity"], "refreshing")
        # The exchange goes on until the server gives up, after 20 s; the token has survived it.
        while daemon.status()["activity"] == "refreshing":
            self.assertLess(time.monotonic() - began, 40)
            time.sleep(0.2)
        self.assertGreater(time.monotonic() - began, 15)
        lock.execute("ROLLBACK")
        lock.close()
        self.recovers(daemon)
        self.assertEqual(daemon.status()["rotations"], 2)

    def test_a_redirect_of_the_token_endpoint_is_named_and_not_followed(self):
        server = self.server()
        daemon = self.daemon(server, Auth={"TokenEndpoint": f"{server.address}/o/token"})
        tokens = password_grant(server.address)
        daemon.sign_in(tokens["refresh_token"])
        failure = self.fails("RefreshFailed", daemon.refresh)
        self.assertIn("redirect", failure["reason"])
        self.assertEqual(daemon.status()["state"], "signedIn")
        self.assertEqual(refresh_grant(server.address, tokens["refresh_token"])[0], 200)

    def test_a_server_that_is_away_is_waited_for(self):
        server = self.server()
        daemon, _ = self.signed_in(server)
        daemon.refresh()
        server.process.kill()
        server.process.wait()
        self.fails("RefreshFailed", daemon.refresh)
        self.assertEqual(daemon.status()["state"], "signedIn")


class Revocation(Case):
    def test_a_logout_revokes_the_tokens(self):
        server = self.server()
        daemon, _ = self.signed_in(server)
        daemon.refresh()
        self.assertEqual(daemon.call("Session.Logout")["revocation"], "queued")
        for _ in range(100):
            if server.behind("counts")["live"] == 0:
                break
            time.sleep(0.1)
        counts = server.behind("counts")
        self.assertEqual((counts["live"], counts["access"]), (0, 0))
        for _ in range(100):
            if daemon.call("Session.Status")["pendingRevocations"] == 0:
                break
            time.sleep(0.1)
        self.assertEqual(daemon.call("Session.Status")["pendingRevocations"], 0)

    def test_a_logout_that_revokes_nothing_leaves_the_tokens(self):
        server = self.server()
        daemon, _ = self.signed_in(server)
        daemon.refresh()
        self.assertEqual(daemon.call("Session.Logout", {"revoke": False})["revocation"], "skipped")
        self.assertEqual(server.behind("counts")["live"], 1)


class Login(Case):
    """Signing in by the daemon itself."""

    def begin(self, daemon, flow):
        connection = Connection(daemon.path)
        self.addCleanup(connection.close)
        connection.send("Session.Login", {"flow": flow}, more=True)
        reply, _ = connection.receive()
        return connection, reply["attempt"]

    def ends(self, connection):
        while True:
            reply, continues = connection.receive()
            if not continues:
                return reply

    def device(self, server, **auth):
        return self.daemon(
            server,
            Auth={
                "ClientID": "brewlog-device", "ClientAuthentication": "none", "Scope": "tips",
                "DeviceAuthorizationEndpoint": f"{server.address}/o/device-authorization/", **auth,
            },
        )

    def test_a_device_code_that_is_approved(self):
        server = self.server("--reuse-protection")
        daemon = self.device(server)
        connection, attempt = self.begin(daemon, "device")
        Browser(server.address).decide(attempt["device"]["userCode"], approve=True)
        self.assertEqual(self.ends(connection)["session"]["state"], "signedIn")
        daemon.today()
        daemon.refresh()
        daemon.today()

    def test_a_device_code_that_is_denied(self):
        server = self.server()
        daemon = self.device(server)
        connection, attempt = self.begin(daemon, "device")
        Browser(server.address).decide(attempt["device"]["userCode"], approve=False)
        failure = self.fails("LoginFailed", lambda: self.ends(connection))
        self.assertEqual(failure.get("upstreamError"), "access_denied")

    def test_a_device_code_that_ends(self):
        # This server says nothing of the end: the daemon counts the time itself.
        server = self.server("--device-lifetime", "3")
        daemon = self.device(server)
        connection, _ = self.begin(daemon, "device")
        self.fails("LoginFailed", lambda: self.ends(connection))
        self.assertEqual(daemon.status()["state"], "signedOut")

    def test_a_client_that_leaves_does_not_end_the_attempt(self):
        server = self.server()
        daemon = self.device(server)
        connection, attempt = self.begin(daemon, "device")
        connection.close()
        Browser(server.address).decide(attempt["device"]["userCode"], approve=True)
        for _ in range(100):
            if daemon.status()["state"] == "signedIn":
                break
            time.sleep(0.1)
        daemon.today()

    def browser(self, server):
        return self.daemon(
            server,
            Auth={
                "ClientID": "brewlog-code", "ClientAuthentication": "none", "Scope": "tips",
                "AuthorizationEndpoint": f"{server.address}/o/authorize/",
            },
        )

    def test_a_browser_that_comes_back_by_itself(self):
        server = self.server()
        daemon = self.browser(server)
        connection, attempt = self.begin(daemon, "browser")
        back = Browser(server.address).agree(attempt["authorizeUri"])
        status, _, _ = fetch(plain(), back)
        self.assertEqual(status, 200)
        self.assertEqual(self.ends(connection)["session"]["state"], "signedIn")
        daemon.today()

    def test_an_address_that_is_pasted(self):
        server = self.server()
        daemon = self.browser(server)
        connection, attempt = self.begin(daemon, "browser")
        back = Browser(server.address).agree(attempt["authorizeUri"])
        reply = daemon.call("Session.CompleteLogin", {"id": attempt["id"], "redirectedTo": back})
        self.assertEqual(reply["session"]["state"], "signedIn")
        daemon.refresh()
        daemon.today()


class Metadata(Case):
    def test_the_issuer_says_where_its_endpoints_are(self):
        server = self.server()
        url = server.address + "/.well-known/oauth-authorization-server/o"
        issuer = json.loads(fetch(plain(), url)[2])["issuer"]
        secret = os.path.join(server.directory, "client-secret")
        with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("dummy-secret")
        daemon = Daemon(server.address, Auth={"Issuer": issuer, "ClientSecretFile": secret, **SECRET})
        self.addCleanup(daemon.close)
        daemon.sign_in(password_grant(server.address)["refresh_token"])
        daemon.today()


if __name__ == "__main__":
    unittest.main(verbosity=2)
