# SPDX-License-Identifier: Apache-2.0
# Runs pieces of code one after the other in one namespace.
#
# Inside a sandbox, with whatever the code has. A request is a line of JSON on descriptor 3: code, stdin, args, env, cwd, name, nonce. Each
# piece has its own stdin, and writes to descriptors 1 and 2 itself. When it is over, its outputs are flushed and the marker is written to
# both; the one on 1 is followed by a line of JSON: what came of it.
import _ast  # what ast itself brings of the parser, and nothing else: the first answer waits for all of this
import builtins
import io
import json
import os
import resource
import signal
import sys
import time
import types

TEXT_MAX = 100000  # characters of a value or a traceback


class Driver:
    def __init__(self):
        self.pid = os.getpid()
        # The code may close or replace 1 and 2; these are put back for each piece.
        self.outputs = [os.dup(1), os.dup(2)]
        self.requests = open(os.dup(3), 'rb', buffering=65536)
        os.close(3)
        # Functions that are used after code ran, which may have replaced them where others find them.
        self.write, self.dup2, self.getpid, self._exit = os.write, os.dup2, os.getpid, os._exit
        self.sources = {}  # as linecache, by which tracebacks show lines, has them
        self.module = types.ModuleType('__main__')
        self.module.__dict__['__builtins__'] = builtins
        sys.modules['__main__'] = self.module
        sys.path[0] = ''
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def serve(self):
        for line in self.requests:
            request = json.loads(line)
            self.open_streams(request['stdin'])
            before, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
            outcome = self.run(request)
            wall = time.monotonic() - began
            self.flush()
            if self.getpid() != self.pid:  # a child that the code has forked, and that came to the end of its piece
                self._exit(outcome['status'] & 255)
            after = resource.getrusage(resource.RUSAGE_SELF)
            outcome.update(memory=after.ru_maxrss * 1024, user=after.ru_utime - before.ru_utime,
                           system=after.ru_stime - before.ru_stime, wall=wall)
            marker = b'\x1e' + request['nonce'].encode() + b'\x1e'
            self.write_all(self.outputs[1], marker)
            self.write_all(self.outputs[0], marker + json.dumps(outcome).encode() + b'\n')

    def write_all(self, fd, data):
        while data:
            data = data[self.write(fd, data):]

    def open_streams(self, text):
        fd = os.memfd_create('stdin') if text else os.open('/dev/null', os.O_RDONLY | os.O_CLOEXEC)
        if text:
            self.write_all(fd, text.encode('utf-8', 'surrogatepass'))
            os.lseek(fd, 0, os.SEEK_SET)
        if fd == 0:  # the code has closed it
            os.set_inheritable(0, True)
        else:
            self.dup2(fd, 0)
            os.close(fd)
        for number in (1, 2):
            self.dup2(self.outputs[number - 1], number)
        sys.stdin = open(0, encoding='utf-8', errors='surrogateescape', closefd=False)
        sys.stdout, sys.stderr = self.open_output(1, 'surrogateescape'), self.open_output(2, 'backslashreplace')

    def open_output(self, fd, errors):
        """As with python -u: what is printed is written."""
        return io.TextIOWrapper(io.FileIO(fd, 'w', closefd=False), 'utf-8', errors, write_through=True)

    def flush(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # whatever the code has put there
                pass

    def run(self, request):
        name, code = request['name'], request['code']
        sys.argv = [name] + request['args']
        self.sources[name] = (len(code), None, code.splitlines(True), name)
        if 'linecache' in sys.modules:
            sys.modules['linecache'].cache.update(self.sources)
        outcome = {'status': 0, 'error': None, 'value': None}
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                os.environ.update(request['env'])
                if request['cwd']:
                    os.chdir(request['cwd'])
                value = self.evaluate(code, name)
                if value is not None:
                    outcome['value'] = repr(value)[:TEXT_MAX]
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except SystemExit as end:
            if isinstance(end.code, int):
                outcome['status'] = end.code & 255
            elif end.code is not None:
                outcome['status'] = 1
                self.tell(str(end.code) + '\n')
        except BaseException as error:
            outcome['status'] = 1
            outcome['error'] = self.describe(error, name)
        return outcome

    def describe(self, error, name):
        """The traceback, from the first line of the code on; written to stderr as python does."""
        entry = error.__traceback__
        while entry and entry.tb_frame.f_code.co_filename != name:
            entry = entry.tb_next
        try:
            import linecache
            import traceback
            linecache.cache.update(self.sources)
            text = ''.join(traceback.format_exception(type(error), error, entry))
        except BaseException:  # its own __str__ fails, say
            text = type(error).__name__ + '\n'
        self.tell(text)
        return text[-TEXT_MAX:]

    def tell(self, text):
        try:
            sys.stderr.write(text)
        except BaseException:  # whatever the code has put there
            pass

    def evaluate(self, code, name):
        """As notebooks do: the value of a last expression."""
        tree = compile(code, name, 'exec', _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
        self.step(compile(tree, name, 'exec', _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True))
        return self.step(compile(_ast.Expression(last.value), name, 'eval', _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)) if last else None

    def step(self, compiled):
        value = eval(compiled, self.module.__dict__)
        if not compiled.co_flags & 0x80:  # CO_COROUTINE: there is an await at its top
            return value
        import asyncio
        return asyncio.run(value)


Driver().serve()
