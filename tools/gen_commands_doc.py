#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""docs/commands.md from the command table in router/wire/, and from what is said here of single commands.

    tools/gen_commands_doc.py            write it
    tools/gen_commands_doc.py --check    exit 1 when it is not what would be written

tests/integration/test_commands_doc.py sends every command to a router and compares what happens with the page.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIRE = ROOT / "router" / "wire"
PAGE = ROOT / "docs" / "commands.md"

# What the router answers with "is not served yet", whatever its row in the table says.
NOT_SERVED = set("""
    latency|histogram memory|stats
    psubscribe publish pubsub|channels pubsub|numpat pubsub|numsub pubsub|shardchannels pubsub|shardnumsub
    punsubscribe ringway|events ringway|explain ringway|help ringway|nodes ringway|ring spublish ssubscribe subscribe
    sunsubscribe unsubscribe
""".split())

# The same of one form of a command.
NOT_SERVED_WITH = {}

FIRST = "The first node's answer, or the first error."
SUM = "The sum."
KILL = ("Over connections of its own, so that a node in a script hears it. `OK` when one was killed, else `-UNKILLABLE`, "
        "else what keeps a node from answering, else `-NOTBUSY`.")
TEXTS = "Each node's text under a line `# node NAME`."
LOCAL_TABLE = "Of the commands of Redis 7.0."

NOTES = {
    "bgrewriteaof": FIRST,
    "bgsave": FIRST,
    "client|info": "Of the client's connection to the router.",
    "client|kill": "Of the clients of the pool, whichever worker they are with.",
    "client|list": "The clients of the pool, whichever worker they are with.",
    "client|pause": "The clients of the pool. As in Redis `ALL` holds `CLIENT UNPAUSE` too. What a node has been sent "
                    "before is not held.",
    "client|setinfo": "Of Redis 7.2; shown by `CLIENT INFO` and `CLIENT LIST`.",
    "client|tracking": "`OFF`; `ON` is refused: clients share the connections on which nodes tell of changed keys.",
    "command": LOCAL_TABLE,
    "command|count": LOCAL_TABLE,
    "command|info": LOCAL_TABLE,
    "command|list": LOCAL_TABLE,
    "config|get": "What the first node that answers says, but the router's own `maxclients` `port` `timeout` and the "
                  "nodes' smallest `databases`; passwords are left empty.",
    "config|resetstat": FIRST,
    "config|rewrite": FIRST,
    "config|set": "Refused for what the router's connections to the nodes depend on: `requirepass` `masterauth` "
                  "`masteruser` `port` `bind` `tls-*` `unixsocket` `unixsocketperm` `aclfile` `maxclients`.",
    "copy": "With `DB` too; both keys on one node.",
    "dbsize": SUM,
    "debug|sleep": "All at the same time.",
    "eval": "Without keys on any node, always the same.",
    "exec": "`-EXECABORT` also when the connection to the node was lost before it, and after a `WATCH` that failed.",
    "multi": "The node is that of the first key inside. `AUTH`, `HELLO`, `CLIENT` and what asks every node are not served "
             "inside.",
    "wait": "At each node that the client wrote to; the fewest replicas. With more than 64 nodes perhaps at others too.",
    "watch": "Until `EXEC`, `DISCARD` or `UNWATCH` a request of the client is served when the one before is answered.",
    "client|unblock": "Passed on to the node, again until the client is answered.",
    "evalsha": "The body, if it went by in `EVAL` or `SCRIPT LOAD` of any client, is sent to a node that may not have it. Else "
               "`-NOSCRIPT` comes from the node.",
    "evalsha_ro": "As `EVALSHA`.",
    "fcall": "Without keys on any node, always the same.",
    "flushall": "Not at one instant: each node when it gets there.",
    "flushdb": "Not at one instant: each node when it gets there.",
    "function|dump": "Of one node.",
    "function|kill": KILL,
    "function|list": "Of one node.",
    "function|load": "The library's name, or the first error. A node that joins later, or was down, does not have it.",
    "function|stats": "Of a node that runs a script, if there is one.",
    "info": "Of the router itself, with `# Ringway`; `# Memory`, `# Persistence`, `# Stats` and `# Keyspace` summed over "
            "the nodes, which are asked for it; those that do not answer in time are named in `# Ringway`.",
    "keys": "Leftovers, keys that another node owns now, are left out.",
    "lastsave": "The time of the node that saved longest ago.",
    "latency|doctor": TEXTS,
    "latency|graph": TEXTS,
    "latency|history": "All nodes' samples, the oldest first.",
    "latency|latest": "One entry for each event and node.",
    "latency|reset": SUM,
    "memory|doctor": TEXTS,
    "memory|malloc-stats": TEXTS,
    "memory|purge": FIRST,
    "migrate": "The address is one that the owner connects to; it knows nothing of the ring.",
    "module|list": "Of one node.",
    "move": "To another database of the same node.",
    "mset": "Not atomic over nodes: parts done stay done when another fails.",
    "msetnx": "Only on one node, so it stays atomic.",
    "quit": "The connection is closed after the answer, as Redis does.",
    "randomkey": "Of a node by chance. A leftover, a key that another node owns now, is left out.",
    "role": "A master without replicas.",
    "save": FIRST,
    "scan": "One node a call, in the order of the list. The cursor is the node's own times 65536 plus the node's place in "
            "the list; 0 only begins and ends. Leftovers, keys that another node owns now, are left out.",
    "script|exists": "1 when every node has it, or one has it and the router knows the body.",
    "script|flush": "The router forgets its bodies too.",
    "script|kill": KILL,
    "script|load": "The SHA1, or the first error. The router keeps the body.",
    "select": "As many as every node has (asked once), at most 1024; 16 while no node has said.",
    "slowlog|get": "The latest of all nodes: 10, or as many as asked for, `-1` all. Ids are the nodes' own.",
    "slowlog|len": SUM,
    "slowlog|reset": FIRST,
    "sort": "`BY` and `GET` look at the owner's keys only.",
    "sort_ro": "`BY` and `GET` look at the owner's keys only.",
    "time": "The router's clock.",
}

