# SPDX-License-Identifier: Apache-2.0
"""Runs tests/hostile/client, a client that lies, as an ordinary user against a service; it writes TAP itself."""
import os
import shutil
import sys
import tempfile

import hostile
import yett

POLICY = '''
profile "narrow" {
  extends = "default"
}
grant "narrow" {
  users = {"*"}
  profiles = {"narrow"}
  share_ro = {"%s"}
  sockets = {"/run/user/%%u/listens"}
  max_sandboxes = 64
}
'''


def main():
    if yett.missing():
        print('1..0 # SKIP ' + yett.missing())
        return 0
    run = yett.run_of_process()
    # A rule of the policy may only name what nobody else could replace, so this does not lie in /tmp.
    top = tempfile.mkdtemp(prefix='yett-test-', dir='/var/lib')
    allowed, elsewhere = top + '/allowed', top + '/elsewhere'
    for path, mode in ((top, 0o755), (allowed, 0o755), (allowed + '/deep', 0o755), (allowed + '/deep/er', 0o755),
                       (allowed + '/shared', 0o1777), (elsewhere, 0o1777)):
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
    try:
        return serve(run, allowed, elsewhere)
    finally:
        shutil.rmtree(top)


def serve(run, allowed, elsewhere):
    seed = os.urandom(32).hex()
    with yett.Service(before=POLICY % allowed) as service:
        user = service.user(1)
        sockets = '/run/user/%d' % user.uid
        os.mkdir(sockets, 0o700)
        os.chown(sockets, user.uid, user.gid)
        environment = {'YETT_TEST_SEED': seed, 'YETT_TEST_ALLOWED': allowed, 'YETT_TEST_SOCKETS': sockets,
                       'YETT_TEST_ELSEWHERE': elsewhere, 'CMOCKA_MESSAGE_OUTPUT': 'TAP',
                       'YETT_TEST_VECTORS': run.path('vectors')}
        shutil.copytree(os.path.join(yett.SOURCE, 'protocol', 'vectors'), run.path('vectors'))
        key = service.run(user, hostile.program('client'), '--key', env=environment)
        yett.write(service.keys + '/hostile.pub', key.out)
        code = service.popen(user, hostile.program('client'), env=environment).wait()
        shutil.rmtree(sockets)
        if code:
            sys.stderr.write(service.log_text()[-4000:])
    return code


if __name__ == '__main__':
    sys.exit(main())
