"""What the hostile tests share: tests/support/yett.py, more programs, and cases that are made from tables."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, 'support'))
import yett

yett.STAGED += ('tests/hostile/client', 'tests/hostile/keep', 'tests/hostile/attack', 'tests/hostile/fake-decoder', 'tests/hostile/fake-init',
                'tests/hostile/yett-helper-faults', 'tests/hostile/yett-init-faults', 'tests/hostile/yett-init-layers',
                'tests/hostile/preload.so')


def program(name):
    return yett.run_of_process().path('tests/hostile/' + name)


def add_cases(cls, prefix, rows, run):
    """One test of the class for each row, so that each is counted: run(self, *row)."""
    for row in rows:
        name = 'test_%s_%s' % (prefix, ''.join(c if c.isalnum() else '_' for c in str(row[0])))
        assert not hasattr(cls, name), name
        setattr(cls, name, lambda self, row=row: run(self, *row))
