# SPDX-License-Identifier: Apache-2.0
"""
SELinux labels for what the tests make themselves: where the module of selinux/ is loaded, a copy of a program that has another
label would not get into its domain, and the tests would show nothing of the policy.
"""
import os

# What is installed has these from selinux/yett.fc.
PROGRAMS = {'yett-helper': 'yett_helper_exec_t', 'yett-decider': 'yett_decider_exec_t', 'yett-decoder': 'yett_decoder_exec_t', 'yett-policy': 'yett_policy_exec_t',
            'yett-closer': 'yett_closer_exec_t', 'yett-audit': 'yett_audit_exec_t', 'yett-reader': 'yett_reader_exec_t', 'yett-reader-nss': 'yett_reader_exec_t', 'yett-front': 'yett_front_exec_t',
            'yett-dialer': 'yett_dialer_exec_t', 'yett-resolver': 'yett_dialer_exec_t',
            'yett-init': 'yett_init_exec_t'}


def is_loaded():
    """Whether the kernel knows the module's types: it checks a context that is written there."""
    try:
        with open('/sys/fs/selinux/context', 'wb', buffering=0) as file:
            file.write(b'system_u:object_r:yett_etc_t:s0\0')
        return True
    except OSError:
        return False


def label(path, kind):
    """Gives a file of ours this type, where there are such types."""
    if is_loaded():
        os.setxattr(path, 'security.selinux', b'system_u:object_r:%s:s0\0' % kind.encode())


def label_program(path):
    if os.path.basename(path) in PROGRAMS:
        label(path, PROGRAMS[os.path.basename(path)])
