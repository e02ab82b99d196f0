"""Runs tests/hostile/client, a client that lies, as an ordinary user against a service; it writes TAP itself."""
import os
import subprocess
import sys

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
  max_sandboxes = 16
}
'''


def main():
    if yett.missing():
        print('1..0 # SKIP ' + yett.missing())
        return 0
    run = yett.run_of_process()
    allowed = run.path('allowed')
    os.makedirs(allowed + '/deep/er')
    os.makedirs(allowed + '/shared')
    os.chmod(allowed + '/shared', 0o1777)
    seed = os.urandom(32).hex()
    with yett.Service(before=POLICY % allowed) as service:
        user = service.user(1)
        environment = {'YETT_TEST_SEED': seed, 'YETT_TEST_ALLOWED': allowed, 'CMOCKA_MESSAGE_OUTPUT': 'TAP',
                       'YETT_TEST_VECTORS': os.path.join(yett.SOURCE, 'protocol', 'vectors')}
        environment['YETT_TEST_VECTORS'] = run.path('vectors')
        subprocess.run(['cp', '-r', os.path.join(yett.SOURCE, 'protocol', 'vectors'), run.path('vectors')], check=True)
        key = service.run(user, hostile.program('client'), '--key', env=environment)
        yett.write(service.keys + '/hostile.pub', key.out)
        code = service.popen(user, hostile.program('client'), env=environment).wait()
        if code:
            sys.stderr.write(service.log_text()[-4000:])
    return code


if __name__ == '__main__':
    sys.exit(main())
