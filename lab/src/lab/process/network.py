"""Network namespaces: a service in one of its own has every port to itself, whatever port it insists on.

A program of its own with only the standard library, which becomes the program that it is to start:

    network.py new PROGRAM…        in a new namespace, whose loopback is up
    network.py join PID PROGRAM…   in the namespace of a process
    network.py door PID PORT       listens on a free port of 127.0.0.1, prints it, and forwards connections to PORT in
                                   the namespace of a process: for a few requests, never for a load

Needs root, or a kernel that lets users make user namespaces; then the user stays the same inside.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import sys
import threading

USER, NET = 0x10000000, 0x40000000
"""CLONE_NEWUSER and CLONE_NEWNET of clone(2)."""
SET_INTERFACE_FLAGS = 0x8914
UP_AND_RUNNING = 0x41
CHUNK_BYTES = 1 << 16


def _call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def make() -> None:
    """Move this process into a new namespace. OSError if the system does not allow it."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        _call("unshare", NET)
    except PermissionError:
        _call("unshare", USER | NET)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - without pathlib it starts faster
                file.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_INTERFACE_FLAGS, struct.pack("16sh22x", b"lo", UP_AND_RUNNING))


def join(pid: int) -> None:
    """Move this process, which has one thread, into the namespace of another one."""
    for name, kind in (("user", USER), ("net", NET)):
        theirs = f"/proc/{pid}/ns/{name}"
        if os.stat(theirs).st_ino != os.stat(f"/proc/self/ns/{name}").st_ino:  # noqa: PTH116
            descriptor = os.open(theirs, os.O_RDONLY)
            _call("setns", descriptor, kind)
            os.close(descriptor)


def serve_door(pid: int, port: int) -> None:
    """Forward connections until the process is killed."""
    with socket.create_server(("127.0.0.1", 0)) as here:  # a socket stays in the namespace that it was made in
        join(pid)
        print(here.getsockname()[1], flush=True)
        while True:
            client, _ = here.accept()
            threading.Thread(target=_forward, args=(client, port), daemon=True).start()


def _forward(client: socket.socket, port: int) -> None:
    with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as server:
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        _copy(client, server)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def main() -> None:
    """Do what the arguments say."""
    command, *words = sys.argv[1:]
    if command == "door":
        serve_door(int(words[0]), int(words[1]))
    elif command == "join":
        join(int(words[0]))
        os.execvp(words[1], words[1:])  # noqa: S606
    else:
        make()
        if words:
            os.execvp(words[0], words)  # noqa: S606


if __name__ == "__main__":
    main()
