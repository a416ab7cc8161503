"""Talks to brewlogd with the package `asyncvarlink`, which pipelines. Takes the socket's path."""

import asyncio
import sys

import asyncvarlink
from asyncvarlink.serviceinterface import VarlinkServiceInterface


def call(method, more=False, oneway=False, **parameters):
    return asyncvarlink.VarlinkMethodCall(method, parameters, more=more, oneway=oneway)


async def error_of(client, request):
    reply, _ = await client.call(request)
    return reply.error or ""


async def connect(path):
    _, client = await asyncvarlink.connect_unix_varlink(
        asyncvarlink.VarlinkClientProtocol, path
    )
    return client


async def main(path):
    client = await connect(path)
    service = client.make_proxy(VarlinkServiceInterface)
    info = await service.GetInfo()
    assert info["product"] == "brewlogd", info
    for name in info["interfaces"]:
        text = await service.GetInterfaceDescription(interface=name)
        assert f"interface {name}" in str(text), name

    # Forty calls on their way at once, answered in their order.
    calls = [call("org.brewlog.Tips.Get", id="bloom"), call("org.brewlog.Session.Status")] * 20
    replies = await asyncio.gather(*(client.call(request) for request in calls))
    for tip, status in zip(replies[::2], replies[1::2]):
        assert tip[0].parameters["tip"]["id"] == "bloom", tip
        assert status[0].parameters["session"]["state"] == "signedIn", status

    assert (await error_of(client, call("org.brewlog.Session.Status", zzz=1))).endswith(
        "InvalidParameter"
    )
    assert (await error_of(client, call("org.brewlog.Session.None"))).endswith("MethodNotFound")
    assert (await error_of(client, call("org.example.None"))).endswith("InterfaceNotFound")
    assert (await error_of(client, call("org.brewlog.Session.Watch"))).endswith("ExpectedMore")
    await client.call(call("org.brewlog.Session.Status", oneway=True))
    assert (await client.call(call("org.brewlog.Service.Health")))[0].parameters["ready"] is True

    watcher = await connect(path)
    kinds = []
    async for event in watcher.call_more(call("org.brewlog.Session.Watch", more=True)):
        kinds.append(event[0].parameters["event"]["kind"])
        if kinds == ["signedIn"]:
            await client.call(call("org.brewlog.Session.Logout"))
        if "signedOut" in kinds:
            break
    assert kinds == ["signedIn", "signedOut"], kinds
    watcher.close()
    client.close()


asyncio.run(main(sys.argv[1]))
