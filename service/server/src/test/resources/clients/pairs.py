"""Stores, reads, lists and deletes binary values of 0 bytes to 1 MiB through http.client."""

import http.client
import sys

connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))


def call(method, target, body=None):
    connection.request(method, target, body)
    response = connection.getresponse()
    return response.status, response.read()


for size in (0, 1, 255, 4096, 65535, 65536, 65537, 1 << 20):
    value = bytes(i * 7 >> 3 & 255 for i in range(size))
    assert call("PUT", "/v0/entity?id=py", value)[0] == 201
    assert call("GET", "/v0/entity?id=py") == (200, value), size
    assert call("GET", "/v0/entities?start=py&end=pz") == (200, b"py\n" + value), size
    assert call("HEAD", "/v0/entity?id=py") == (200, b"")
assert call("DELETE", "/v0/entity?id=py")[0] == 202
assert call("GET", "/v0/entity?id=py")[0] == 404
