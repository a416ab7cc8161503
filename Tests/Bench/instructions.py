#!/usr/bin/env python3
"""Counts what a cached tip and a refresh cost in instructions, under valgrind's callgrind.

    instructions.py BUILD-DIRECTORY [--write]

Times are noise on a shared machine; instructions are not. Each figure is the difference between a
run with few calls and one with many, divided by the calls between them, so that the start counts for
nothing. It is compared with instructions.json, and may differ by a tenth; `--write` makes that file
anew, after a change that is meant to cost what it costs.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from servers import HERE, TODAY, Brewlogd, Upstream, ask, message

RECORD = HERE / "instructions.json"
MARGIN = 0.10


class Counted(Brewlogd):
    """The daemon under callgrind. Its debug information is more than valgrind can read."""

    def command(self):
        stripped = self.directory / "brewlogd"
        subprocess.run(
            ["strip", "--strip-debug", "-o", str(stripped), f"{self.build}/brewlogd"], check=True)
        self.output = self.directory / "callgrind.out"
        return ("valgrind", "--tool=callgrind", f"--callgrind-out-file={self.output}",
                str(stripped), "--config", str(self.configuration))

    def instructions(self):
        return int(re.search(r"^(?:summary|totals): (\d+)", self.output.read_text(), re.M).group(1))


def count(build, work):
    with tempfile.TemporaryDirectory(prefix="brewlog-bench-") as scratch:
        upstream = Upstream()
        daemon = Counted(build, scratch, upstream)
        try:
            with daemon.start() as client:
                daemon.sign_in(client)
                ask(client, TODAY)
                work(daemon, client)
        finally:
            daemon.end()
            upstream.end()
        return daemon.instructions()


def tips(calls, connections, pipeline):
    def work(daemon, _):
        request = daemon.directory / "request"
        request.write_bytes(message(TODAY))
        subprocess.run(
            [f"{daemon.build}/bench-load", str(daemon.socket), str(request), "--connections",
             str(connections), "--pipeline", str(pipeline), "--calls", str(calls)],
            check=True, capture_output=True)
    return work


def refreshes(times):
    def work(_, client):
        for _ in range(times):
            ask(client, {"method": "org.brewlog.Session.Refresh", "parameters": {}})
    return work


def difference(build, make, few, many):
    return round((count(build, make(many)) - count(build, make(few))) / (many - few))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    figures = {
        "cached tip": difference(build, lambda n: tips(n, 1, 1), 2_000, 22_000),
        "cached tip, 50 connections, 16 pipelined":
            difference(build, lambda n: tips(n, 50, 16), 4_000, 84_000),
        "refresh": difference(build, refreshes, 20, 120),
    }
    if "--write" in sys.argv:
        RECORD.write_text(json.dumps(figures, indent=1) + "\n")
    known, failed = json.loads(RECORD.read_text()), False
    for name, figure in figures.items():
        change = figure / known[name] - 1
        is_worse = change > MARGIN
        failed |= is_worse
        print(f"{name:<42} {figure:>10,} instructions, {change:+.1%} of the record"
              + ("  TOO MANY" if is_worse else ""))
    if failed:
        print("Something costs more than a tenth more than it did. Where that is meant: "
              "make instructions RECORD=--write, and say why in the commit.")
    return failed


if __name__ == "__main__":
    sys.exit(main())
