"""Talks to brewlogd with the `varlink` package, a client that this project did not write.

Takes the socket's path; prints one JSON object that the test looks at. Fails on anything that the
package does not understand.
"""

import json
import sys

import varlink

INTERFACES = ["org.brewlog.Service", "org.brewlog.Session", "org.brewlog.Tips"]


def error_of(call):
    """The error that a call ends with: its name and parameters."""
    try:
        call()
    except varlink.VarlinkError as error:
        return {"error": error.error(), "parameters": error.parameters()}
    return {"error": None}


def main(path):
    seen = {}
    with varlink.Client(address="unix:" + path) as client:
        with client.open("org.varlink.service", namespaced=False) as service:
            info = service.GetInfo()
            seen["product"] = info["product"]
            seen["interfaces"] = sorted(info["interfaces"])
            seen["descriptions"] = {
                name: service.GetInterfaceDescription(name)["description"] for name in INTERFACES
            }
        # The package parses the descriptions here, and makes methods of what it has read.
        with (
            client.open("org.brewlog.Session") as session,
            client.open("org.brewlog.Tips") as tips,
            client.open("org.brewlog.Service") as daemon,
        ):
            seen["signedOut"] = error_of(lambda: tips.Today())
            session.ImportCredentials(
                accessToken="dummy-access-0", refreshToken="dummy-refresh-0"
            )
            seen["today"] = tips.Today()
            seen["get"] = tips.Get(id="bloom", cacheOnly=False)
            seen["list"] = tips.List(limit=10)
            seen["status"] = session.Status()
            seen["inspect"] = session.Inspect()
            seen["health"] = daemon.Health()
            seen["notFound"] = error_of(lambda: tips.Get(id="no-such-tip"))
            seen["logout"] = session.Logout()
    print(json.dumps(seen))


main(sys.argv[1])
