# SPDX-License-Identifier: Apache-2.0
"""What tests of copy-on-write sandboxes share: a source, a place for stores, and how to look at all of a tree."""
import ctypes
import hashlib
import json
import os
import stat
import tempfile

import yett

libc = ctypes.CDLL(None, use_errno=True)


def memory_takes_attributes():
    """Whether what is changed can be kept in memory: Linux 6.6."""
    with tempfile.NamedTemporaryFile(dir='/dev/shm') as file:
        try:
            os.setxattr(file.name, 'user.yett', b'')
        except OSError:
            return False
    return True


def tree(top):
    """All that there is to know of a tree: names, kinds, owners, modes, times, links, contents, attributes."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in [''] + folders + files:
            path = os.path.join(folder, name) if name else folder
            st = os.lstat(path)
            content = ''
            if stat.S_ISREG(st.st_mode):
                with open(path, 'rb') as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            elif stat.S_ISLNK(st.st_mode):
                content = os.readlink(path)
            found[os.path.relpath(path, top)] = (st.st_mode, st.st_uid, st.st_gid, st.st_nlink, st.st_size, st.st_mtime_ns, st.st_ctime_ns,
                                                 st.st_ino, content, tuple(os.listxattr(path, follow_symlinks=False)))
    return found


def layer_paths(store, last=None):
    """The frozen layers of a store, the topmost first: all that are in use, or those of a snapshot up to `last`, which may be pending."""
    paths = []
    while last is None or len(paths) < last:
        number = len(paths) + 1
        path = next((path for path in ('%s/%s/%d' % (store, part, number) for part in (['layers', 'pending'] if last else ['layers']))
                     if os.path.isdir(path)), None)
        if not path:
            break
        paths.insert(0, path)
    return paths


def shown(store, source, last=None):
    """What an overlay of the kernel's shows of a store, or of the snapshot with that last layer: the path of each, with its mode and content."""
    layers = layer_paths(store, last) if last is not None else [store + '/upper', *layer_paths(store)]
    hidden = [store + '/hidden'] if os.path.isdir(store + '/hidden') else []
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(place + '/empty')
        os.mkdir(place + '/view')
        lower = ':'.join([*layers, *hidden, source] + ([] if layers or hidden else [place + '/empty']))
        if libc.mount(b'overlay', (place + '/view').encode(), b'overlay', 0, ('userxattr,lowerdir=' + lower).encode()) < 0:
            raise OSError(ctypes.get_errno(), 'mount', lower)
        try:
            return {path: (stat.S_IFMT(found[0]), found[0] & 0o7777, found[8]) for path, found in tree(place + '/view').items()}
        finally:
            if libc.umount2((place + '/view').encode(), 0) < 0:
                raise OSError(ctypes.get_errno(), 'umount', place)


def shown_by_names(store, source):
    """What each snapshot is of; names of layers that are not there are those of a rollback that was ended half-way."""
    names = store + '/snapshots'
    last = {name: int(os.readlink(names + '/' + name).split()[0]) for name in (os.listdir(names) if os.path.isdir(names) else []) if name[0] != '.'}
    return {name: shown(store, source, number) for name, number in last.items() if len(layer_paths(store, number)) == number}


class Workspace(yett.Case):
    def setUp(self):
        self.state = self.folder('state', mode=0o700)
        self.source = self.folder('source')
        for name, text in (('file', 'old\n'), ('gone', 'x\n'), ('moved', 'm\n')):
            self.alice.write('source/' + name, text)
        for name in ('dir', 'dir/below', 'removed', 'renamed'):
            self.alice.mkdir('source/' + name)
        self.alice.write('source/dir/below/file', 'deep\n')
        self.alice.write('source/removed/file', 'r\n')
        self.alice.write('source/renamed/file', 'n\n')

    def environment(self):
        return {'XDG_STATE_HOME': self.state}

    def works(self):
        done = self.yett('work', 'list', '--json', env=self.environment())
        self.assertEqual(done.code, 0, done)
        return json.loads(done.out)['result']['works']

    def store(self, work=None):
        return '%s/yett/work/%s' % (self.state, (work or self.works()[0])['id'])

    def cow(self, script, *options, source=None, **more):
        source = source or self.source
        return self.sandbox('sh', '-c', script, options=['--cow', source, '-C', source, *options], env=self.environment(), **more)

    def assert_cow(self, script, *options, **more):
        done = self.cow(script, *options, **more)
        self.assertEqual(done.code, 0, done)
        return done.out

    def make_store(self, *options):
        """One in which nothing was changed, which its sandbox would not have left: something was."""
        self.assert_cow('touch .made', *options)
        os.unlink(self.store() + '/upper/.made')


class Snapshots(Workspace):
    def again(self, work, script, *options):
        done = self.sandbox('sh', '-c', script, options=['--store', work, '-C', self.source, *options], env=self.environment())
        self.assertEqual(done.code, 0, done)
        return done.out

    def snapshot(self, *words, code=0, env=None):
        done = self.yett('snapshot', *words, env={**self.environment(), **(env or {})})
        self.assertEqual(done.code, code, done)
        return done
