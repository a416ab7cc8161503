#!/usr/bin/env python3
"""`make bench`: brewlogd and its peers under the same load, in turns; ratios are the result.

    bench.py BUILD-DIRECTORY [--rounds 5] [--seconds 1] [--only WORD] [--json FILE] [--svg FILE]
             [--table FILE]

Every figure is a median of rounds in which the programs take turns (A B A B), with the least and
the most beside it. BUILD-DIRECTORY has brewlogd, brewlogctl, bench-load, bench-peer and bench-spawn.
"""

import argparse
import json
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

import plot
from plot import NO_GOAL
from servers import (TODAY, Brewlogd, Nginx, OIDCAgent, Peer, Redis, Upstream, ask, connect, message)


class Row:
    """One line of the table. `ratio` is what is judged; `figures` are the medians behind it."""

    def __init__(self, name, goal, value, reached, unit="", spread="", figures=None):
        self.name, self.goal, self.value, self.reached = name, goal, value, reached
        self.unit, self.spread, self.figures = unit, spread, figures or {}

    def text(self):
        verdict = "" if self.goal == NO_GOAL else "reached" if self.reached else "NOT reached"
        value = f"{self.value:,.2f}{self.unit}"
        line = f"{self.name:<58} {value:>14} {self.spread:>17}  {self.goal:<26} {verdict}"
        return line.rstrip()


def spread(values):
    return f"{min(values):,.2f}..{max(values):,.2f}"


