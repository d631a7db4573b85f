// Puts, gets, lists and deletes pairs with net/http, and says what was not as it should be: client BASE-URL
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

func main() {
	base := os.Args[1]
	client := &http.Client{}
	keys := []string{"go-1", "go 2", "go-é", "go-😀"}
	for _, key := range keys {
		expect(client, "PUT", base+"/entity?id="+escape(key), "value of "+key, 201, "")
	}
	for _, key := range keys {
		expect(client, "GET", base+"/entity?id="+escape(key), "", 200, "value of "+key)
	}
	// in the order of bytes: a blank, then '-'; within those 1, é, 😀
	all := "go 2\nvalue of go 2go-1\nvalue of go-1go-é\nvalue of go-égo-😀\nvalue of go-😀"
	expect(client, "GET", base+"/entities?start=go&end=gp", "", 200, all)
	for _, key := range keys {
		expect(client, "DELETE", base+"/entity?id="+escape(key), "", 202, "")
		expect(client, "GET", base+"/entity?id="+escape(key), "", 404, "")
	}
	fmt.Println("all as expected")
}

func escape(key string) string {
	return strings.ReplaceAll(url.QueryEscape(key), "+", "%20")
}

func expect(client *http.Client, method, target, body string, status int, answer string) {
	request, err := http.NewRequest(method, target, strings.NewReader(body))
	check(err)
	response, err := client.Do(request)
	check(err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode != status || string(got) != answer {
		check(fmt.Errorf("%s %s: %d %q, not %d %q", method, target, response.StatusCode, got, status, answer))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
