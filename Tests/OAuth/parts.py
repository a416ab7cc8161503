"""The processes of a case: the authorization server, a way to it that loses answers, and brewlogd."""

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.environ.get("BREWLOG_PROGRAMS", ".")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """django-oauth-toolkit in a process of its own."""

    # The tables as the first server has made them; the others begin with a copy.
    tables = None

    def __init__(self, *options):
        self.directory = tempfile.mkdtemp(prefix="oauth-server-")
        if Server.tables:
            shutil.copy(Server.tables, self.database)
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = open(os.path.join(self.directory, "log"), "w+")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "server.py"), "--directory", self.directory, "--port", str(self.port), *options],
            stdout=subprocess.PIPE, stderr=self.log, text=True,
        )
        if not self.process.stdout.readline():
            self.log.seek(0)
            raise AssertionError("the server did not come up: " + self.log.read()[-2000:])
        if not Server.tables:
            Server.tables = os.path.join(tempfile.mkdtemp(prefix="oauth-tables-"), "server.sqlite3")
            shutil.copy(self.database, Server.tables)
            atexit.register(shutil.rmtree, os.path.dirname(Server.tables))

    @property
    def database(self):
        return os.path.join(self.directory, "server.sqlite3")

    def behind(self, what):
        """Reaches behind the clients' backs."""
        data = None if what == "counts" else b""
        with urllib.request.urlopen(f"{self.address}/behind/{what}", data=data, timeout=40) as answer:
            return json.load(answer)

    def close(self):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.directory)


class LossyWay:
    """Passes connections on to a port. While it is told to, it passes the requests on, lets the
    server answer, and closes without having passed the answer back."""

    def __init__(self, port):
        self.target = port
        self.loses = False
        self.lost = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        with client, socket.create_connection(("127.0.0.1", self.target)) as server:
            threading.Thread(target=self.pump, args=(client, server), daemon=True).start()
            answered = False
            while True:
                try:
                    piece = server.recv(65536)
                except OSError:
                    break
                if self.loses and piece:
                    answered = True
                    break
                if not piece:
                    break
                client.sendall(piece)
            if answered:
                self.lost += 1
                client.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def pump(source, target):
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
        except OSError:
            pass

    def close(self):
        self.listener.close()


class CallFailed(Exception):
    def __init__(self, name, parameters):
        super().__init__(f"{name} {parameters}")
        self.name = name.rsplit(".", 1)[-1]
        self.parameters = parameters


class Connection:
    """One Varlink connection."""

    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise
        self.rest = b""

    def send(self, method, parameters=None, more=False):
        call = {"method": "org.brewlog." + method, "parameters": parameters or {}}
        if more:
            call["more"] = True
        self.socket.sendall(json.dumps(call).encode() + b"\0")

    def receive(self):
        while b"\0" not in self.rest:
            piece = self.socket.recv(65536)
            if not piece:
                raise AssertionError("the daemon closed the connection")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        reply = json.loads(message)
        if "error" in reply:
            raise CallFailed(reply["error"], reply.get("parameters", {}))
        return reply.get("parameters", {}), reply.get("continues", False)

    def close(self):
        self.socket.close()


class Daemon:
    """brewlogd, with a configuration and a state of its own."""

    def __init__(self, base, **sections):
        self.directory = tempfile.mkdtemp(prefix="oauth-brewlogd-")
        self.path = os.path.join(self.directory, "run", "brewlog.sock")
        self.configuration = os.path.join(self.directory, "brewlogd.conf")
        self.base = base
        self.process = None
        self.log = open(os.path.join(self.directory, "log"), "a+")
        self.configure(**sections)
        self.start()

    def configure(self, **sections):
        lines = {
            "Upstream": {"BaseURL": self.base}, "Cache": {"FreshFor": "0"}, "Log": {"Level": "debug"},
            "Socket": {"Path": self.path}, "Store": {"Directory": os.path.join(self.directory, "state")},
        }
        for section, values in sections.items():
            lines.setdefault(section, {}).update(values)
        with open(self.configuration, "w") as file:
            for section, values in lines.items():
                file.write(f"[{section}]\n" + "".join(f"{key}={value}\n" for key, value in values.items()))

    def start(self):
        self.process = subprocess.Popen(
            [os.path.join(PROGRAMS, "brewlogd"), "--config", self.configuration], stderr=self.log,
            stdout=self.log, env={"SWIFT_BACKTRACE": "enable=no", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        )
        for _ in range(600):
            try:
                Connection(self.path).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise AssertionError("brewlogd did not come up: " + self.text()[-2000:])

    def text(self):
        with open(self.log.name) as file:
            return file.read()

    def call(self, method, parameters=None):
        connection = Connection(self.path)
        try:
            connection.send(method, parameters)
            return connection.receive()[0]
        finally:
            connection.close()

    def status(self):
        return self.call("Session.Status")["session"]

    def sign_in(self, refresh_token):
        return self.call("Session.ImportCredentials", {"refreshToken": refresh_token})["session"]

    def today(self):
        return self.call("Tips.Today", {"maxAgeSeconds": 0})

    def refresh(self):
        return self.call("Session.Refresh")["session"]

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(60)

    def close(self):
        self.stop(signal.SIGKILL)
        self.log.close()
        shutil.rmtree(self.directory)
