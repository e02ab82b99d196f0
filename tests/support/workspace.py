"""What tests of copy-on-write sandboxes share: a source, a place for stores, and how to look at all of a tree."""
import hashlib
import json
import os
import stat
import tempfile

import yett


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
