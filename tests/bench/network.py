#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the network of a sandbox costs: network.py JSON-LINES [ROUNDS]   (as root; BUILD in YETT_BUILD_ROOT)

In a world of our own (tests/support/world.py): this host and another machine, two network namespaces on this one. The same program
(traffic.c) talks to a server over there: from outside, which is `direct`; in a sandbox; and through pasta and slirp4netns, each as the
ordinary user. They are asked in turns, ROUNDS times (default 7), each time started anew: on which processors the scheduler puts those who talk
to each other makes a difference of more than two, and lasts. Medians count.
"""
import contextlib
import json
import os
import stat
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import world  # noqa: E402
import yett  # noqa: E402

PORT = 9000  # and the two after it
HOST = 'good.example'
RULE = '%s:%d-%d' % (HOST, PORT, PORT + 2)
MANY, FEW = 5000, 10  # rules
SLOW_MIB = 8  # a second, where bandwidth is limited
SLOW_SECONDS = 10
BULK_MIB = 256  # of one transfer
COUNT = 200  # of connections in one round, or names
WARM_UP = 10  # connections that do not count
IDLE = 20  # sandboxes whose memory is measured
CREATED = 100  # sandboxes of each kind
ROLES = ('yett-front', 'yett-dialer', 'yett-resolver')  # who keeps a resolver's place has the dialer's name
PROFILE = 'profile "%s" {\n  extends = "default"\n  network = limited\n  %s\n}\n'


def rules(count):
    """So many, and the one that counts is the last."""
    return 'allow = {%s}' % ', '.join('"%s"' % rule for rule in [*('n%d.example.net:443' % i for i in range(count - 1)), RULE])


POLICY = '\n'.join([PROFILE % ('few', rules(FEW)), PROFILE % ('many', rules(MANY)),
                    PROFILE % ('slow', 'bandwidth_in = %dM\n  bandwidth_out = %dM' % (SLOW_MIB, SLOW_MIB)),
                    'grant "bench" {\n  users = {"*"}\n  user_keys = true\n  share_ro = {"*"}\n  network = open\n  allow = {"*"}\n'
                    '  profiles = {"default", "few", "many", "slow"}\n}\n'])


class Client:
    """traffic.c somewhere."""

    def __init__(self, process, at_end=lambda: None):
        self.process, self.at_end = process, at_end
        if process.stdout.readline() != b'ready\n':
            self.close()
            raise RuntimeError('it did not start: %s' % ' '.join(process.args))

    def tell(self, kind, count):
        self.process.stdin.write(b'%s %d\n' % (kind.encode(), count))
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError('it ended: %s' % ' '.join(self.process.args))
        return float(line)

    def ask(self, kind, count):
        self.tell(kind, count)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.at_end()


class Bench:
    def __init__(self, service, rounds, lines):
        self.service, self.rounds, self.lines = service, rounds, lines
        self.alice = service.user(1)
        self.traffic = service.run_.path('tests/bench/traffic')
        self.ask = (self.traffic, 'ask', HOST, str(PORT))

    def client(self, *argv, popen=None):
        return Client((popen or self.alice.popen)(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE))

    def direct(self):
        return self.client(*self.ask)

    def inside(self, *options):
        folder = os.path.dirname(self.traffic)
        return self.client(self.service.yett, 'run', '--quiet', '--ro', folder + ':/bench', *options, '--', '/bench/traffic', *self.ask[1:],
                           popen=lambda argv, **more: self.service.popen(self.alice, *argv, **more))

    def allowed(self):
        return self.inside('--allow', RULE)

    def through_pasta(self):
        return self.client('pasta', '--config-net', '--ipv4-only', '--quiet', '--', *self.ask)

    def through_slirp(self):
        """In namespaces whose process waits until slirp4netns has made them a network; that ends with them."""
        holder = self.alice.popen(['unshare', '--user', '--map-root-user', '--net', 'sh', '-c', 'echo made; read -r _; exec "$@"', 'sh', *self.ask],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert holder.stdout.readline() == b'made\n'
        ready, theirs = os.pipe()
        exits, ours = os.pipe()
        slirp = self.alice.popen(['slirp4netns', '--configure', '--mtu=65520', '--ready-fd=%d' % theirs, '--exit-fd=%d' % exits, str(holder.pid), 'tap0'],
                                 pass_fds=[theirs, exits], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(exits)
        if os.read(ready, 1) != b'1':
            raise RuntimeError('slirp4netns did not start')
        os.close(ready)
        holder.stdin.write(b'\n')
        holder.stdin.flush()
        return Client(holder, lambda: (os.close(ours), slirp.wait()))

    # --- rows ---

    def report(self, name, unit, ours, peer, peers, at_most=None, at_least=None):
        wanted = 'at most %.2f' % at_most if at_most else 'at least %.2f' % at_least if at_least else 'told only'
        ratio = ours / peers
        missed = (at_most and ratio > at_most) or (at_least and ratio < at_least)
        print('%-58s %9.3f %9.3f %-6s %-22s %6.2f  (wanted %s)%s' % (name, ours, peers, unit, peer, ratio, wanted, '  MISSED' * bool(missed)), flush=True)
        with open(self.lines, 'a', encoding='ascii') as out:
            out.write(json.dumps({'case': name, 'ours_' + unit.replace('/', '_per_'): ours, 'peer': peer,
                                  'peer_' + unit.replace('/', '_per_'): peers, 'ratio': ratio}) + '\n')

    def medians(self, clients, kind, count):
        """Of what each answers, in turns. No transfer counts that broke off, which is told."""
        found = {name: [] for name in clients}
        for _ in range(self.rounds):
            for name, start in clients.items():
                client = start()
                client.ask('first', WARM_UP)
                value = client.ask(kind, count)
                client.close()
                if value < 0:
                    print('%s broke off a transfer, %s' % (name, kind))
                else:
                    found[name].append(value)
        return {name: statistics.median(values) for name, values in found.items() if values}

    def peers(self):
        clients = {'ours': self.allowed, 'direct': self.direct, 'pasta': self.through_pasta, 'slirp4netns': self.through_slirp}
        for kind, name in (('in', 'bulk into a sandbox'), ('out', 'bulk out of a sandbox')):
            rate = {who: BULK_MIB / ms * 1000 for who, ms in self.medians(clients, kind, BULK_MIB).items()}
            for peer, least in (('direct', 0.35), ('pasta', 1.2), ('slirp4netns', 1.2)):
                if peer in rate:
                    self.report(name, 'MiB/s', rate['ours'], peer, rate[peer], at_least=least)
                else:
                    print('%s: not measured against %s, of which no transfer came to its end' % (name, peer))
        first = self.medians(clients, 'first', COUNT)
        self.report('connection to first byte', 'us', first['ours'], 'direct + 100', first['direct'] + 100, at_most=1)
        for peer in ('direct', 'pasta', 'slirp4netns'):
            self.report('connection to first byte', 'us', first['ours'], peer, first[peer])

    def names(self):
        found = self.medians({'many': lambda: self.inside('-p', 'many'), 'few': lambda: self.inside('-p', 'few')}, 'name', COUNT)
        self.report('DNS answer, of %d rules' % FEW, 'us', found['few'], 'wanted us', 50, at_most=1)
        self.report('DNS answer, of %d rules' % MANY, 'us', found['many'], '%d rules' % FEW, found['few'], at_most=1.1)

    def many_rules(self):
        found = self.medians({'many': lambda: self.inside('-p', 'many'), 'few': lambda: self.inside('-p', 'few')}, 'first', COUNT)
        self.report('connection to first byte, of %d rules' % MANY, 'us', found['many'], '%d rules' % FEW, found['few'], at_most=1.1)

    def creation(self):
        kinds = ('default', 'default+' + RULE, 'few', 'many')
        out = self.service.run(self.alice, self.service.run_.path('tests/bench/create'), str(CREATED), *kinds).out
        plain, one, few, many = [[float(word) for word in line.split()] for line in out.splitlines()]
        for how, command, end in (('alone', 0, 1), ('in turns', 2, 3)):
            self.report('sandbox with --allow and a command, ' + how, 'ms', one[command], 'without + 0.6', plain[command] + 0.6, at_most=1)
            self.report('the same and all of it gone, ' + how, 'ms', one[end], 'without', plain[end])
            self.report('sandbox of %d rules and a command, %s' % (MANY, how), 'ms', many[command], '%d rules' % FEW, few[command], at_most=1.1)

    def kib_of_roles(self):
        """Proportional shares of all who serve networks."""
        total = 0
        for pid in yett.processes():
            if yett.argv_of(pid)[:1] and yett.argv_of(pid)[0] in ROLES:
                with contextlib.suppress(OSError):
                    total += next(int(line.split()[1]) for line in yett.read('/proc/%d/smaps_rollup' % pid).splitlines() if line.startswith('Pss:'))
        return total

    def memory(self):
        clients = [self.allowed() for _ in range(IDLE)]
        self.report('what serves an idle network, of %d' % IDLE, 'KiB', self.kib_of_roles() / IDLE, 'wanted KiB', 1024, at_most=1)
        for client in clients:
            client.ask('first', 1)
        self.report('the same once a name has been connected to', 'KiB', self.kib_of_roles() / IDLE, 'wanted KiB', 1024, at_most=1)
        for client in clients:
            client.close()

    def bandwidth(self):
        """Both ways at once, in a sandbox each."""
        clients = {kind: self.inside('-p', 'slow', '--allow', RULE) for kind in ('in', 'out')}
        for kind, client in clients.items():
            client.tell(kind, SLOW_MIB * SLOW_SECONDS)
        for kind, client in clients.items():
            rate = SLOW_MIB * SLOW_SECONDS / client.answer() * 1000
            ratio = max(rate / SLOW_MIB, SLOW_MIB / rate)
            self.report('bandwidth %s, limited, of %d s: off by' % (kind, SLOW_SECONDS), 'times', ratio, 'the limit', 1, at_most=1.05)
            client.close()


def serve(program):
    process = world.outside(program, 'serve', str(PORT), stdout=subprocess.PIPE)
    assert process.stdout.readline() == b'ready\n'
    return process


def make_tun():
    """Both peers take one as an ordinary user; some machines let only root. In the mounts of our own world."""
    world.run('mount', '-t', 'tmpfs', '-o', 'mode=755', 'tun', '/dev/net')
    os.mknod('/dev/net/tun', stat.S_IFCHR | 0o666, os.makedev(10, 200))
    os.chmod('/dev/net/tun', 0o666)


def main():
    world.enter()
    world.run('ip', 'route', 'add', 'default', 'via', world.PRIVATE4)  # pasta copies it
    make_tun()
    yett.STAGED += ('tests/bench/traffic', 'tests/bench/create')
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    print('%-58s %9s %9s' % ('the network of a sandbox', 'ours', 'peer'))
    with yett.Service(before=POLICY, spares=4) as service:
        bench = Bench(service, rounds, sys.argv[1])
        service.enter_key(bench.alice)
        server = serve(bench.traffic)
        try:
            for row in (bench.peers, bench.names, bench.many_rules, bench.creation, bench.memory, bench.bandwidth):
                row()
        finally:
            server.kill()
            server.wait()


if __name__ == '__main__':
    main()
