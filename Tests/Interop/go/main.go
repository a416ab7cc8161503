// Talks to brewlogd with Debian's golang-github-varlink-go-dev. Takes the socket's path.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/varlink/go/varlink"
	"github.com/varlink/go/varlink/idl"
)

type object map[string]interface{}

func expect(ok bool, what string, seen interface{}) {
	if !ok {
		fmt.Fprintf(os.Stderr, "with Go: %s: %v\n", what, seen)
		os.Exit(1)
	}
}

// The name of the error that a call ends with.
func errorOf(err error) string {
	if failure, ok := err.(*varlink.Error); ok {
		return failure.Name
	}
	return fmt.Sprintf("%T", err)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	address := "unix:" + os.Args[1]
	client, err := varlink.NewConnection(ctx, address)
	expect(err == nil, "connect", err)
	defer client.Close()

	var vendor, product, version, url string
	var interfaces []string
	err = client.GetInfo(ctx, &vendor, &product, &version, &url, &interfaces)
	expect(err == nil && product == "brewlogd" && len(interfaces) == 4, "GetInfo", interfaces)
	methods := 0
	for _, name := range interfaces {
		text, err := client.GetInterfaceDescription(ctx, name)
		expect(err == nil, "GetInterfaceDescription "+name, err)
		// Its reader takes no capital in an interface's name, though the specification and
		// systemd's own interfaces have them; all else of the text is read as it is.
		plain := strings.ToLower(name)
		parsed, err := idl.New(strings.Replace(text, name, plain, -1))
		expect(err == nil && parsed.Name == plain, "parse "+name, err)
		methods += len(parsed.Methods)
	}
	expect(methods >= 20, "methods", methods)

	var reply object
	err = client.Call(ctx, "org.brewlog.Tips.Today", nil, &reply)
	expect(err == nil, "Today", err)
	err = client.Call(ctx, "org.brewlog.Tips.Get", object{"id": "bloom"}, &reply)
	expect(err == nil && reply["tip"].(map[string]interface{})["id"] == "bloom", "Get", reply)
	err = client.Call(ctx, "org.brewlog.Tips.Rate", object{"id": "bloom", "rating": 9}, nil)
	expect(errorOf(err) == "*varlink.InvalidParameter", "Rate", errorOf(err))
	err = client.Call(ctx, "org.brewlog.Tips.Get", object{"id": "no-such-tip"}, nil)
	expect(errorOf(err) == "org.brewlog.Tips.NotFound", "Get", errorOf(err))
	err = client.Call(ctx, "org.brewlog.Session.None", nil, nil)
	expect(errorOf(err) == "*varlink.MethodNotFound", "None", errorOf(err))
	err = client.Call(ctx, "org.brewlog.Session.Watch", nil, nil)
	expect(errorOf(err) == "org.varlink.service.ExpectedMore", "Watch without more", errorOf(err))

	watcher, err := varlink.NewConnection(ctx, address)
	expect(err == nil, "connect", err)
	receive, err := watcher.Send(ctx, "org.brewlog.Session.Watch", nil, varlink.More)
	expect(err == nil, "Watch", err)
	var event struct {
		Event struct {
			Kind string `json:"kind"`
		} `json:"event"`
	}
	flags, err := receive(ctx, &event)
	expect(err == nil && flags&varlink.Continues != 0 && event.Event.Kind == "signedIn", "Watch", event)
	err = client.Call(ctx, "org.brewlog.Session.Logout", nil, &reply)
	expect(err == nil, "Logout", err)
	flags, err = receive(ctx, &event)
	expect(err == nil && flags&varlink.Continues != 0 && event.Event.Kind == "signedOut", "Watch", event)
	watcher.Close()

	if _, err := json.Marshal(reply); err != nil {
		os.Exit(1)
	}
}
