# SPDX-License-Identifier: Apache-2.0
"""
Clients that nobody here wrote, and that know of no proxy, in a sandbox with an allow-list: each reaches the name that is allowed and is
refused for another one. Their servers are on the other machine of our world, and have certificates of an authority of our own.
"""
import base64
import contextlib
import glob
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import unittest

import world
import yett

PATH = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'
NAMES = {'good.example': world.GOOD4, 'other.example': world.OTHER4}

# Serves FOLDER over HTTP (80) and HTTPS (443): files, repositories below /git/ by git's own program, /socket as a websocket that says one
# thing, and to all else at which address it was asked.
SERVER = r'''
import base64, hashlib, http.server, os, socket, ssl, subprocess, sys, threading
certificate, key, folder = sys.argv[1:]

class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments):
        super().__init__(*arguments, directory=folder)

    def where(self):
        return b"served at %s\n" % self.connection.getsockname()[0].replace("::ffff:", "").encode()

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/socket":
            self.websocket()
        elif self.path.startswith("/git/"):
            self.git()
        elif self.path == "/":
            self.answer(200, [], self.where())
        else:
            super().do_GET()

    def do_POST(self):
        self.git()

    def websocket(self):  # RFC 6455
        accept = base64.b64encode(hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        text = self.where().strip()
        self.connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept +
                                b"\r\n\r\n\x81" + bytes([len(text)]) + text)
        self.rfile.read(1)
        self.close_connection = True

    def git(self):  # git-http-backend(1)
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        done = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, env={
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": folder, "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": self.command, "PATH_INFO": path,
            "QUERY_STRING": query, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")})
        head, _, out = done.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = [int(value.split()[0]) for name, value in headers if name == "Status"]
        self.answer(status[0] if status else 200, [(name, value) for name, value in headers if name != "Status"], out)

    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def handle_error(self, *_):
        pass  # whoever does not trust us goes away

plain, secret = Server(("::", 80), Handler), Server(("::", 443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
secret.socket = context.wrap_socket(secret.socket, server_side=True, do_handshake_on_connect=False)
for server in plain, secret:
    threading.Thread(target=server.serve_forever).start()
print("ready", flush=True)
'''

# Where no PostgreSQL is installed: its first messages, and one row for whatever is asked. "Message Formats" of its documentation.
POSTGRES = r'''
import socket, ssl, struct, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(*sys.argv[1:])

def message(kind, body):
    return kind + struct.pack(">I", len(body) + 4) + body

def serve(connection):
    def whole(count):
        data = b""
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data
    def startup():
        return whole(struct.unpack(">I", whole(4))[0] - 4)
    at = connection.getsockname()[0].replace("::ffff:", "").encode()
    try:
        while struct.unpack(">I", startup()[:4])[0] != 80877103:  # SSLRequest
            connection.sendall(b"N")
        connection.sendall(b"S")
        connection = context.wrap_socket(connection, server_side=True)
        startup()
        ready = message(b"Z", b"I")
        connection.sendall(message(b"R", struct.pack(">I", 0)) + message(b"S", b"client_encoding\0UTF8\0") + ready)
        while whole(1) == b"Q":
            whole(struct.unpack(">I", whole(4))[0] - 4)
            row = struct.pack(">HI", 1, len(at)) + at
            field = struct.pack(">H", 1) + b"at\0" + struct.pack(">IHIhIH", 0, 0, 25, -1, 0xffffffff, 0)
            connection.sendall(message(b"T", field) + message(b"D", row) + message(b"C", b"SELECT 1\0") + ready)
    except (OSError, EOFError):
        pass
    connection.close()

listening = socket.create_server(("::", 5432), family=socket.AF_INET6, dualstack_ipv6=True)
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
'''

# --- clients: each is told names, and writes for each of them what it received, or why it did not ---

CURL = r'for name; do curl -sS --cacert ca.pem "https://$name/" 2>&1; curl -sS "http://$name/" 2>&1; done'
WGET = r'for name; do wget -nv -t 1 -O - --ca-certificate=ca.pem "https://$name/" 2>&1; done'

