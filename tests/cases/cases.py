#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Runs protocol cases against a Redis and/or a memcached endpoint. The format is in README.md.

All text is latin-1 inside: one character is one byte, so keys and values are binary safe.
"""
import argparse, json, os, re, secrets, select, socket, struct, sys, time


class Fail(Exception):
    pass


# $bytes: every byte once. $pat: 1.25 MiB of text in which no 13 bytes repeat soon, so that a shifted copy shows.
BYTES = bytes(range(256)).decode('latin-1')
PATTERN = ''.join('%x.' % (n * 2654435761 % (1 << 32)) for n in range(150000))


# ---- words: quoting, $variables, N x( ... ) ----------------------------------------------------------------------
WORD = re.compile(r'(?<!\S)/(?:[^/\\]|\\.)+/(?!\S)|(?:"(?:[^"\\]|\\.)*"|[^\s"])+')
PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\*(\d+|\$\w+|\$\([^)]*\)+))?|([^"]+)')
VARIABLE = r'\$\((?P<expr>(?:[^()]|\([^()]*\))*)\)|\$(?P<name>\w+)'
ESCAPE = re.compile(r'\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<char>.)|' + VARIABLE)
FUNCTIONS = {'__builtins__': {}, 'int': int, 'float': float, 'str': str, 'len': len, 'abs': abs}
NAMED = {'r': '\r', 'n': '\n', 't': '\t', '0': '\0', 'a': '\a', 'b': '\b', 'e': '\x1b'}


def fill(text, env, quoted=True, wrap=str):
    """Replaces escapes (in quoted text) and $name / $(expression); unknown names stay as they are."""
    def one(m):
        if m['expr']:
            return wrap(str(eval(m['expr'], FUNCTIONS, env)))
        if m['name']:
            return wrap(str(env[m['name']])) if m['name'] in env else m[0]
        return chr(int(m['hex'], 16)) if m['hex'] else NAMED.get(m['char'], m['char'])
    return (ESCAPE if quoted else VARIABLE_ONLY).sub(one, text)


VARIABLE_ONLY = re.compile(VARIABLE + '|(?P<hex>\0{9})|(?P<char>\0{9})')


def value(word, env):
    """One word: bare text, "quoted", "repeated"*N, or several of these glued together."""
    return ''.join(fill(bare, env, False) if bare else fill(text, env) * int(fill(times or '1', env))
                   for text, times, bare in PIECE.findall(word))


def words(text, env):
    return list(expand(WORD.findall(text), env))


def expand(items, env):
    """Yields (word, env); the block '20x( a b )' comes 20 times with $n = 0..19."""
    i = 0
    while i < len(items):
        block = re.fullmatch(r'(.+)x\(', items[i])
        if not block:
            yield items[i], env
            i += 1
            continue
        depth, end = 1, i
        while depth:
            end += 1
            depth += items[end].endswith('x(') - (items[end] == ')')
        for n in range(int(fill(block[1], env))):
            yield from expand(items[i + 1:end], {**env, 'n': n})
        i = end + 1


# ---- replies: (type, value) trees --------------------------------------------------------------------------------
TYPES = {'status': '+', 'error': '-', 'int': ':', 'bulk': '$', 'array': '*', 'map': '%', 'set': '~', 'push': '>',
         'bool': '#', 'double': ',', 'bignum': '(', 'verbatim': '='}
OPEN = {'[': '*', '{': '%', 'set[': '~', 'push[': '>', 'any[': 'any'}
PLAIN = {'nil': ('nil', None), 'nilarray': ('nilarray', None), 'null': ('_', None), 'true': ('#', 't'),
         'false': ('#', 'f'), '*': ('anything', None)}


def show(node):
    kind, val = node
    if kind in '*%~>':
        return {'*': '[ ', '%': '{ ', '~': 'set[ ', '>': 'push[ '}[kind] + ''.join(show(x) + ' ' for x in val) + '}]'[kind != '%']
    if kind in ('nil', 'nilarray', '_'):
        return 'null' if kind == '_' else kind
    return json.dumps(val) if kind == '$' else kind + str(val)


def text_of(node):
    return node[1] if node[0] == '$' else show(node)


def expected(text, env):
    """The list of reply patterns on a '<' line."""
    text = text.strip()
    if text[0] in '+-' and '"' not in text and ' | ' not in text and 'x(' not in text:
        return [scalar(text[0], fill(text[1:], env, False))]
    if text[0] == '/':
        return [('regex', fill(text[1:text.rindex('/')], env, False, re.escape))]
    todo = words(text, env)[::-1]
    out = []
    while todo:
        out.append(pattern(todo, out))
    return out


def scalar(kind, text):
    return ('prefix', (kind, text[:-3])) if text.endswith('...') else (kind, text)


def pattern(todo, before):
    word, env = todo.pop()
    if word == '|':
        return ('either', [before.pop(), pattern(todo, before)])
    if word in OPEN:
        items = []
        while todo[-1][0] not in (']', '}'):
            items.append(pattern(todo, items))
        todo.pop()
        return (OPEN[word], items)
    if word in PLAIN:
        return PLAIN[word]
    if word in TYPES:
        return ('type', TYPES[word])
    if word[0] in '"$':
        dots = word.endswith('"...')
        return ('prefix', ('$', value(word[:-3], env))) if dots else ('$', value(word, env))
    if word[0] == '/':
        return ('regex', fill(word[1:-1], env, False, re.escape))
    if word[0] in '+-:,(=':
        return scalar(word[0], value(word[1:], env))
    raise SystemExit('bad pattern: ' + word)


def matches(want, got, env):
    kind, val = want
    if kind == 'anything':
        return True
    if kind == 'type':
        return got[0] == val
    if kind == 'either':
        return any(matches(w, got, env) for w in val)
    if kind == 'prefix':
        return got[0] == val[0] and got[1].startswith(val[1])
    if kind == 'regex':
        found = re.search(val, text_of(got), re.S)
        env.update(found.groupdict() if found else {})
        return bool(found)
    if kind in ('any', '~', '%'):
        if got[0] != ('*' if kind == 'any' else kind) or len(got[1]) != len(val):
            return False
        unit = 2 if kind == '%' else 1
        left = [got[1][i:i + unit] for i in range(0, len(got[1]), unit)]
        for i in range(0, len(val), unit):
            hit = next((x for x in left if all(matches(w, g, env) for w, g in zip(val[i:i + unit], x))), None)
            if hit is None:
                return False
            left.remove(hit)
        return True
    if kind in '*>':
        return got[0] == kind and len(got[1]) == len(val) and all(matches(w, g, env) for w, g in zip(val, got[1]))
    return want == got


# ---- one connection ----------------------------------------------------------------------------------------------
class Conn:
    def __init__(self, addr):
        self.sock = socket.create_connection(addr, 5)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf, self.pos, self.eof = bytearray(), 0, False

    def send(self, data, piece, pause, deadline):
        """Writes everything and reads nothing meanwhile, as a simple pipelining client does."""
        data, done = memoryview(data.encode('latin-1')), 0
        self.sock.settimeout(0.5)
        while done < len(data):
            if time.monotonic() > deadline:
                raise Fail(f'peer took only {done} of {len(data)} bytes')
            try:
                done += self.sock.send(data[done:done + (piece or 1 << 20)])
            except socket.timeout:
                continue
            except OSError as e:
                self.eof = True
                raise Fail(f'connection lost while writing: {e}')
            if pause:
                time.sleep(pause)

    def fill(self, deadline):
        """Reads more; False at the end of the stream."""
        left = deadline - time.monotonic()
        if self.eof or left <= 0 or not select.select([self.sock], [], [], left)[0]:
            if not self.eof:
                raise Fail('no reply in time; unread: %r' % bytes(self.buf[self.pos:self.pos + 80]))
            return False
        try:
            data = self.sock.recv(1 << 18)
        except OSError:
            data = b''
        self.eof = not data
        if self.pos > 1 << 20:
            del self.buf[:self.pos]
            self.pos = 0
        self.buf += data
        return bool(data)

    def take(self, count, deadline):
        while len(self.buf) - self.pos < count:
            if not self.fill(deadline):
                raise Fail('connection closed; unread: %r' % bytes(self.buf[self.pos:self.pos + 80]))
        self.pos += count
        return self.buf[self.pos - count:self.pos].decode('latin-1')

    def line(self, deadline):
        start = self.pos
        while True:
            end = self.buf.find(b'\r\n', start)
            if end >= 0:
                return self.take(end + 2 - self.pos, deadline)[:-2]
            unread = len(self.buf) - self.pos
            if not self.fill(deadline):
                raise Fail('connection closed; unread: %r' % bytes(self.buf[self.pos:self.pos + 80]))
            start = max(self.pos, self.pos + unread - 1)

    def reply(self, deadline):
        head = self.line(deadline)
        kind, rest = head[:1], head[1:]
        if kind in ('+', '-', ':', ',', '(', '#', '_'):
            return (kind, rest if kind != '_' else None)
        if kind not in ('$', '=', '*', '%', '~', '>'):
            raise Fail(f'not a reply: {head!r}')
        if rest == '-1':
            return ('nil' if kind == '$' else 'nilarray', None)
        if kind in '$=':
            body = self.take(int(rest) + 2, deadline)
            if body[-2:] != '\r\n':
                raise Fail(f'bulk of {rest} bytes not followed by CRLF')
            return (kind, body[:-2])
        return (kind, [self.reply(deadline) for _ in range(int(rest) * (2 if kind == '%' else 1))])


# ---- one case ----------------------------------------------------------------------------------------------------
class Case:
    def __init__(self, name, path, proto):
        self.name, self.path, self.proto, self.why = name, path, proto, ''
        self.needs, self.limit, self.steps = set(), 20.0, []


class Run:
    def __init__(self, case, addr, slow=1):
        self.case, self.addr, self.slow, self.mc = case, addr, slow, case.proto == 'memcached'
        self.env = {'k': 'k' + secrets.token_hex(4)[1:], 'bytes': BYTES, 'pat': PATTERN}
        self.conns, self.current, self.used, self.out = {}, 'A', set(), []
        self.piece, self.pause, self.within = 0, 0, None
        self.deadline = time.monotonic() + case.limit

    def conn(self):
        if self.current not in self.conns:
            self.conns[self.current] = Conn(self.addr)
        return self.conns[self.current]

    def wait(self):
        default = self.deadline if self.within is None else time.monotonic() + self.within
        return min(self.deadline, default)

    def command(self, args):
        self.used.update(a for a in args[1:] if self.env['k'] in a and len(a) < 1 << 21)
        return f'*{len(args)}\r\n' + ''.join(f'${len(a)}\r\n{a}\r\n' for a in args)

    def flush(self):
        data, self.out = ''.join(self.out), []
        if data:
            self.conn().send(data, self.piece, self.pause, self.deadline)

    def ask(self, *args):
        self.conn().send(self.command(args), 0, 0, self.deadline)
        return self.conn().reply(self.wait())

    def steps(self, steps):
        i = 0
        while i < len(steps):
            number, verb, text = steps[i]
            if verb == 'for':
                end, depth = i, 1
                while depth:
                    end += 1
                    depth += {'for': 1, 'next': -1}.get(steps[end][1], 0)
                var, *bounds = text.split()
                lo, hi, step = [int(fill(b, self.env, False)) for b in (bounds + ['1'])[:3]]
                for self.env[var] in range(lo, hi + 1, step):
                    self.steps(steps[i + 1:end])
                i = end + 1
                continue
            try:
                if verb not in ('>', '>>'):
                    self.flush()
                getattr(self, STEPS[verb])(text)
            except Fail as e:
                loop = ''.join(f' {k}={v}' for k, v in self.env.items() if isinstance(v, int))
                raise Fail(f'{os.path.basename(self.case.path)}:{number}{loop}: {verb} {text[:90]}\n      {e}') from None
            i += 1

    def do_send(self, text):
        if self.mc:
            self.do_raw(None, fill(text, self.env) + '\r\n')
        else:
            self.out.append(self.command([value(w, e) for w, e in words(text, self.env)]))

    def do_raw(self, text, data=None):
        data = data if data is not None else ''.join(value(w, e) for w, e in words(text, self.env))
        self.used.update(re.findall(r'\{?%s[^\s"\']*' % self.env['k'], data[:1 << 16]))
        self.out.append(data)

    def do_reply(self, text):
        if self.mc:
            got, want = self.conn().line(self.wait()), text
            if len(want) > 1 and want[0] == want[-1] == '/':
                found = re.search(fill(want[1:-1], self.env, False, re.escape), got, re.S)
                self.env.update(found.groupdict() if found else {})
                ok = bool(found)
            else:
                ok = got == fill(want, self.env)
            if not ok:
                raise Fail(f'got {got[:300]!r}')
        for want in [] if self.mc else expected(text, self.env):
            got = self.conn().reply(self.wait())
            if not matches(want, got, self.env):
                raise Fail(f'got {show(got)[:300]}')
        self.within = None

    def do_until(self, text):
        while self.conn().line(self.wait()) != text:
            pass

    def do_exact(self, text):
        want = ''.join(value(w, e) for w, e in words(text, self.env))
        got = ''
        try:
            got = self.conn().take(len(want), self.wait())
        except Fail as e:
            raise Fail(f'wanted {len(want)} bytes: {e}') from None
        if got != want:
            at = next(i for i in range(len(want)) if got[i] != want[i])
            raise Fail(f'differs at byte {at}: wanted {want[at:at + 60]!r} got {got[at:at + 60]!r}')

    def do_anyorder(self, text):
        if not self.mc:
            wanted = expected(text, self.env)
            got = [self.conn().reply(self.wait()) for _ in wanted]
            if not matches(('any', wanted), ('*', got), self.env):
                raise Fail(f'got {show(("*", got))[:300]}')
            return
        parts = [value(w, e) for w, e in words(text, self.env)]
        got = rest = self.conn().take(sum(map(len, parts)), self.wait())
        while parts:
            hit = next((p for p in parts if rest.startswith(p)), None)
            if hit is None:
                raise Fail(f'none of the remaining parts at {rest[:80]!r} in {got[:200]!r}')
            parts.remove(hit)
            rest = rest[len(hit):]

    def do_closed(self, text):
        conn = self.conn()
        while conn.fill(self.wait()):
            pass
        if text != 'anyhow' and len(conn.buf) > conn.pos:
            raise Fail('bytes before the close: %r' % bytes(conn.buf[conn.pos:conn.pos + 80]))
        self.do_close('')

    def do_close(self, text):
        self.conn().sock.close()
        del self.conns[self.current]

    def do_reset(self, text):
        self.conn().sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.do_close('')

    def do_halfclose(self, text):
        self.conn().sock.shutdown(socket.SHUT_WR)

    def do_quiet(self, text):
        conn = self.conn()
        if len(conn.buf) > conn.pos or select.select([conn.sock], [], [], float(text or 0.1))[0]:
            try:
                conn.fill(time.monotonic() + 1)
            finally:
                raise Fail('unexpected bytes: %r' % bytes(conn.buf[conn.pos:conn.pos + 80]))

    def do_alive(self, text):
        fresh = Conn(self.addr)
        fresh.send('version\r\n' if self.mc else '*1\r\n$4\r\nPING\r\n', 0, 0, self.deadline)
        got = fresh.line(min(self.deadline, time.monotonic() + 3))
        fresh.sock.close()
        if not got.startswith('VERSION' if self.mc else '+PONG'):
            raise Fail(f'a fresh connection got {got!r}')

    def do_on(self, text):
        self.current = fill(text, self.env, False)
        self.conn()

    def do_delay(self, text):
        time.sleep(float(text))

    def do_within(self, text):
        self.within = float(text) * self.slow

    def do_chunk(self, text):
        size, pause = (text.split() + ['0'])[:2]
        self.piece, self.pause = (0, 0) if size == 'off' else (int(size), float(pause))

    def do_check(self, text):
        if not eval(text, FUNCTIONS, self.env):
            raise Fail('false, with ' + ', '.join(f'{k}={v!r}' for k, v in self.env.items() if k not in ('bytes', 'pat')))

    def do_let(self, text):
        name, expr = text.split('=', 1)
        self.env[name.strip()] = eval(expr.strip(), FUNCTIONS, self.env)

    def do_apart(self, text):
        """Sets the two named variables to untagged keys that live on different nodes."""
        first, second = text.split()
        for n in range(300):
            pair = self.env['k'] + ':p', f'{self.env["k"]}:q{n}'
            kind, text = self.ask('SUNION', *pair)
            if kind == '-' and text.startswith('CROSSSLOT'):
                self.env[first], self.env[second] = pair
                return
        raise Fail('300 keys and all on one node')

    def do_scan(self, text):
        """'ARGS = KEYS': iterates SCAN to its end; each key must come exactly once."""
        args, _, keys = text.partition(' =')
        args, keys = ([value(w, e) for w, e in words(t, self.env)] for t in (args, keys))
        for attempt in range(3):  # a node whose table is being resized may name a key twice: look again later
            seen = self.scan(args)
            if len(set(seen)) == len(seen):
                break
            time.sleep(1)
        missing, extra = sorted(set(keys) - set(seen)), sorted(set(seen) - set(keys))
        if missing or extra or len(seen) != len(keys):
            raise Fail(f'{len(seen)} keys, missing {missing[:5]}, unwanted {extra[:5]}, '
                       f'twice {sorted({x for x in seen if seen.count(x) > 1})[:5]}')

    def scan(self, args):
        cursor, seen, calls = '0', [], 0
        while calls == 0 or cursor != '0':
            kind, got = self.ask('SCAN', cursor, *args)
            if kind != '*' or len(got) != 2 or got[0][0] != '$' or got[1][0] != '*':
                raise Fail(f'not a SCAN reply: {show((kind, got))[:200]}')
            cursor, calls = got[0][1], calls + 1
            if not re.fullmatch(r'0|[1-9]\d{0,19}', cursor) or int(cursor) >= 1 << 64:
                raise Fail(f'cursor {cursor!r} is no plain unsigned 64-bit decimal')
            seen += [x[1] for x in got[1][1]]
            if calls > 20000:
                raise Fail('SCAN does not end')
        return seen

    def run(self):
        try:
            self.steps(self.case.steps)
            self.flush()
            for self.current, conn in list(self.conns.items()):
                self.do_quiet('0.01')
        finally:
            self.clean()

    def clean(self):
        for conn in self.conns.values():
            conn.sock.close()
        try:
            conn, keys = Conn(self.addr), list(self.used)
            end = time.monotonic() + 5
            for i in range(0, len(keys), 500):
                part = keys[i:i + 500]
                conn.send(''.join(f'delete {k[:250]} noreply\r\n' for k in part) + 'version\r\n' if self.mc else
                          ''.join(f'*2\r\n$3\r\nDEL\r\n${len(k)}\r\n{k}\r\n' for k in part), 0, 0, end)
                for _ in part[:1] if self.mc else part:
                    conn.line(end)
            conn.sock.close()
        except (Fail, OSError):
            pass


STEPS = {'>': 'do_send', '>>': 'do_raw', '<': 'do_reply', '<<': 'do_exact', '<any': 'do_anyorder', 'next': None}
STEPS.update({n[3:]: n for n in dir(Run) if n.startswith('do_') and n[3:] not in
              ('send', 'raw', 'reply', 'exact', 'anyorder')})


def load(path):
    cases, proto = [], 'redis'
    for number, line in enumerate(open(path, encoding='latin-1'), 1):
        line = line.strip()
        head = re.fullmatch(r'\[([\w./+-]+)\]', line)
        field = re.fullmatch(r'(proto|needs|limit|# why): *(.*)', line)
        if head:
            cases.append(Case(head[1], path, proto))
        elif field and field[1] == 'proto' and not cases:
            proto = field[2]
        elif field and field[1] == '# why':
            cases[-1].why += field[2]
        elif field:
            setattr(cases[-1], field[1], {'needs': lambda v: set(v.split()), 'limit': float, 'proto': str}[field[1]](field[2]))
        elif line and line[0] != '#':
            verb, _, text = line.partition(' ')
            if verb not in STEPS and verb not in ('for', 'next'):
                raise SystemExit(f'{path}:{number}: unknown step {verb!r}')
            cases[-1].steps.append((number, verb, text.strip()))
    return cases


def main():
    opts = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opts.add_argument('--redis', metavar='HOST:PORT')
    opts.add_argument('--memcached', metavar='HOST:PORT')
    opts.add_argument('--router', action='store_true', help='the target shards: run "needs: router" cases too')
    opts.add_argument('--wipe', action='store_true', help='allow "needs: wipe" cases, which flush all data')
    opts.add_argument('--only', metavar='PATTERN', help='run cases whose name matches this regular expression')
    opts.add_argument('--limit', type=float, default=1e9, metavar='SECONDS', help='cap the time limit of every case')
    opts.add_argument('--slow', type=float, default=1, metavar='FACTOR', help='stretch all limits, for sanitizer builds')
    opts.add_argument('--json', action='store_true', help='one JSON object per case')
    opts.add_argument('files', nargs='+')
    o = opts.parse_args()
    count = {'ok': 0, 'FAIL': 0, 'skip': 0}
    for case in [c for f in o.files for c in load(f)]:
        if o.only and not re.search(o.only, case.name):
            continue
        addr = o.memcached if case.proto == 'memcached' else o.redis
        lacking = {n for n in case.needs if not getattr(o, n, False)} | (set() if addr else {case.proto})
        result, note, start = ('skip', 'needs ' + ' '.join(sorted(lacking)), time.monotonic()) if lacking else ('ok', '', time.monotonic())
        if not lacking:
            try:
                host, port = addr.rsplit(':', 1)
                case.limit = min(case.limit * o.slow, o.limit)
                Run(case, (host, int(port)), o.slow).run()
            except (Fail, OSError) as e:
                result, note = 'FAIL', str(e)
        count[result] += 1
        if o.json:
            print(json.dumps({'case': case.name, 'file': os.path.basename(case.path), 'result': result, 'note': note,
                              'why': case.why, 'seconds': round(time.monotonic() - start, 3)}), flush=True)
        else:
            print(f'{result:4} {case.name}' + (f'  {note}' if note else ''), flush=True)
    print(f'{count["ok"]} passed, {count["FAIL"]} failed, {count["skip"]} skipped', file=sys.stderr if o.json else sys.stdout)
    sys.exit(count['FAIL'] > 0)


if __name__ == '__main__':
    main()
