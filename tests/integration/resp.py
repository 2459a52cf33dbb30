# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""A RESP client on a bare socket: what is sent and what comes back are bytes under the test's control.

Client libraries hide just what the tests look at (pipelining, partial writes, the exact error text), so none is used.
"""
import os
import socket
import struct
import time

SLOW = float(os.environ.get('RINGWAY_SLOW', '1'))  # stretches every time limit: sanitizer builds set 4


class Status(str):
    """+OK"""
    def __repr__(self):
        return '+' + self


class Error(str):
    """-ERR ..."""
    def __repr__(self):
        return '-' + self


class Closed(Exception):
    """The peer closed or reset the connection."""


class Late(Exception):
    """Nothing came within the limit."""


OK = Status('OK')
PONG = Status('PONG')


def to_bytes(x):
    if isinstance(x, bytes):
        return x
    return str(x).encode('utf-8', 'surrogateescape')


def encode(*args):
    """One command as RESP sends it."""
    args = [to_bytes(a) for a in args]
    return b'*%d\r\n' % len(args) + b''.join(b'$%d\r\n%s\r\n' % (len(a), a) for a in args)


class Reader:
    """Replies out of a growing buffer."""

    def __init__(self):
        self.buf, self.pos = bytearray(), 0

    def unread(self):
        return bytes(self.buf[self.pos:])

    def feed(self, data):
        if self.pos > 1 << 16:
            del self.buf[:self.pos]
            self.pos = 0
        self.buf += data

    def reply(self):
        """(reply,) or None while it is incomplete; the position moves only past whole replies."""
        got = self._parse(self.pos)
        if got is None:
            return None
        value, self.pos = got
        return (value,)

    def _parse(self, pos):
        end = self.buf.find(b'\r\n', pos)
        if end < 0:
            return None
        kind, rest, pos = self.buf[pos:pos + 1], self.buf[pos + 1:end].decode('latin-1'), end + 2
        if kind == b'+':
            return Status(rest), pos
        if kind == b'-':
            return Error(rest), pos
        if kind == b':':
            return int(rest), pos
        if kind in (b'_', b'#', b',', b'('):
            return {b'_': lambda r: None, b'#': lambda r: r == 't', b',': float, b'(': int}[bytes(kind)](rest), pos
        if kind in (b'$', b'='):
            return self._bulk(int(rest), pos)
        if kind in (b'*', b'%', b'~', b'>'):
            return self._many(int(rest) * (2 if kind == b'%' else 1), pos)
        raise AssertionError(f'not a reply: {bytes(kind) + rest.encode("latin-1")!r}')

    def _bulk(self, size, pos):
        if size < 0:
            return None, pos
        if len(self.buf) < pos + size + 2:
            return None
        assert self.buf[pos + size:pos + size + 2] == b'\r\n', f'a bulk of {size} bytes is not followed by CRLF'
        return bytes(self.buf[pos:pos + size]), pos + size + 2

    def _many(self, count, pos):
        if count < 0:
            return None, pos
        out = []
        for _ in range(count):
            got = self._parse(pos)
            if got is None:
                return None
            out.append(got[0])
            pos = got[1]
        return out, pos


class Client:
    """One connection. Replies: bytes, int, None, list, Status, Error (RESP3 maps come flat)."""

    def __init__(self, addr, timeout=10):
        self.timeout = timeout * SLOW
        if isinstance(addr, str):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(addr)
        else:
            self.sock = socket.create_connection(addr, self.timeout)
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = Reader()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.sock.settimeout(self.timeout)
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as e:
            raise Closed(str(e)) from None
        return self

    def cmd(self, *args):
        """Sends one command, reads nothing."""
        return self.send(encode(*args))

    def pipeline(self, *commands):
        """Sends many commands in one write and reads as many replies."""
        self.send(b''.join(encode(*c) for c in commands))
        return [self.reply() for _ in commands]

    def call(self, *args, within=None):
        self.cmd(*args)
        return self.reply(within)

    def reply(self, within=None):
        """The next reply, whole. Raises Late or Closed."""
        end = time.monotonic() + (self.timeout if within is None else within)
        while True:
            got = self.reader.reply()
            if got:
                return got[0]
            self._fill(end)

    def exact(self, count, within=None):
        """Exactly this many raw bytes."""
        end = time.monotonic() + (self.timeout if within is None else within)
        r = self.reader
        while len(r.buf) - r.pos < count:
            self._fill(end)
        data = bytes(r.buf[r.pos:r.pos + count])
        r.pos += count
        return data

    def rest(self, within=None):
        """Everything up to the end of the stream, which must come."""
        end = time.monotonic() + (self.timeout if within is None else within)
        try:
            while True:
                self._fill(end)
        except Closed:
            data = self.reader.unread()
            self.reader.pos = len(self.reader.buf)
            return data

    def quiet(self, seconds):
        """Nothing may come for this long."""
        try:
            self._fill(time.monotonic() + seconds)
        except Late:
            pass
        assert not self.reader.unread(), f'unexpected bytes: {self.reader.unread()[:80]!r}'

    def _fill(self, end):
        left = end - time.monotonic()
        if left <= 0:
            raise Late(f'no reply in time; unread: {self.reader.unread()[:80]!r}')
        self.sock.settimeout(left)
        try:
            data = self.sock.recv(1 << 18)
        except socket.timeout:
            raise Late(f'no reply in time; unread: {self.reader.unread()[:80]!r}') from None
        except ConnectionResetError:
            raise Closed('reset') from None
        if not data:
            raise Closed(f'closed; unread: {self.reader.unread()[:80]!r}')
        self.reader.feed(data)

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Closes with RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()