GIT = r'''
export GIT_SSL_CAINFO=$PWD/ca.pem GIT_SSH_COMMAND="ssh -F none -i $PWD/key -o UserKnownHostsFile=$PWD/known -o BatchMode=yes" GIT_TERMINAL_PROMPT=0
for name; do
	git clone -q "$(printf "$0" "$name")" "$HOME/$name" 2>&1 && cat "$HOME/$name/file"
done
'''

NODE_FETCH = r'''
(async () => {
	for (const name of process.argv.slice(1)) {
		try { process.stdout.write(await (await fetch(`https://${name}/`)).text()); }
		catch (error) { console.log(`${name}: ${error.message}: ${error.cause && error.cause.code}`); }
	}
})();
'''

# WebSocket where this node has one, else what http.request makes of it.
NODE_WEBSOCKET = r'''
const https = require('https');
const byClass = name => new Promise((done, failed) => {
	const socket = new WebSocket(`wss://${name}/socket`);
	socket.onmessage = ({data}) => { done(data); socket.close(); };
	socket.onerror = event => failed(event.error || new Error('no websocket'));
});
const byRequest = name => new Promise((done, failed) => {
	const request = https.request({host: name, path: '/socket', headers: {Connection: 'Upgrade', Upgrade: 'websocket',
		'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': Buffer.from('0123456789abcdef').toString('base64')}});
	request.on('upgrade', (answer, socket, head) => {
		const read = data => { done(data.subarray(2).toString()); socket.destroy(); };
		head.length ? read(head) : socket.once('data', read);
	});
	request.on('error', failed);
	request.end();
});
(async () => {
	for (const name of process.argv.slice(1)) {
		try { console.log(await (typeof WebSocket === 'function' ? byClass : byRequest)(name)); }
		catch (error) { console.log(`${name}: ${error.message}`); }
	}
})();
'''

PYTHON = r'''
import http.client, ssl, sys, urllib.request
context = ssl.create_default_context(cafile="ca.pem")

def by_urllib(name):
    return urllib.request.urlopen("https://%s/" % name, context=context, timeout=DEADLINE).read()

def by_http_client(name):  # one connection that is kept, as a session of requests has it
    connection = http.client.HTTPSConnection(name, context=context, timeout=DEADLINE)
    for _ in range(2):
        connection.request("GET", "/")
        body = connection.getresponse().read()
    return body

for name in sys.argv[1:]:
    for get in by_urllib, by_http_client:
        try:
            sys.stdout.write(get(name).decode())
        except OSError as error:
            print(name, error)
'''.replace('DEADLINE', str(yett.DEADLINE))

JAVA = r'''
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
public class Main {
	public static void main(String[] names) throws Exception {
		for (String name : names) {
			try {
				var request = HttpRequest.newBuilder(URI.create("https://" + name + "/")).build();
				System.out.print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
			} catch (java.io.IOException e) {
				System.out.println(name + ": " + e + " " + e.getCause() + " " + (e.getCause() == null ? "" : e.getCause().getCause()));
			}
		}
	}
}
'''

GO = r'''
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	for _, name := range os.Args[1:] {
		answer, err := http.Get("https://" + name + "/")
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, _ := io.ReadAll(answer.Body)
		fmt.Print(string(body))
	}
}
'''

PSQL = r'for name; do psql "host=$name user=$0 dbname=postgres sslmode=verify-full sslrootcert=ca.pem" -XAtc "select host(inet_server_addr())" 2>&1; done'

NPM = r'''
export npm_config_cafile=$PWD/ca.pem npm_config_update_notifier=false npm_config_fetch_retries=0 npm_config_audit=false npm_config_fund=false
for name; do
	mkdir "$HOME/$name" && cd "$HOME/$name"
	npm install --registry="https://$name/npm/" answer 2>&1 && node -p 'require("answer")'
done
'''

