"""HTTP requests to programs on this machine, past the environment's proxy."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetch(url: str, timeout_s: float, *, post: bool = False) -> bytes:
    """Return the body of the response to a GET, or to an empty POST.

    OSError if there is no response within `timeout_s`, or if it is not valid HTTP or has an error status.
    """
    try:
        with _opener.open(urllib.request.Request(url, data=b"" if post else None), timeout=timeout_s) as response:  # noqa: S310
            body: bytes = response.read()
            return body
    except http.client.HTTPException as error:
        raise OSError(f"not valid HTTP: {error!r}") from error


def status_of(url: str, timeout_s: float) -> int | None:
    """Return the status of the response to a GET; None if there is no response within `timeout_s`."""
    try:
        with _opener.open(urllib.request.Request(url), timeout=timeout_s) as response:  # noqa: S310
            return int(response.status)
    except urllib.error.HTTPError as answer:
        return answer.code
    except (http.client.HTTPException, OSError):
        return None
