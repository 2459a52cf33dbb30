#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""docs/options.md, docs/configuration.md and packaging/ringway.yml from the tables in router/conf/*_list.h.

    tools/gen_options_doc.py            write them
    tools/gen_options_doc.py --check    exit 1 when one is not what would be written
"""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent

TOKEN = re.compile(r'\s+|/\*.*?\*/|(?P<string>"(?:[^"\\]|\\.)*")|(?P<name>[\w.]+)|(?P<mark>[(),])', re.S)

HEAD = """\
<!-- Written by tools/gen_options_doc.py from router/conf/*_list.h: change it there. -->
# Flags and options

`ringway --help` prints the same in short; `ringway -t` with other flags checks them and prints the value of every
option that is in effect. Flags may be written `--flag value` or `--flag=value`. With `-c FILE` flags change one pool
of the file and win over it: [configuration.md](configuration.md).

## Flags

| flag | meaning |
|---|---|
"""

OPTIONS_HEAD = """
## Options

`--set KEY=VALUE` sets one of these; where a flag sets the same option, the later of the two wins. In a configuration
file a dot is a mapping: `limits: {clients: 100}`. A value outside its range is refused. What is marked *reload* may
change on SIGHUP; a reload that would change anything else is refused.

| kind of value | written |
|---|---|
| size | bytes, or with a unit: `16kb`, `64mb`, `2gb`; a kb is 1024 bytes |
| time | with a unit: `50us`, `250ms`, `1s`, `2m`; `0` needs none |
| share | in percent: `20%`, `12.5%` |
| bool | `true`, `yes`, `on`; `false`, `no`, `off` |
| address | `host:port`, `[v6]:port`, `unix:/path`; port 0 takes a free one |
| mode | in octal, as chmod takes it: `660` |
| name | 1 to 128 of `A-Z a-z 0-9 . _ : - [ ] / %` |
"""

SCOPES = (
    ("ROUTER", "Of the router"),
    ("POOL", "Of a pool"),
)

TABLE_HEAD = "\n| key | default | range | SIGHUP | meaning |\n|---|---|---|---|---|\n"

KINDS = {
    "BOOL": "bool",
    "ADDR": "address, or `none`",
    "NAME": "name, or `auto`",
    "PATH": "path, or `none`",
    "TAG": "two characters, or `none`",
}


def tokens(text):
    at = 0
    while at < len(text):
        m = TOKEN.match(text, at)
        if m is None:
            raise SystemExit(f"cannot read: {text[at:at + 40]!r}")
        at = m.end()
        if m.lastgroup == "string":
            yield "string", m.group("string")[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        elif m.lastgroup:
            yield m.lastgroup, m.group(m.lastgroup)


def rows(name, columns):
    """The rows X(...) of a table; neighbouring strings are one, as in C."""
    found, row, cell = [], None, None
    for kind, text in tokens((ROOT / "router" / "conf" / name).read_text()):
        if (kind, text) == ("name", "X") and row is None:
            row, cell = [], ""
        elif text == "(" and kind == "mark":
            continue
        elif kind == "mark":
            row.append(cell)
            cell = ""
            if text == ")":
                if len(row) != columns:
                    raise SystemExit(f"{name}: {len(row)} columns, not {columns}: {row}")
                found.append(row)
                row = None
        else:
            cell += text
    return found


def code(text):
    return f"`{text}`" if text else ""


def escape(text):
    return text.replace("|", "\\|")


def flag_lines():
    for flag, argument, kind, key, _group, text in rows("conf_flag_list.h", 6):
        if kind == "LATER":
            continue
        shown = f"{flag} {argument}" if argument else flag
        also = f" Sets `{key}`." if key else ""
        yield f"| {code(escape(shown))} | {escape(text)}{also} |\n"


def range_of(type_, low, high, unit, words):
    if type_ in KINDS:
        return KINDS[type_]
    if type_ in words:
        return ", ".join(code(word) for word, _ in words[type_])
    text = f"{code(low)} .. {code(high)}" + (f" {unit}" if unit else "")
    return text + (" or `auto`" if type_ == "THREADS" else "")


def option_lines(scope, words):
    for where, type_, reload, key, _field, default, low, high, unit, text in rows("conf_list.h", 10):
        if where != scope:
            continue
        meaning = text + "".join(f"<br>`{word}`: {what}." for word, what in words.get(type_, ()))
        range_ = range_of(type_, low, high, unit, words)
        when = "reload" if reload == "RELOAD" else ""
        yield f"| {code(key)} | {code(default)} | {range_} | {when} | {escape(meaning)} |\n"


def all_words():
    words = {}
    for type_, _value, word, text in rows("conf_word_list.h", 4):
        words.setdefault(type_, []).append((word, text))
    return words


def options_page():
    words = all_words()
    parts = [HEAD, *flag_lines(), OPTIONS_HEAD]
    for scope, title in SCOPES:
        parts += [f"\n### {title}\n", TABLE_HEAD, *option_lines(scope, words)]
    return "".join(parts)


# ---- docs/configuration.md -----------------------------------------------------------------------------------------
CONFIGURATION_HEAD = """\
<!-- Written by tools/gen_options_doc.py from router/conf/*_list.h: change it there. -->
# The configuration file

    ringway -c /etc/ringway/ringway.yml        # serve
    ringway -c /etc/ringway/ringway.yml -t     # check it, print what is in effect, exit 0 or 1

The whole file, each key with its default and its meaning, is
[packaging/ringway.yml](../packaging/ringway.yml); [options.md](options.md) has the ranges. A small one:

```yaml
pools:
  - name: main
    role: cache
    listen: [0.0.0.0:6380]
    nodes:
      - {name: cache-1, address: 10.0.1.1:6379}
      - {name: cache-2, address: 10.0.1.2:6379, weight: 2}
```

`ringway -t` with flags prints a file that does the same as they do: the way from the one to the other.

## How it is read

- YAML, one document, at most 8 MB. Values are written as `--set` takes them (`64mb`, `250ms`, `20%`, `true` or `yes`),
  in quotes or not; a text that begins with `[`, `{`, `@`, `*`, `&`, `!` or `%` needs quotes, as `"[::1]:6380"`.
- Strict: unknown keys, keys given twice, a list where a text is wanted, empty values, anchors, aliases, tags and merge
  keys are refused. Nothing is left out in silence: a key of a feature that is not there yet is refused by name.
- What is wrong with syntax, keys or a single value is told as `file:line:column: ...`, with the nearest valid key;
  what is wrong between values by pool, node and key. All problems are told, not only the first (at most 50).
- Paths are relative to the folder that ringway was started in, as those in flags.

## With flags

The file is read first, whatever the order on the command line; flags win.

- `--threads`, `--admin` and the other options of the router replace the file's value.
- Flags of a pool (`--listen`, `--node`, `--role`, `--sole-router`, `--set` with a key of a pool) change **one** pool:
  the one that `--pool` names, which the file must have; without `--pool` the file's only one. With several pools in the
  file and no `--pool` they are refused.
- `--listen` given, the pool listens on the addresses of the flags and on none of the file's. `--node` given, its nodes
  are those of the flags.
- A file without pools takes its one pool from flags, named by `--pool`, default `main`.

## Several pools

Each has listeners, users, a ring, nodes and timeouts of its own; threads and limits are shared. Names of pools and
addresses of listeners are unique. One server may be a node of several pools, once in each.

"""

USERS = """
## Users

Without `clients` there is one user, `default`, without a password. With it there are the users that it lists: a
connection that has not logged in is `default`, if there is a user of that name without a password; else it must log in
(`AUTH password` is for `default`, `AUTH user password` for the others).

- **Passwords** stand in files of their own: the first line, without its end. Two may be right at a time, so that
  clients can change over one by one: add the new file, reload, change the clients, remove the old file, reload. A file
  that is missing, empty or not a regular file is an error; one that everybody on the machine can read or write is a
  warning. Passwords are never printed, not by `-t` either, never logged, and wiped from memory when they are replaced.
- **`deny`** takes commands of Redis 7.0 (`KEYS`), subcommands (`config|set`; a command with subcommands denies them
  all) and ACL categories (`"@dangerous"`, in quotes). AUTH, HELLO, QUIT and RESET can't be denied.
- **`node_auth`** is how the router logs in at the nodes: with `password_file` alone as their `default` user.

## Reloading

SIGHUP reads the same flags, file and password files again. It is all or nothing: what is wrong, or would take a
restart, is logged, each difference by name, and the old configuration goes on serving. These may change:
{reloadable}; users with their passwords and `deny` lists; `node_auth`.

## Not there yet

These keys are refused by name: {later}.
"""

OWNERS = (
    ("ROUTER", "Lists of the router"),
    ("POOL", "In each entry of `pools`, beside the pool's options"),
    ("CLIENT", "In each entry of `clients`"),
    ("NODE", "In each entry of `nodes`"),
)


def key_lines(owner):
    for where, kind, key, _field, need, _min, most, text in rows("conf_key_list.h", 8):
        if where != owner:
            continue
        what = "text" if kind == "TEXT" else f"list, at most {most}"
        yield f"| {code(key)} | {what}{', required' if need == 'REQUIRED' else ''} | {escape(text)} |\n"


def configuration_page():
    parts = [CONFIGURATION_HEAD, "## Keys\n\nEvery option of [options.md](options.md), and:\n"]
    for owner, title in OWNERS:
        parts += [f"\n### {title}\n\n| key | value | meaning |\n|---|---|---|\n", *key_lines(owner)]
    reloadable = [row[3] for row in rows("conf_list.h", 10) if row[2] == "RELOAD"]
    groups = {key.partition(".")[0] + ".*" if "." in key else key: None for key in reloadable}
    prefix = {"ROUTER": "", "POOL": "pools.", "CLIENT": "pools.clients.", "NODE": "pools.nodes."}
    later = [prefix[owner] + key for owner, key, _what in rows("conf_later_list.h", 3)]
    text = USERS.format(reloadable=", ".join(map(code, groups)), later=", ".join(map(code, later)))
    return "".join(parts) + "\n".join(fill_doc(line) for line in text.split("\n"))


def fill_doc(line):
    """The two lines with lists in them grow with the tables."""
    return textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False) if len(line) > 120 else line


# ---- packaging/ringway.yml -----------------------------------------------------------------------------------------
FILE_HEAD = """\
# Ringway's configuration: every key, with its default. What is left out has its default too.
# Written by tools/gen_options_doc.py from router/conf/*_list.h: change it there.
#
#   ringway -c ringway.yml -t     checks it and prints what is in effect
#
# size: bytes, or 16kb, 64mb, 2gb. time: 50us, 250ms, 1s, 2m; 0 needs no unit. share: 20%. bool: true, yes, on; false,
# no, off. address: host:port, "[v6]:port" in quotes, unix:/path; to listen, port 0 takes a free one.
# [SIGHUP]: may change on a reload.

"""

# What stands in the file for keys that have no default. With `#` in front: a comment, since there it is left out.
EXAMPLES = {
    ("POOL", "name"): "main",
    ("POOL", "listen"): "[127.0.0.1:6380]",
    ("POOL", "node_auth.user"): "#ringway",
    ("POOL", "node_auth.password_file"): "#/etc/ringway/node-password",
    ("CLIENT", "user"): "default",
    ("CLIENT", "password_files"): "#[/etc/ringway/password, /etc/ringway/next-password]",
    ("CLIENT", "deny"): "[]",
    ("NODE", "name"): "cache-1",
    ("NODE", "address"): "127.0.0.1:6379",
    ("NODE", "weight"): "1",
}


def plain(text):
    return text.replace("`", "")


def comment(indent, text):
    return textwrap.fill(plain(text), 120, initial_indent=indent + "# ", subsequent_indent=indent + "# ",
                         break_long_words=False, break_on_hyphens=False) + "\n"


def quoted(text):
    return text if re.fullmatch(r"[A-Za-z0-9/][A-Za-z0-9_./%-]*", text) else f'"{text}"'


class Writer:
    """Keys with a dot go into a mapping, opened with the first of them."""

    def __init__(self, indent):
        self.indent, self.group, self.parts = indent, "", []

    def key(self, key, value, words, text):
        """`#value`: the line is a comment, with a space behind its #, and so is the mapping it stands in."""
        group, _, leaf = key.rpartition(".")
        off = "# " if value.startswith("#") and group else ""
        if group != self.group and group:
            self.parts.append(f"\n{self.indent}{off}{group}:\n")
        elif not group:
            self.parts.append("\n")
        self.group = group
        inner = self.indent + off + ("  " if group else "")
        self.parts.append(comment(inner, text))
        self.parts += [comment(inner, f"  {word}: {what}.") for word, what in words]
        dash = "# " if value.startswith("#") and not group else ""
        self.parts.append(f"{inner}{dash}{leaf}: {value.lstrip('#')}\n")


def write_options(w, scope, words):
    for where, type_, reload, key, _field, default, low, high, unit, text in rows("conf_list.h", 10):
        if where != scope:
            continue
        known = words.get(type_, ())
        note = "" if known else f" ({plain(range_of(type_, low, high, unit, words))})"
        note += " (required)" if key == "role" else ""
        w.key(key, quoted(default), known, text + note + (" [SIGHUP]" if reload == "RELOAD" else ""))


def entry_of(owner, indent, words):
    """One entry of a list of mappings."""
    w = Writer(indent + "  ")
    for where, kind, key, _field, _need, _min, _max, text in rows("conf_key_list.h", 8):
        if where != owner:
            continue
        if kind in ("TEXT", "TEXTS"):
            w.key(key, EXAMPLES[owner, key], (), text)
        if (owner, key) == ("POOL", "name"):
            write_options(w, "POOL", words)
        if kind not in ("TEXT", "TEXTS"):
            w.parts += ["\n", comment(w.indent, text), f"{w.indent}{key}:\n"]
            w.parts.append(entry_of(kind.removesuffix("S"), w.indent + "  ", words))
    # the list's dash is where the first comment would begin
    return "".join(w.parts).lstrip("\n").replace(indent + "  #", indent + "- #", 1)


def whole_file():
    words = all_words()
    w = Writer("")
    write_options(w, "ROUTER", words)
    [(_owner, _kind, key, _field, _need, _min, _max, text)] = \
        [row for row in rows("conf_key_list.h", 8) if row[0] == "ROUTER"]
    return FILE_HEAD + "".join(w.parts).lstrip("\n") + f"\n{comment('', text)}{key}:\n" + entry_of("POOL", "  ", words)


PAGES = {
    ROOT / "docs" / "options.md": options_page,
    ROOT / "docs" / "configuration.md": configuration_page,
    ROOT / "packaging" / "ringway.yml": whole_file,
}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    lagging = 0
    for path, make in PAGES.items():
        text = make()
        if not sys.argv[1:]:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path.relative_to(ROOT)} lags behind router/conf/*_list.h")
            lagging = 1
    return lagging


if __name__ == "__main__":
    sys.exit(main())