TITLES = {
    "get": "Strings", "set": "Strings", "mget": "Strings", "mset": "Strings", "string": "Strings", "bitmap": "Bitmaps",
    "del": "Keys", "key": "Keys", "hash": "Hashes", "list": "Lists", "set_type": "Sets", "zset": "Sorted sets",
    "stream": "Streams", "geo": "Geo", "hyperloglog": "HyperLogLog", "script": "Scripts and functions",
    "pubsub": "Publish and subscribe", "transaction": "Transactions", "connection": "Connection", "server": "Server",
}

HEAD = """\
<!-- Written by tools/gen_commands_doc.py from router/wire/cmd_list.h: change it there. -->
# Commands

To a client Ringway is one Redis 7.0 server, save for what this page says. Every command and subcommand of Redis 7.0.15
has a line below. Of these {all}, {served} are served, {refused} are refused because they make no sense through a
router, and {later} are not served yet. Commands of modules and of newer servers are served too: a node is asked
`COMMAND INFO` for them, and they are forwarded by the keys that it names.

No answer of this page closes the connection, but `QUIT`'s.

## What becomes of a command

| | |
|---|---|
| forwarded to the owner of its keys | As it came. Several keys must have one owner: keep them together with a hash tag, `{{user:7}}:cart`; else `-CROSSSLOT Keys in request don't hash to the same slot`. |
| split by owner | One part for each node that owns some of the keys. When a part fails the answer is an error, that of the first such node by name; what the other parts did stays done. |
| every node is asked | The answers become one, as a user of one server expects it. One node's error is the answer. The deadline is `timeouts.slow`. |
| without a key | One node, always the same for a command. |
| answered by the router | No node is asked. |
| refused | `-ERR 'shutdown' is refused: REASON` |
| not served yet | `-ERR 'multi' is not served yet` |

A node that does not answer costs only its own keys an error: `-UNAVAILABLE node 'cache-2': connection refused`. A
container such as `CONFIG` has only its subcommands; another subcommand gets Redis's own error.
"""

TABLE_HEAD = "\n## {}\n\n| command | what Ringway does | notes |\n|---|---|---|\n"


def rows(path, columns):
    """The rows X(...) of a table, one a line: lists of cells, strings without quotes; the last column may lack."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("X("):
            continue
        cells = re.findall(r'"((?:[^"\\]|\\.)*)"|([^,()"]+)', line[2:-1])
        row = [text or word.strip() for text, word in cells if text or word.strip()]
        if not line.endswith(")") or len(row) not in columns:
            sys.exit(f"{path.name}:{number}: {len(row)} columns")
        found.append(row)
    return found


def reasons():
    """Of refused commands, by the name that their rows give."""
    text = (WIRE / "cmd.c").read_text(encoding="utf-8")
    return dict(re.findall(r'^#define WHY_(\w+) "([^"]+)"', text, re.M))


class Command:
    def __init__(self, row, policies, families, whys):
        self.id, self.of, self.name, _, flags, *_, policy, family = row[:11]
        self.container = "C" in flags.split("|")
        self.refused, self.local = policy == "REFUSED", policy == "LOCAL"
        self.title = TITLES[families[family]]
        self.what = policies[policy]
        if self.refused:
            self.what = "refused: " + whys[row[12]]
        if self.name in NOT_SERVED:
            self.what = "not served yet"

    @property
    def pure_container(self):
        """Answers nothing of its own."""
        return self.container and self.local and self.name != "command"

    def line(self):
        notes = [] if self.name in NOT_SERVED else [NOTES.get(self.name, "")]
        if self.name in NOT_SERVED_WITH:
            notes.append(f"With {NOT_SERVED_WITH[self.name]}: not served yet.")
        shown = self.name.upper().replace("|", " ")
        return f"| `{shown}` | {self.what} | {' '.join(n for n in notes if n)} |\n"


def commands():
    policies = {ident[7:]: text for ident, text in rows(WIRE / "cmd_policy_list.h", (2,))}
    families = {ident[7:]: text for ident, text in rows(WIRE / "cmd_family_list.h", (2,))}
    whys = reasons()
    found = [Command(row, policies, families, whys) for row in rows(WIRE / "cmd_list.h", (12, 13))]
    names = {c.name for c in found}
    for name in [*NOT_SERVED, *NOT_SERVED_WITH, *NOTES]:
        if name not in names:
            sys.exit(f"{pathlib.Path(__file__).name} tells of {name}, which is not in cmd_list.h")
    return [c for c in found if not c.pure_container]


def page():
    found = commands()
    later = sum(c.name in NOT_SERVED for c in found)
    refused = sum(c.refused for c in found)
    parts = [HEAD.format(all=len(found), served=len(found) - later - refused, refused=refused, later=later)]
    for title in dict.fromkeys(TITLES.values()):
        parts.append(TABLE_HEAD.format(title))
        parts += [c.line() for c in found if c.title == title]
    return "".join(parts)


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE.relative_to(ROOT)} lags behind router/wire/cmd_list.h or its generator")
            return 1
        return 0
    if sys.argv[1:]:
        print(__doc__)
        return 2
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
