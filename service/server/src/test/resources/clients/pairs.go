// Stores, reads, lists and deletes binary values of 0 bytes to 1 MiB through net/http, and an upload in chunks.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
)

func call(method, url string, body io.Reader) (int, []byte) {
	request, err := http.NewRequest(method, url, body)
	check(err)
	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	check(err)
	return response.StatusCode, all
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func expect(what string, ok bool) {
	if !ok {
		fmt.Println("not as expected:", what)
		os.Exit(1)
	}
}

func main() {
	base := os.Args[1] + "/v0/entity?id="
	for _, size := range []int{0, 1, 255, 4096, 65535, 65536, 65537, 1 << 20} {
		value := make([]byte, size)
		for i := range value {
			value[i] = byte(i * 7 >> 3)
		}
		status, _ := call("PUT", base+"go", bytes.NewReader(value))
		expect("PUT", status == 201)
		status, got := call("GET", base+"go", nil)
		expect("GET", status == 200 && bytes.Equal(got, value))
		status, got = call("GET", os.Args[1]+"/v0/entities?start=go&end=gp", nil)
		expect("range", status == 200 && bytes.Equal(got, append([]byte("go\n"), value...)))
	}
	for i := 0; i < 200; i++ {
		status, _ := call("PUT", base+"go", struct{ io.Reader }{bytes.NewReader(make([]byte, 100_000))})
		expect("chunked upload", status == 411)
	}
	status, _ := call("DELETE", base+"go", nil)
	expect("DELETE", status == 202)
	status, _ = call("GET", base+"go", nil)
	expect("GET of a deleted key", status == 404)
}
