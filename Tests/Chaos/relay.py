"""Lets the programs of other network namespaces reach the simulated push services on 127.0.0.1 of this one, whatever has become of their
cables: push services are no part of the hosts' network. Arguments: the ids of processes in those namespaces, `--`, the ports."""

import asyncio
import ctypes
import os
import socket
import sys

CLONE_NEWNET = 0x40000000


def enter(file):
    if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def listeners(pids, ports):
    """A socket belongs for good to the namespace that it was made in."""
    made = []
    with open("/proc/self/ns/net", "rb") as own:
        for pid in pids:
            with open(f"/proc/{pid}/ns/net", "rb") as other:
                enter(other)
                made += [socket.create_server(("127.0.0.1", port)) for port in ports]
        enter(own)
    return made


async def pass_on(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def connect(reader, writer):
    port = writer.get_extra_info("sockname")[1]
    try:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        writer.close()
        return
    await asyncio.gather(pass_on(reader, far_writer), pass_on(far_reader, writer))


async def main():
    place = sys.argv.index("--")
    pids, ports = sys.argv[1:place], list(map(int, sys.argv[place + 1 :]))
    servers = [await asyncio.start_server(connect, sock=listener) for listener in listeners(pids, ports)]
    print("ready", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    # Ends with whoever started it.
    ctypes.CDLL(None).prctl(1, 15)
    if os.getppid() != 1:
        asyncio.run(main())
