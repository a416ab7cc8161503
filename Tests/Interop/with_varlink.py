"""Talks to brewlogd with the package `varlink`. Takes the socket's path."""

import sys

import varlink

INTERFACES = ["org.brewlog.Service", "org.brewlog.Session", "org.brewlog.Tips"]


def error_of(call):
    try:
        call()
    except varlink.VarlinkError as error:
        return error.error(), error.parameters()
    raise AssertionError("no error")


def main(path):
    with varlink.Client(address="unix:" + path) as client:
        with client.open("org.varlink.service", namespaced=False) as service:
            info = service.GetInfo()
            assert info["product"] == "brewlogd", info
            assert sorted(info["interfaces"]) == sorted(INTERFACES + ["org.varlink.service"]), info
            for name in info["interfaces"]:
                text = service.GetInterfaceDescription(name)["description"]
                # The package's own reader of interface files.
                parsed = varlink.Interface(text)
                assert parsed.name == name, parsed.name
        with (
            client.open("org.brewlog.Session") as session,
            client.open("org.brewlog.Tips") as tips,
            client.open("org.brewlog.Service") as service,
        ):
            today = tips.Today()
            assert today["tip"]["title"], today
            assert tips.Get(id="bloom", cacheOnly=False)["tip"]["id"] == "bloom"
            assert len(tips.List(limit=10)["entries"]) >= 2
            assert session.Status()["session"]["state"] == "signedIn"
            assert session.Inspect()["consistent"] is True
            assert service.Health()["ready"] is True
            assert service.CanI(method="org.brewlog.Session.Logout")["allowed"] is True
            name, parameters = error_of(lambda: tips.Get(id="no-such-tip"))
            assert (name, parameters["id"]) == ("org.brewlog.Tips.NotFound", "no-such-tip")
            name, parameters = error_of(lambda: tips.Rate(id="bloom", rating=6))
            assert name == "org.varlink.service.InvalidParameter", name
            assert parameters["parameter"] == "rating", parameters
            name, _ = error_of(lambda: session.Watch())
            assert name == "org.varlink.service.ExpectedMore", name
        # A connection of its own: it ends in the middle of the stream.
        with client.open("org.brewlog.Session") as watcher:
            for reply in watcher.Watch(_more=True):
                assert reply["event"]["kind"] == "signedIn", reply
                break
        with client.open("org.brewlog.Session") as session:
            logout = session.Logout()
            assert logout["generation"] == logout["previousGeneration"] + 1, logout
        with client.open("org.brewlog.Tips") as tips:
            name, parameters = error_of(lambda: tips.Today())
            assert name == "org.brewlog.Tips.SignedOut", name
            assert parameters["generation"] == logout["generation"], parameters


main(sys.argv[1])