# As an ordinary user: with folders of its own. apt.conf(5)
APT = r'''
for name; do
	top=$HOME/$name
	mkdir -p "$top/etc/apt/apt.conf.d" "$top/etc/apt/preferences.d" "$top/var/lib/apt/lists/partial" "$top/var/lib/dpkg" "$top/var/cache/apt/archives/partial"
	: >"$top/var/lib/dpkg/status"
	echo "deb [trusted=yes] http://$name/apt ./" >"$top/etc/apt/sources.list"
	set -- -o "Dir=$top" -o "Dir::State::status=$top/var/lib/dpkg/status" -o Acquire::Languages=none -o Acquire::Retries=0 -o APT::Update::Error-Mode=any
	apt-get "$@" update 2>&1 && cd "$top" && apt-get "$@" download answer 2>&1 && dpkg-deb --fsys-tarfile answer_1_all.deb | tar -xO ./answer
done
'''

OWN_SERVERS = r'''
import http.server, socket, subprocess, sys, threading

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"mine\n")
    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 8080), Handler), Server(("::1", 8080), Handler)]
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()
for host in sys.argv[1:]:
    print(subprocess.run(["curl", "-sS", "http://%s:8080/" % host], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode(), end="")
'''


def find(program):
    return shutil.which(program, path=PATH)


