"""The programs that `make bench` compares, each in a scratch directory on Unix sockets of its own."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

TODAY = {"method": "org.brewlog.Tips.Today"}
PATIENCE = 60
HERE = pathlib.Path(__file__).resolve().parent


def message(call):
    return json.dumps(call, separators=(",", ":")).encode() + b"\0"


class Program:
    """A process that is ended, by its id, with the block that it was started in."""

    def __init__(self, *command, stdout=subprocess.DEVNULL, env=None):
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL, env=env)
        self.pid = self.process.pid

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def anonymous_kilobytes(self):
        """RssAnon of proc_pid_status(5): what the process alone has in memory."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
        raise RuntimeError("no RssAnon")

    def switches(self):
        """How often its threads have gone to sleep: each is a wake-up."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            for line in (task / "status").read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches:"):
                    total += int(line.split()[1])
        return total


def connect(path, program=None):
    """A connection, as soon as there is somebody who listens."""
    deadline = time.monotonic() + PATIENCE
    while True:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(str(path))
            return client
        except OSError:
            client.close()
            if program and program.process.poll() is not None:
                raise RuntimeError(f"{program.process.args[0]} ended at its start")
            if time.monotonic() > deadline:
                raise
            time.sleep(0.0005)


def ask(client, call):
    client.sendall(message(call))
    reply = bytearray()
    while not reply.endswith(b"\0"):
        piece = client.recv(1 << 20)
        if not piece:
            raise RuntimeError("the daemon closed the connection")
        reply += piece
    answer = json.loads(reply[:-1])
    if "error" in answer:
        raise RuntimeError(f"{call['method']}: {answer}")
    return answer["parameters"], bytes(reply)


class Upstream:
    """The API of upstream.py."""

    def __init__(self, delay=0):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "upstream.py"), "--delay", str(delay)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def report(self):
        """The requests since the last report, and when the last byte of an answer went out."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


