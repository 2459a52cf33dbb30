#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""docs/options.md from the tables in router/conf/*_list.h.

    tools/gen_options_doc.py            write it
    tools/gen_options_doc.py --check    exit 1 when it is not what would be written
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "options.md"

TOKEN = re.compile(r'\s+|/\*.*?\*/|(?P<string>"(?:[^"\\]|\\.)*")|(?P<name>[\w.]+)|(?P<mark>[(),])', re.S)

HEAD = """\
<!-- Written by tools/gen_options_doc.py from router/conf/*_list.h: change it there. -->
# Flags and options

`ringway --help` prints the same in short; `ringway -t` with other flags checks them and prints the value of every
option that is in effect. Flags may be written `--flag value` or `--flag=value`.

## Flags

| flag | meaning |
|---|---|
"""

OPTIONS_HEAD = """
## Options

`--set KEY=VALUE` sets one of these; where a flag sets the same option, the later of the two wins. A value outside its
range is refused.

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

TABLE_HEAD = "\n| key | default | range | meaning |\n|---|---|---|---|\n"

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
    for where, type_, key, _field, default, low, high, unit, text in rows("conf_list.h", 9):
        if where != scope:
            continue
        meaning = text + "".join(f"<br>`{word}`: {what}." for word, what in words.get(type_, ()))
        yield f"| {code(key)} | {code(default)} | {range_of(type_, low, high, unit, words)} | {escape(meaning)} |\n"


def page():
    words = {}
    for type_, _value, word, text in rows("conf_word_list.h", 4):
        words.setdefault(type_, []).append((word, text))
    parts = [HEAD, *flag_lines(), OPTIONS_HEAD]
    for scope, title in SCOPES:
        parts += [f"\n### {title}\n", TABLE_HEAD, *option_lines(scope, words)]
    return "".join(parts)


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != text:
            print(f"{PAGE.relative_to(ROOT)} lags behind router/conf/*_list.h")
            return 1
        return 0
    if sys.argv[1:]:
        print(__doc__)
        return 2
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