class Clients(yett.Case):
    """Each test is given programs that it needs, and says what is missing where they are not installed."""

    ports = ('',)  # that a rule is about which is given as a name

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not find('openssl'):
            raise unittest.SkipTest('the host has no openssl')
        cls.share = cls.alice.mkdir('share')
        cls.served = cls.service.run_.path('served-' + cls.__name__)
        os.mkdir(cls.served)
        cls.make_certificates()
        cls.server = cls.serve(SERVER, cls.path('server.pem'), cls.path('server.key'), cls.served)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.share, name)

    @classmethod
    def serve(cls, script, *argv):
        process = world.outside(sys.executable, '-c', script, *argv, stdout=subprocess.PIPE)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.kill)
        assert process.stdout.readline() == b'ready\n'
        return process

    @classmethod
    def make_certificates(cls):
        """An authority, and one certificate for all servers."""
        def openssl(*argv):
            subprocess.run(['openssl', *argv], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        names = [*NAMES, 'v4.example', 'v6.example', 'both.example']
        yett.write(cls.path('extensions'), 'subjectAltName = %s\n' % ', '.join('DNS:' + name for name in names))
        curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
        openssl('req', '-x509', *curve, '-keyout', cls.path('ca.key'), '-out', cls.path('ca.pem'), '-subj', '/CN=an authority of tests')
        openssl('req', *curve, '-keyout', cls.path('server.key'), '-out', cls.path('server.csr'), '-subj', '/CN=a server of tests')
        openssl('x509', '-req', '-in', cls.path('server.csr'), '-CA', cls.path('ca.pem'), '-CAkey', cls.path('ca.key'), '-CAcreateserial',
                '-extfile', cls.path('extensions'), '-out', cls.path('server.pem'))

    def need(self, *programs):
        missing = [program for program in programs if not find(program)]
        if missing:
            self.skipTest('the host has no ' + ', '.join(missing))

    def own(self, name):
        os.chown(self.path(name), self.alice.uid, self.alice.gid)

    def allowing(self, *rules):
        return [word for rule in rules for port in (self.ports if ':' not in rule else ('',)) for word in ('--allow', rule + port)]

    def inside(self, *argv, allow, env=()):
        """What a client writes."""
        options = self.allowing(*allow) + [word for setting in env for word in ('-e', setting)]
        done = self.sandbox(*argv, options=[*options, '--ro', self.share, '-C', self.share])
        self.assertNotEqual(done.code, 125, done)  # of yett itself
        return done.out

    def assert_reaches_what_is_allowed(self, *argv, refused, got='served at {}', env=()):
        """
        `argv` gets two names. Either is allowed once, so that what is refused is not so for another reason. `got` is what it writes of a name
        that leads to {}, `refused` what it says where there is no such name.
        """
        for allowed, denied in (tuple(NAMES), tuple(NAMES)[::-1]):
            with self.subTest(allowed=allowed):
                out = self.inside(*argv, allowed, denied, allow=[allowed], env=env)
                self.assertIn(got.format(NAMES[allowed]), out)
                if '{}' in got:
                    self.assertNotIn(got.format(NAMES[denied]), out)
                else:
                    self.assertEqual(out.count(got), 1, out)
                self.assertRegex(out, refused.format(denied.replace('.', r'\.')))

    # --- the web ---

    def test_no_proxy_is_set(self):
        self.assertEqual(self.inside('sh', '-c', 'env | grep -i proxy', allow=['good.example']), '')

    def test_curl(self):
        self.need('curl')
        self.assert_reaches_what_is_allowed('sh', '-c', CURL, 'sh', refused=r'(curl: \(6\) Could not resolve host: {}\n){{2}}')

    def test_curl_by_each_family(self):
        """Inside a name has addresses of both families, whatever it has outside."""
        self.need('curl')
        for family, mark in ('-4', '.'), ('-6', ':'):
            for name, where in (('v4.example', world.GOOD4), ('v6.example', world.GOOD6)):
                with self.subTest(name, family=family):
                    argv = ['curl', '-sS', family, '-w', '%{remote_ip}', '--cacert', 'ca.pem', 'https://%s/' % name]
                    served, _, address = self.inside(*argv, allow=[name]).partition('\n')
                    self.assertEqual(served, 'served at ' + where)
                    self.assertIn(mark, address)
                    done = self.sandbox('curl', '-sS', family, 'https://%s/' % name, options=self.allowing('good.example'))
                    self.assertEqual((done.code, done.out), (6, ''))

    def test_curl_by_address(self):
        """What no rule allows is reset once it is connected, whatever the client says of the name. curl takes an early reset for no connection."""
        self.need('curl')
        for argv in (['https://%s/' % world.OTHER4], ['http://[%s]/' % world.OTHER6],
                     ['--resolve', 'good.example:443:' + world.OTHER4, 'https://good.example/']):
            with self.subTest(argv):
                done = self.sandbox('curl', '-sSk', *argv, options=self.allowing('good.example'))
                self.assertIn(done.code, (7, 35, 56), done)
                self.assertEqual(done.out, '')

    def test_wget(self):
        self.need('wget')
        self.assert_reaches_what_is_allowed('sh', '-c', WGET, 'sh', refused='unable to resolve host address .{}')

    def test_node_fetch(self):
        self.need('node')
        self.assert_reaches_what_is_allowed('node', '-e', NODE_FETCH, env=['NODE_EXTRA_CA_CERTS=' + self.path('ca.pem')],
                                            refused='{}: fetch failed: ENOTFOUND')

    def test_node_websocket(self):
        self.need('node')
        own = ['--experimental-websocket'] if subprocess.run([find('node'), '--experimental-websocket', '-e', '0'], stderr=subprocess.DEVNULL).returncode == 0 else []
        self.assert_reaches_what_is_allowed('node', *own, '-e', NODE_WEBSOCKET, env=['NODE_EXTRA_CA_CERTS=' + self.path('ca.pem')], refused='{}: ')

    def test_python(self):
        self.assert_reaches_what_is_allowed('python3', '-c', PYTHON, refused=r'({0} .*Name or service not known[^\0]*){{2}}')

    def test_java(self):
        self.need('java', 'keytool')
        subprocess.run([find('keytool'), '-importcert', '-noprompt', '-alias', 'ca', '-file', self.path('ca.pem'), '-keystore', self.path('trust.p12'),
                        '-storepass', 'changeit'], check=True, stderr=subprocess.DEVNULL)
        yett.write(self.path('Main.java'), JAVA)
        self.assert_reaches_what_is_allowed('java', '-Djavax.net.ssl.trustStore=' + self.path('trust.p12'), '-Djavax.net.ssl.trustStorePassword=changeit',
                                            'Main.java', refused='{}: java.net.ConnectException.*UnresolvedAddressException')

    def test_go(self):
        """With the resolver that is Go's own, and with the one of the C library."""
        self.need('go')
        yett.write(self.path('main.go'), GO)
        done = self.service.run(self.alice, 'go', 'build', '-o', self.alice.home + '/client', self.path('main.go'),
                                env={'GO111MODULE': 'off', 'GOCACHE': self.alice.home + '/cache'})
        self.assertEqual(done.code, 0, done)
        shutil.copy(self.alice.home + '/client', self.path('client'))
        for resolver in 'go', 'cgo':
            with self.subTest(resolver):
                self.assert_reaches_what_is_allowed(self.path('client'), env=['SSL_CERT_FILE=' + self.path('ca.pem'), 'GODEBUG=netdns=' + resolver],
                                                    refused='lookup {}.*no such host')

    # --- git ---

    def make_repository(self):
        self.need('git')
        folder = os.path.join(self.served, 'git', 'answer')
        if not os.path.isdir(folder):
            os.makedirs(folder)
            yett.write(folder + '/file', 'forty-two\n')
            for argv in (['init', '-q'], ['add', 'file'], ['-c', 'user.name=A', '-c', 'user.email=a@b', 'commit', '-qm', 'first']):
                subprocess.run(['git', '-C', folder, *argv], check=True, env={'PATH': PATH, 'HOME': '/nonexistent'})
        return folder

    def test_git_over_https(self):
        self.make_repository()
        self.assert_reaches_what_is_allowed('sh', '-c', GIT, 'https://%s/git/answer', got='forty-two', refused='Could not resolve host: {}')

    def test_git_over_ssh(self):
        self.need('ssh', 'sshd')
        folder = self.make_repository()
        for name in 'key', 'host':
            subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', self.path(name)], check=True, stdin=subprocess.DEVNULL)
            self.own(name)
        yett.write(self.path('known'), ''.join('[%s]:2222 %s' % (name, yett.read(self.path('host.pub'))) for name in NAMES))
        yett.write(self.path('sshd.conf'), 'Port 2222\nHostKey {0}/host\nAuthorizedKeysFile {0}/key.pub\nPidFile none\nUsePAM no\nStrictModes no\n'
                   'SetEnv GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=*\n'.format(self.share))
        # As the user: then it needs neither a folder of its own nor a password that is not locked.
        sshd = world.outside('setpriv', '--reuid', str(self.alice.uid), '--regid', str(self.alice.gid), '--clear-groups', find('sshd'), '-D', '-e',
                             '-f', self.path('sshd.conf'), stderr=subprocess.PIPE)
        self.addCleanup(self.end, sshd)
        while b'Server listening on ::' not in (line := sshd.stderr.readline()):
            self.assertTrue(line, 'sshd ended')
        self.assert_reaches_what_is_allowed('sh', '-c', GIT, 'ssh://%s@%%s:2222%s' % (self.alice.name, folder), got='forty-two',
                                            refused='Could not resolve hostname {}')

    # --- databases and packages ---

    def test_psql(self):
        self.need('psql')
        programs = glob.glob('/usr/lib/postgresql/*/bin/initdb')
        if programs:
            self.start_postgres(os.path.dirname(programs[-1]))
        else:
            self.serve(POSTGRES, self.path('server.pem'), self.path('server.key'))
        self.assert_reaches_what_is_allowed('sh', '-c', PSQL, self.alice.name, got='{}\n', refused='could not translate host name "{}"')

    def start_postgres(self, programs):
        data = self.alice.home + '/data'
        as_alice = ['setpriv', '--reuid', str(self.alice.uid), '--regid', str(self.alice.gid), '--clear-groups']
        subprocess.run([*as_alice, programs + '/initdb', '-D', data, '--no-sync', '-A', 'trust', '--locale=C'], check=True, stdout=subprocess.DEVNULL,
                       stdin=subprocess.DEVNULL, cwd=self.alice.home)
        self.alice.write('data/pg_hba.conf', 'hostssl all all all trust\n', mode=0o600)
        for name in 'server.pem', 'server.key':
            self.alice.write('data/' + name, yett.read(self.path(name)), mode=0o600)
        server = world.outside(*as_alice, programs + '/postgres', '-D', data, '-c', 'listen_addresses=*', '-c', 'ssl=on', '-c', 'ssl_cert_file=server.pem',
                               '-c', 'ssl_key_file=server.key', '-c', 'unix_socket_directories=', stderr=subprocess.PIPE, cwd=self.alice.home)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        while b'ready to accept connections' not in (line := server.stderr.readline()):
            self.assertTrue(line, 'postgres ended')

    def test_npm(self):
        self.need('npm', 'node')
        folder = os.path.join(self.served, 'npm')
        os.mkdir(folder)
        self.tar(folder + '/answer-1.0.0.tgz', {'package/package.json': '{"name": "answer", "version": "1.0.0", "main": "answer.js"}',
                                                'package/answer.js': 'module.exports = "forty-two";\n'})
        with open(folder + '/answer-1.0.0.tgz', 'rb') as file:
            integrity = 'sha512-' + base64.b64encode(hashlib.sha512(file.read()).digest()).decode()
        # npm asks for the tarball at the registry that it was told, in place of the one that its metadata usually name.
        yett.write(folder + '/answer', json.dumps({'name': 'answer', 'dist-tags': {'latest': '1.0.0'}, 'versions': {'1.0.0': {
            'name': 'answer', 'version': '1.0.0', 'main': 'answer.js',
            'dist': {'tarball': 'https://registry.npmjs.org/npm/answer-1.0.0.tgz', 'integrity': integrity}}}}))
        self.assert_reaches_what_is_allowed('sh', '-c', NPM, 'sh', got='forty-two', refused='ENOTFOUND.*{}')

    @staticmethod
    def tar(path, files):
        with tarfile.open(path, 'w:gz') as tar:
            for name, text in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(text), 0o644
                tar.addfile(entry, io.BytesIO(text.encode()))

    def test_apt(self):
        self.need('apt-get', 'dpkg-deb')
        folder, tree = os.path.join(self.served, 'apt'), self.service.run_.path('tree-' + type(self).__name__)
        os.makedirs(tree + '/DEBIAN')
        os.mkdir(folder)
        control = 'Package: answer\nVersion: 1\nArchitecture: all\nMaintainer: A <a@b>\nDescription: an answer\n'
        yett.write(tree + '/DEBIAN/control', control)
        yett.write(tree + '/answer', 'forty-two\n')
        package = folder + '/answer_1_all.deb'
        subprocess.run(['dpkg-deb', '--root-owner-group', '--build', tree, package], check=True, stdout=subprocess.DEVNULL)
        with open(package, 'rb') as file:
            data = file.read()
        yett.write(folder + '/Packages', '%sFilename: ./answer_1_all.deb\nSize: %d\nSHA256: %s\n' % (control, len(data), hashlib.sha256(data).hexdigest()))
        self.assert_reaches_what_is_allowed('sh', '-c', APT, 'sh', got='forty-two', refused="Could not resolve '{}'")

    # --- servers of the payload's own ---

    def test_servers_inside_are_reached_also_at_a_port_that_is_allowed_outside(self):
        self.need('curl')
        with contextlib.ExitStack() as stack:
            server = world.serve(8080)
            stack.callback(server.wait)
            stack.callback(server.kill)
            out = self.inside('python3', '-c', OWN_SERVERS, '127.0.0.1', '[::1]', 'localhost', 'good.example', allow=['good.example:8080'])
        self.assertEqual(out, 'mine\n' * 3 + 'served at %s\n' % world.GOOD4)


class Rootless(Clients):
    """The same without root: rules have ports there."""

    service_class = yett.Rootless
    ports = (':80', ':443', ':2222', ':5432')
    test_no_proxy_is_set = None


if __name__ == '__main__':
    world.enter()
    yett.main()
