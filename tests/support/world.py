# SPDX-License-Identifier: Apache-2.0
"""
A world to connect to, of our own: `world.enter()` as the first thing a test does, and it runs in namespaces of its own, with this machine's
files. Its network has this host and one other machine, with public and private addresses, on which servers run; names are in an
/etc/hosts that only this world has. Process 1 is ours, so that the helper takes these namespaces for the host's.
"""
import atexit
import os
import subprocess
import sys
import tempfile

import alone
import places
import yett

HOST4, HOST6 = '10.83.0.1', 'fd83::1'  # this host's own
PRIVATE4, PRIVATE6 = '10.83.0.2', 'fd83::2'  # the other machine's, in a network of ours
GOOD4, GOOD6 = '93.184.216.34', '2606:4700::34'  # and in the world
OTHER4, OTHER6 = '151.101.1.10', '2a04:4e42::10'
METADATA = '169.254.169.254'

HOSTS = '''127.0.0.1 localhost
::1 localhost ip6-localhost
{GOOD4} good.example www.good.example a.b.good.example v4.example both.example
{GOOD6} v6.example both.example
{OTHER4} other.example
{PRIVATE4} private.example db.internal proxy.example
127.0.0.1 rebound.example
{HOST4} host.example
{METADATA} metadata.example
{OTHER4} mixed.example
127.0.0.1 mixed.example
'''

# Answers each connection with who asked for what, as HTTP; what comes as "echo" is sent back.
SERVER = r'''
import socket, sys, threading
def serve(listening):
    while True:
        connection, peer = listening.accept()
        threading.Thread(target=talk, args=(connection,), daemon=True).start()
def talk(connection):
    with connection:
        data = connection.recv(65536)
        if data.startswith(b"echo"):
            while data:
                connection.sendall(data)
                data = connection.recv(1 << 20)
        elif data.startswith(b"hold"):
            connection.sendall(b"held")
            while connection.recv(65536):
                pass
        elif data.startswith(b"flood"):
            block = bytes(1 << 20)
            for _ in range(int(data.split()[1])):
                connection.sendall(block)
        else:
            body = b"served at %s\n" % connection.getsockname()[0].replace("::ffff:", "").encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
for port in sys.argv[1:]:
    listening = socket.create_server(("::", int(port)), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
    threading.Thread(target=serve, args=(listening,), daemon=False).start()
print("ready", flush=True)
'''


def run(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def is_alone():
    """Whether the runner of the tests has made namespaces for this program, with a network of its own in them."""
    return alone.is_made() and alone.KEPT_NETWORK not in os.environ


def enter():
    """Returns in the world; before it there is a process that waits for us. Only as root."""
    if os.environ.get('YETT_TEST_WORLD') or is_alone():
        make()
    elif os.getuid() == 0:
        os.environ['YETT_TEST_WORLD'] = '1'
        if places.VARIABLE not in os.environ:
            place = places.Place()
            place.hand_on()
        # A shell as process 1: it reaps whom nobody waits for.
        os.execvp('unshare', ['unshare', '--pid', '--fork', '--kill-child', '--mount', '--net', '--mount-proc', 'sh', '-c', '"$@"; exit $?', 'sh',
                              sys.executable, *sys.argv])


class World:
    other = None  # a process in the network namespace of the other machine


def outside(*argv, **more):
    """A program on the other machine."""
    return subprocess.Popen(['nsenter', '--net=/proc/%d/ns/net' % World.other.pid, *argv], **more)


def serve(*ports):
    """Servers on all addresses of the other machine. To be killed."""
    process = outside(sys.executable, '-c', SERVER, *map(str, ports), stdout=subprocess.PIPE)
    assert process.stdout.readline() == b'ready\n'
    return process


def bind(path, text):
    """A file of this world's in place of the machine's."""
    with tempfile.NamedTemporaryFile('w', delete=False) as file:
        file.write(text)
    atexit.register(os.unlink, file.name)
    os.chmod(file.name, 0o644)
    run('mount', '--bind', file.name, os.path.realpath(path))


def hosts(**more):
    """What names lead to from now on: `more` as name = address, with _ for a dot."""
    text = HOSTS.format(**globals()) + ''.join('%s %s\n' % (address, name.replace('_', '.')) for name, address in more.items())
    with open('/etc/hosts', 'w', encoding='ascii') as file:
        file.write(text)


def make():
    if is_alone():
        run('ip', 'route', 'delete', 'default')
    else:
        run('mount', '--make-rprivate', '/')
        alone.make_etc(os.path.join(tempfile.gettempdir(), 'yett-test-etc-%s' % os.environ[places.VARIABLE]))
    bind('/etc/hosts', '')
    bind('/etc/resolv.conf', 'nameserver %s\noptions timeout:1 attempts:1\n' % PRIVATE4)
    hosts()
    make_network()


def make_network():
    """The other machine. On a machine that is ours anyway this is all that it takes, and hosts()."""
    World.other = subprocess.Popen(['unshare', '--net', 'sleep', 'infinity'])
    atexit.register(World.other.kill)
    run('ip', 'link', 'set', 'lo', 'up')
    own = os.readlink('/proc/self/ns/net')
    yett.wait_until(lambda: os.readlink('/proc/%d/ns/net' % World.other.pid) != own, 'the network of the other machine')
    run('ip', 'link', 'add', 'out', 'type', 'veth', 'peer', 'name', 'in', 'netns', str(World.other.pid))
    for addresses, command in ((((HOST4 + '/24', 'out'), (HOST6 + '/64', 'out')), []),
                               (((PRIVATE4 + '/24', 'in'), (PRIVATE6 + '/64', 'in'), (GOOD4 + '/32', 'lo'), (GOOD6 + '/128', 'lo'),
                                 (OTHER4 + '/32', 'lo'), (OTHER6 + '/128', 'lo'), (METADATA + '/32', 'lo')),
                                ['nsenter', '--net=/proc/%d/ns/net' % World.other.pid])):
        run(*command, 'ip', 'link', 'set', 'lo', 'up')
        run(*command, 'ip', 'link', 'set', addresses[0][1], 'up')
        for address, interface in addresses:
            run(*command, 'ip', 'address', 'add', address, 'dev', interface, *(['nodad'] if ':' in address else []))
    for address in (GOOD4, OTHER4, METADATA):
        run('ip', 'route', 'add', address, 'via', PRIVATE4)
    for address in (GOOD6, OTHER6):
        run('ip', '-6', 'route', 'add', address, 'via', PRIVATE6)
