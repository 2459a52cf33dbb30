<?php
// SPDX-License-Identifier: Apache-2.0
// Copyright the Ringway authors
//
// phpredis against a router: driver.php HOST PORT. Steps and answers are those of ../node/driver.js.

declare(strict_types=1);

[, $host, $port] = $argv;
$slow = (float) (getenv('RINGWAY_SLOW') ?: 1);
$every_byte = implode('', array_map('chr', range(0, 255))) . "\r\n$-1\r\n\0";

function must(bool $true, string $what): void
{
    if (!$true) {
        throw new Exception($what);
    }
}

function same($expected, $got): void
{
    $show = fn ($x) => substr(var_export($x, true), 0, 200);
    must($expected === $got, 'expected ' . $show($expected) . ', got ' . $show($got));
}

function connected(string $host, int $port, float $slow): Redis
{
    $r = new Redis();
    must($r->connect($host, $port, 10 * $slow, null, 0, 10 * $slow), 'no connection');
    return $r;
}

/** phpredis throws for some errors and returns false for others. */
function fails(Redis $r, string $pattern, callable $call): void
{
    $r->clearLastError();
    try {
        $reply = $call();
        $said = (string) $r->getLastError();
        same(false, $reply);
    } catch (RedisException $e) {
        $said = $e->getMessage();
    }
    must(preg_match($pattern, $said) === 1, "'$said' is not $pattern");
}

function eventually(callable $call, float $slow): void
{
    $end = microtime(true) + 10 * $slow;
    for (;;) {
        try {
            if ($call() === true) {
                return;
            }
            $why = 'false';
        } catch (RedisException $e) {
            $why = $e->getMessage();
        }
        must(microtime(true) < $end, "not in time: $why");
        usleep(20000);
    }
}

$r = connected($host, (int) $port, $slow);

