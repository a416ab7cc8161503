"""An API for `make bench`: any tip by its id, the dialect `simple`, an answer after `--delay` ms.

Prints its address, and for each line of standard input one line: the requests since the last one
as JSON, {"GET": n, "POST": n, "lastByte": seconds of CLOCK_MONOTONIC}. The access token of the
start is expired, so that the first tip costs a refresh.
"""

import asyncio
import json
import sys
import time


class State:
    delay = 0.0
    serial = 0
    counts = {"GET": 0, "POST": 0}
    last_byte = 0.0


def answer(method, path, token):
    if method == "POST":
        State.serial += 1
        return 200, {"token": f"dummy-access-{State.serial}",
                     "refreshToken": f"dummy-refresh-{State.serial}", "expiresIn": 86400}
    if token != f"Bearer dummy-access-{State.serial}" or State.serial == 0:
        return 401, {"error": "invalid_token"}
    name = path.rsplit("/", 1)[1]
    return 200, {
        "id": name, "title": "Rinse the paper filter",
        "body": "Hot water through the empty filter takes the taste of paper with it and warms the "
                "pot. Pour it away before the coffee goes in.",
        "tags": ["filter", "water"]}


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.waiting = b""

    def data_received(self, data):
        self.waiting += data
        while True:
            head, end, rest = self.waiting.partition(b"\r\n\r\n")
            if not end:
                return
            lines = head.decode().split("\r\n")
            fields = {name.lower(): value.strip()
                      for name, _, value in (line.partition(":") for line in lines[1:])}
            length = int(fields.get("content-length", "0"))
            if len(rest) < length:
                return
            self.waiting = rest[length:]
            method, path, _ = lines[0].split(" ")
            State.counts[method] += 1
            reply = self.text(*answer(method, path, fields.get("authorization", "")))
            asyncio.get_running_loop().call_later(State.delay, self.send, reply)

    def text(self, status, body):
        body = json.dumps(body).encode()
        return (f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body

    def send(self, reply):
        self.transport.write(reply)
        State.last_byte = time.monotonic()


async def main():
    if "--delay" in sys.argv:
        State.delay = float(sys.argv[sys.argv.index("--delay") + 1]) / 1000
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.readline():
        print(json.dumps({**State.counts, "lastByte": State.last_byte}), flush=True)
        State.counts = {"GET": 0, "POST": 0}


asyncio.run(main())