class Brewlogd:
    name = "brewlogd"
    reply_bytes = None

    def __init__(self, build, scratch, upstream, settings=None):
        self.build = build
        self.directory = pathlib.Path(scratch)
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "state").mkdir(mode=0o700, exist_ok=True)
        self.socket = self.directory / "brewlog.sock"
        self.configuration = self.directory / "brewlogd.conf"
        sections = {
            "Upstream": [f"BaseURL={upstream.url}"],
            "Store": [f"Directory={self.directory}/state"],
            "Cache": ["FreshFor=1d"],
            "Socket": [f"Path={self.socket}", "Mode=0600", "MaxConnections=32000",
                       "MaxConnectionsPerUser=32000"],
            "Access": ["Read=", "Control="],
        }
        for section, lines in (settings or {}).items():
            sections[section] = sections.get(section, []) + lines
        self.configuration.write_text("".join(
            f"[{section}]\n" + "".join(line + "\n" for line in lines)
            for section, lines in sections.items()))
        self.program = None

    def start(self):
        self.program = Program(*self.command(), env=self.environment())
        return connect(self.socket, self.program)

    def command(self):
        return (f"{self.build}/brewlogd", "--config", str(self.configuration))

    def environment(self):
        return {"PATH": os.environ["PATH"], "RUNTIME_DIRECTORY": str(self.directory)}

    def milliseconds_to_ready(self):
        """From the start until the service manager, here we, is told READY=1: sd_notify(3)."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(f"{self.directory}/notify")
            manager.settimeout(PATIENCE)
            begin = time.monotonic()
            self.program = Program(
                *self.command(), env=self.environment() | {"NOTIFY_SOCKET": manager.getsockname()})
            while b"READY=1" not in manager.recv(4096):
                pass
            took = (time.monotonic() - begin) * 1000
        os.unlink(f"{self.directory}/notify")
        return took

    def sign_in(self, client):
        ask(client, {"method": "org.brewlog.Session.ImportCredentials", "parameters": {
            "accessToken": "dummy-access-0", "refreshToken": "dummy-refresh-0"}})

    def end(self):
        if self.program:
            self.program.end()
        self.program = None


class Peer:
    """The C server with a fixed reply: what the machine allows."""

    name = "C peer"
    reply_bytes = None

    def __init__(self, build, scratch, reply):
        self.socket = pathlib.Path(scratch) / "peer.sock"
        self.socket.unlink(missing_ok=True)
        text = pathlib.Path(scratch) / "peer.reply"
        text.write_bytes(reply)
        self.program = Program(f"{build}/bench-peer", str(self.socket), str(text))
        connect(self.socket, self.program).close()

    def end(self):
        self.program.end()


class Redis:
    name = "Redis"
    request = b"*2\r\n$3\r\nGET\r\n$3\r\ntip\r\n"

    @staticmethod
    def exists():
        return shutil.which("redis-server") or shutil.which("redis-check-rdb")

    def __init__(self, scratch, reply):
        self.socket = pathlib.Path(scratch) / "redis.sock"
        # The package of the tools has the server, too: one program that goes by its name.
        self.program = Program(
            "bash", "-c", 'exec -a redis-server "$0" "$@"', Redis.exists(), "--port", "0",
            "--unixsocket", str(self.socket), "--save", "", "--dir", str(scratch))
        client = connect(self.socket, self.program)
        client.sendall(
            b"*3\r\n$3\r\nSET\r\n$3\r\ntip\r\n$%d\r\n%s\r\n" % (len(reply), reply))
        assert client.recv(100) == b"+OK\r\n"
        client.close()
        self.reply_bytes = len(b"$%d\r\n" % len(reply)) + len(reply) + 2

    def end(self):
        self.program.end()


class Nginx:
    name = "nginx"
    request = b"GET /tip HTTP/1.1\r\nHost: localhost\r\n\r\n"

    @staticmethod
    def exists():
        return shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")

    def __init__(self, scratch, reply):
        self.directory = pathlib.Path(scratch) / "nginx"
        self.directory.mkdir(mode=0o755)
        os.chmod(scratch, 0o711)
        self.socket = self.directory / "nginx.sock"
        (self.directory / "tip").write_bytes(reply)
        os.chmod(self.directory / "tip", 0o644)
        configuration = self.directory / "nginx.conf"
        configuration.write_text(f"""
daemon off; worker_processes 1; pid {self.directory}/pid; error_log {self.directory}/errors;
events {{ worker_connections 32000; }}
http {{
  access_log off; keepalive_requests 1000000000; open_file_cache max=10;
  client_body_temp_path {self.directory}/a; proxy_temp_path {self.directory}/b;
  fastcgi_temp_path {self.directory}/c; uwsgi_temp_path {self.directory}/d;
  scgi_temp_path {self.directory}/e;
  server {{ listen unix:{self.socket}; root {self.directory}; }}
}}
""")
        self.program = Program(Nginx.exists(), "-c", str(configuration))
        client = connect(self.socket, self.program)
        client.sendall(self.request)
        time.sleep(0.2)
        answer = client.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 200"), answer[:80]
        self.reply_bytes = len(answer)
        client.close()

    def end(self):
        self.program.end()


class OIDCAgent:
    """A credential daemon of the same kind. It serves one call for each connection, and is asked for
    its cheapest answer, the list of what is loaded, where brewlogd gives a tip."""

    name = "oidc-agent"
    reply_bytes = None
    request = b'{"request":"loaded_accounts"}'

    @staticmethod
    def exists():
        return shutil.which("oidc-agent")

    def __init__(self, scratch):
        text = subprocess.run(
            ["oidc-agent"], env={"PATH": os.environ["PATH"], "HOME": str(scratch)}, check=True,
            capture_output=True, text=True).stdout
        self.socket = pathlib.Path(re.search(r"OIDC_SOCK=([^;]*);", text)[1])
        self.pid = int(re.search(r"OIDCD_PID=([^;]*);", text)[1])

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