class Bench:
    def __init__(self, options):
        self.options = options
        self.build = pathlib.Path(options.build).resolve()
        self.rows = []
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="brewlog-bench-"))
        self.upstream = Upstream()
        self.running = []

    # -- Running

    def add(self, *arguments, **more):
        row = Row(*arguments, **more)
        self.rows.append(row)
        print(row.text(), flush=True)

    def daemon(self, name, settings=None, upstream=None, tips=0):
        """A signed-in daemon with the tip of the day, and `tips` others, in its cache."""
        daemon = Brewlogd(self.build, self.scratch / name, upstream or self.upstream, settings)
        self.running.append(daemon)
        client = daemon.start()
        daemon.sign_in(client)
        ask(client, TODAY)
        self.fill(client, tips)
        client.close()
        return daemon

    def fill(self, client, tips):
        for start in range(0, tips, 32):
            numbers = range(start, min(start + 32, tips))
            client.sendall(b"".join(
                message({"method": "org.brewlog.Tips.Get", "parameters": {"id": f"tip-{n}"}})
                for n in numbers))
            left, tail = len(numbers), b""
            while left:
                piece = client.recv(1 << 20)
                assert piece and b'"error"' not in piece, piece[:200]
                left -= piece.count(0)

    def load(self, server, *arguments, request=None):
        file = self.scratch / f"{server.name.replace(' ', '-')}.request"
        file.write_bytes(request or getattr(server, "request", message(TODAY)))
        command = [f"{self.build}/bench-load", str(server.socket), str(file), *map(str, arguments)]
        if server.reply_bytes:
            command += ["--reply-bytes", str(server.reply_bytes)]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    def turns(self, servers, measure):
        """The values of each server, from rounds in which they take turns."""
        values = {server.name: [] for server in servers}
        for number in range(self.options.rounds):
            for server in servers if number % 2 == 0 else reversed(servers):
                values[server.name].append(measure(server))
        return values

    def ratios(self, values, other):
        return [ours / theirs for ours, theirs in zip(values["brewlogd"], values[other])]

    # -- What is measured

    def cached_tip(self):
        daemon = self.daemon("tip")
        with connect(daemon.socket) as client:
            _, reply = ask(client, TODAY)
        peers = [Peer(self.build, self.scratch, reply)]
        peers += [kind(self.scratch, reply[:-1]) for kind in (Redis, Nginx) if kind.exists()]
        self.running += peers
        servers = [daemon, *peers]
        seconds = self.options.seconds
        self.throughput("cached tip, 1 connection, one call at a time", servers, 1, 1,
                        {"C peer": 0.85, "Redis": 1.3})
        self.throughput("cached tip, 50 connections", servers, 50, 1,
                        {"C peer": 0.85, "Redis": 1.4})
        self.pipelined(servers)
        top = {server.name: statistics.median(
            self.load(server, "--connections", 50, "--seconds", seconds)["perSecond"]
            for _ in range(3)) for server in servers[:2]}
        values = self.turns(servers[:2], lambda server: self.load(
            server, "--connections", 50, "--rate", int(top[server.name] / 2), "--seconds",
            seconds)["p99"])
        ratios = self.ratios(values, "C peer")
        self.add("99th percentile at half the top load, to the C peer's", "at most 2",
                 statistics.median(ratios), statistics.median(ratios) <= 2, spread=spread(ratios),
                 figures={name: statistics.median(times) for name, times in values.items()})
        self.stop(servers)

    def connections(self):
        """A connection for each call: what short-lived clients cost, and all that oidc-agent does."""
        daemon = self.daemon("connections")
        with connect(daemon.socket) as client:
            _, reply = ask(client, TODAY)
        peers = [Peer(self.build, self.scratch, reply)]
        peers += [OIDCAgent(self.scratch)] if OIDCAgent.exists() else []
        self.running += peers
        servers = [daemon, *peers]
        values = self.turns(servers, lambda server: self.load(
            server, "--reconnect", "--seconds", self.options.seconds)["perSecond"])
        figures = {server: statistics.median(rates) for server, rates in values.items()}
        for other in list(values)[1:]:
            ratios = self.ratios(values, other)
            self.add(f"a connection for each call, to {other}", NO_GOAL,
                     statistics.median(ratios), True, spread=spread(ratios), figures=figures)
        self.stop(servers)

    def throughput(self, name, servers, connections, pipeline, goals):
        values = self.turns(servers, lambda server: self.load(
            server, "--connections", connections, "--pipeline", pipeline, "--seconds",
            self.options.seconds)["perSecond"])
        figures = {server: statistics.median(rates) for server, rates in values.items()}
        for other in values:
            if other == "brewlogd":
                continue
            ratios, goal = self.ratios(values, other), goals.get(other)
            value = statistics.median(ratios)
            self.add(f"{name}, to {other}", f"at least {goal}" if goal else NO_GOAL,
                     value, goal is None or value >= goal, spread=spread(ratios), figures=figures)

    def pipelined(self, servers):
        values = self.turns(servers[:3], lambda server: self.load(
            server, "--connections", 50, "--pipeline", 16, "--seconds",
            self.options.seconds)["perSecond"])
        figures = {server: statistics.median(rates) for server, rates in values.items()}
        rate = figures["brewlogd"]
        for other in [name for name in values if name != "brewlogd"]:
            ratios = self.ratios(values, other)
            value = statistics.median(ratios)
            goal = "0.7, or 1,000,000 calls/s" if other == "Redis" else NO_GOAL
            self.add(f"50 connections, 16 pipelined ({rate:,.0f}/s), to {other}", goal, value,
                     other != "Redis" or value >= 0.7 or rate >= 1e6, spread=spread(ratios),
                     figures=figures)

    def herd(self):
        """10,000 clients at once on an expired token, an upstream of 50 ms."""
        slow = Upstream(delay=50)
        lags, requests = [], []
        for number in range(max(1, self.options.rounds // 2)):
            daemon = Brewlogd(self.build, self.scratch / f"herd{number}", slow)
            client = daemon.start()
            slow.report()
            daemon.sign_in(client)
            self.load(daemon, "--connections", 10_000, "--herd")
            end = time.monotonic()
            report = slow.report()
            requests.append((report["POST"], report["GET"]))
            lags.append((end - report["lastByte"]) * 1000)
            client.close()
            daemon.end()
            slow.end()
            slow = Upstream(delay=50)
        slow.end()
        good = all(posts == 1 and gets <= 4 for posts, gets in requests)
        worst = max(requests)
        self.add(f"10,000 clients at once: {worst[0]} refresh, {worst[1]} tip requests; last answer",
                 "at most 250 ms", statistics.median(lags),
                 good and statistics.median(lags) <= 250, unit=" ms", spread=spread(lags))

    def refresh(self):
        daemon = self.daemon("refresh")
        client = connect(daemon.socket)
        call = {"method": "org.brewlog.Session.Refresh", "parameters": {}}
        ask(client, call)
        costs = []
        for _ in range(self.options.rounds):
            before, start = self.token_seconds(client), time.monotonic()
            for _ in range(20):
                ask(client, call)
            whole = time.monotonic() - start
            after = self.token_seconds(client)
            costs.append((whole - (after - before)) / 20 * 1000)
        client.close()
        value = statistics.median(costs)
        self.add("a refresh's own cost, the upstream's time taken off", "under 2 ms", value,
                 value < 2, unit=" ms", spread=spread(costs))
        self.stop([daemon])

    def token_seconds(self, client):
        """How long token requests have taken so far, by the daemon's own metrics."""
        reply, _ = ask(client, {"method": "org.brewlog.Service.Metrics", "parameters": {}})
        text = reply["openMetrics"]
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if re.match(r'\w*upstream\w*_sum\{.*"token"', line))

    def memory(self):
        daemon = self.daemon("memory", tips=1000)
        daemon.end()
        with daemon.start() as client:
            ask(client, TODAY)
        time.sleep(1)
        idle = daemon.program.anonymous_kilobytes() / 1024
        self.add("private memory, idle, 1,000 tips stored", "at most 5 MB", idle, idle <= 5,
                 unit=" MB")
        crowd = [connect(daemon.socket) for _ in range(10_000)]
        ask(crowd[-1], TODAY)
        more = daemon.program.anonymous_kilobytes() / 1024 - idle
        self.add("private memory of 10,000 idle connections", "at most 20 MB", more, more <= 20,
                 unit=" MB")
        for client in crowd:
            client.close()
        self.stop([daemon])

    def start(self):
        daemon = self.daemon("start", {"Cache": ["KeepTips=10001"]}, tips=10_000)
        times = []
        for _ in range(self.options.rounds):
            daemon.end()
            begin = time.monotonic()
            with daemon.start() as client:
                ask(client, TODAY)
            times.append((time.monotonic() - begin) * 1000)
        value = statistics.median(times)
        ready = []
        for _ in range(self.options.rounds):
            daemon.end()
            ready.append(daemon.milliseconds_to_ready())
        self.add("start to READY, 10,000 tips stored", "under 20 ms", statistics.median(ready),
                 statistics.median(ready) < 20, unit=" ms", spread=spread(ready))
        self.add("start to first answer, 10,000 tips stored", "at most 20 ms", value, value <= 20,
                 unit=" ms", spread=spread(times))
        self.stop([daemon])

    def client(self):
        daemon = self.daemon("client")
        def spawn(*command):
            return float(subprocess.run(
                [f"{self.build}/bench-spawn", "200", *command], check=True,
                capture_output=True).stdout)
        ours, theirs = [], []
        for _ in range(self.options.rounds):
            theirs.append(spawn("/bin/true"))
            ours.append(spawn(
                f"{self.build}/brewlogctl", "--socket", str(daemon.socket), "tip"))
        value, limit = statistics.median(ours), 2 * statistics.median(theirs) + 2
        self.add("brewlogctl tip, whole process", f"at most {limit:.2f} ms (2 x true + 2)", value,
                 value <= limit, unit=" ms", spread=spread(ours))
        self.stop([daemon])

    def silence(self):
        daemon = self.daemon("silence")
        time.sleep(3)
        before = daemon.program.switches()
        time.sleep(10)
        wakes = daemon.program.switches() - before
        self.add("wake-ups in 10 s when nothing happens", "0", wakes, wakes == 0, unit=" times")
        self.stop([daemon])

    def flatness(self):
        few = self.daemon("few", tips=10)
        few.name = "few tips"
        most = 100_000 if self.options.rounds >= 5 else 10_000
        many = self.daemon("many", {"Cache": [f"KeepTips={most + 1}"]}, tips=most)
        many.name = "many tips"
        values = self.turns([few, many], lambda server: self.load(
            server, "--connections", 50, "--seconds", self.options.seconds)["perSecond"])
        ratios = [b / a for a, b in zip(values["few tips"], values["many tips"])]
        value = statistics.median(ratios)
        self.add(f"cached tip, {most:,} tips stored to 10", "0.8 to 1.25", value,
                 0.8 <= value <= 1.25, spread=spread(ratios))
        many.end()
        alone, crowd = [], []
        for _ in range(self.options.rounds):
            for rates, idle in ((alone, 0), (crowd, 10_000)):
                rates.append(self.load(few, "--connections", 1, "--idle", idle, "--seconds",
                                       self.options.seconds)["perSecond"])
        ratios = [b / a for a, b in zip(alone, crowd)]
        value = statistics.median(ratios)
        self.add("cached tip, 10,000 connections to 1", "0.8 to 1.25", value,
                 0.8 <= value <= 1.25, spread=spread(ratios))
        self.stop([few])

    # -- The end

    def stop(self, servers):
        for server in servers:
            server.end()
        self.running = [server for server in self.running if server not in servers]

    def run(self):
        parts = [self.cached_tip, self.connections, self.herd, self.refresh, self.memory,
                 self.start, self.client, self.silence, self.flatness]
        try:
            for part in parts:
                if self.options.only in part.__name__:
                    part()
        finally:
            self.stop(list(self.running))
            self.upstream.end()
            subprocess.run(["rm", "-rf", str(self.scratch)], check=True)
        judged = [row for row in self.rows if row.goal != NO_GOAL]
        reached = sum(1 for row in judged if row.reached)
        print(f"{reached} of {len(judged)} figures reached")
        machine = f"{processor()}, {platform.system()} {platform.release()}"
        print(f"on {machine}")
        record = {"machine": machine, "rows": [vars(row) for row in self.rows]}
        if self.options.json:
            pathlib.Path(self.options.json).write_text(json.dumps(record, indent=1) + "\n")
        if self.options.svg:
            pathlib.Path(self.options.svg).write_text(plot.svg(record))
        if self.options.table:
            pathlib.Path(self.options.table).write_text(plot.table(record))


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.search(r"model name\s*: (.*)", text)
    return f"{text.count('processor')} x {name.group(1) if name else platform.machine()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--only", default="", help="a part of the measurements, by its name")
    parser.add_argument("--json")
    parser.add_argument("--svg")
    parser.add_argument("--table", help="the file for a table in Markdown")
    Bench(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