$steps = [
    'connect' => function () use ($r) {
        same(true, $r->ping());
        same('grüße', $r->echo('grüße'));
        same(false, $r->get('nobody'));
        same('standalone', $r->info('server')['redis_mode']);
    },
    'pipeline' => function (string $count) use ($r) {
        $half = intdiv((int) $count, 2);
        $p = $r->multi(Redis::PIPELINE);
        $expected = [];
        for ($i = 0; $i < $half; $i++) {
            $p->set("pipe:$i", "value $i");
            $p->get("pipe:$i");
            array_push($expected, true, "value $i");
        }
        same($expected, $p->exec());
    },
    'split' => function () use ($r) {
        $pairs = [];
        for ($i = 0; $i < 300; $i++) {
            $pairs["split:$i"] = "v$i";
        }
        $keys = array_keys($pairs);
        same(true, $r->mset($pairs));
        $values = $r->mget([...array_slice($keys, 0, 150), 'split:none', ...array_slice($keys, 150)]);
        $all = array_values($pairs);
        same([...array_slice($all, 0, 150), false, ...array_slice($all, 150)], $values);
        same(300, $r->exists($keys));
        same(300, $r->rawCommand('TOUCH', ...$keys));
        same(100, $r->del([...array_slice($keys, 0, 100), 'split:none']));
        same(200, $r->unlink($keys));
        same(0, $r->exists($keys));
    },
    'binary' => function () use ($r, $every_byte) {
        $key = "bin:$every_byte";
        same(true, $r->set($key, $every_byte));
        same($every_byte, $r->get($key));
        same(true, $r->set('bin:empty', ''));
        same('', $r->get('bin:empty'));
        same(2, $r->del([$key, 'bin:empty']));
    },
    'big' => function (string $size) use ($r) {
        $value = str_pad('', (int) $size, 'ringway, ');
        same(true, $r->set('big', $value));
        must($r->get('big') === $value, 'another value came back');
        must($r->mget(['big:none', 'big']) === [false, $value], 'another value came back');
        same(1, $r->del('big'));
    },
    'errors' => function (string $one, string $other) use ($r) {
        $r->set($one, 'a string');
        fails($r, '/WRONGTYPE/', fn () => $r->lPush($one, 'x'));
        fails($r, '/CROSSSLOT/', fn () => $r->sUnion($one, $other));
        fails($r, '/unknown command/', fn () => $r->rawCommand('NOSUCHCOMMAND', 'x'));
        fails($r, '/refused/', fn () => $r->rawCommand('SHUTDOWN'));
        $p = $r->multi(Redis::PIPELINE);
        $p->set($one, 'x');
        $p->lPush($one, 'x');
        $p->sUnion($one, $other);
        $p->get($one);
        same([true, false, false, 'x'], $p->exec());
    },
    'types' => function () use ($r) {
        $r->del(['types:hash', 'types:set', 'types:zset', 'types:stream']);
        $r->hMSet('types:hash', ['a' => '1', 'b' => '2']);
        $r->sAdd('types:set', 'x', 'y');
        $r->zAdd('types:zset', 1.5, 'x', 2, 'y');
        $r->xAdd('types:stream', '1-1', ['f' => 'v']);
        same(['a' => '1', 'b' => '2'], $r->hGetAll('types:hash'));
        $set = $r->sMembers('types:set');
        sort($set);
        same(['x', 'y'], $set);
        same(1.5, $r->zScore('types:zset', 'x'));
        same(['x' => 1.5, 'y' => 2.0], $r->zRange('types:zset', 0, -1, true));
        same(['1-1' => ['f' => 'v']], $r->xRange('types:stream', '-', '+'));
        same(['maxmemory' => '0'], $r->config('GET', 'maxmemory'));
    },
    'scan' => function () use ($r) {
        $keys = array_map(fn ($i) => "scan:$i", range(0, 499));
        $r->mset(array_fill_keys($keys, 'v'));
        $r->setOption(Redis::OPT_SCAN, (string) Redis::SCAN_RETRY);
        $found = [];
        $cursor = null;
        while (($some = $r->scan($cursor, 'scan:*', 100)) !== false) {
            array_push($found, ...$some);
        }
        sort($keys);
        sort($found);
        same($keys, $found);
        same(500, $r->del($keys));
    },
    'transaction' => function () use ($r, $host, $port, $slow) {
        [$a, $b] = ['{tx}a', '{tx}b'];
        $r->del([$a, $b]);
        foreach ([1, 2, 3] as $n) {
            $r->watch($a);
            same($n - 1, (int) $r->get($a));
            same([$n, $n, (string) $n], $r->multi()->incr($a)->rPush($b, 'x')->get($a)->exec());
        }
        $r->watch($a);
        same(true, connected($host, (int) $port, $slow)->set($a, '7'));
        same(false, $r->multi()->incr($a)->exec());
        same([8, false], $r->multi()->incr($a)->lPush($a, 'x')->exec());
    },
    'waits' => function () use ($r) {
        $r->del(['waits', 'waits:none']);
        same([], $r->blPop(['waits:none'], 1));
        $r->rPush('waits', 'x', 'y');
        same(['waits', 'x'], $r->blPop(['waits'], 5));
        same(['waits', 'y'], $r->blPop(['waits'], 0));
        same(false, $r->get('waits'));
    },
    'password' => function (string $port, string $right, string $wrong) use ($host, $slow) {
        $c = connected($host, (int) $port, $slow);
        fails($c, '/NOAUTH/', fn () => $c->get('x'));
        fails($c, '/WRONGPASS/', fn () => $c->auth($wrong));
        same(true, $c->auth($right));
        same(true, $c->set('with password', 'x'));
    },
    'down' => function (string $dead, string $alive) use ($r) {
        fails($r, '/UNAVAILABLE/', fn () => $r->get($dead));
        same(true, $r->set($alive, 'still'));
        fails($r, '/UNAVAILABLE/', fn () => $r->mget([$alive, $dead]));
        same('still', $r->get($alive));
    },
    'back' => function (string ...$keys) use ($r, $slow) {
        foreach ($keys as $key) {
            eventually(fn () => $r->set($key, 'back'), $slow);
            same('back', $r->get($key));
        }
    },
];

while (($line = fgets(STDIN)) !== false) {
    $args = explode(' ', trim($line));
    $step = array_shift($args);
    try {
        $steps[$step](...$args);
        echo "ok\n";
    } catch (Throwable $e) {
        $where = basename($e->getFile()) . ':' . $e->getLine() . ' < ' . implode(' < ', array_map(fn ($t) => $t['line'] ?? '?', $e->getTrace()));
        echo "fail $step: ", strtr($e->getMessage(), "\n", ' '), " ($where)\n";
    }
}
