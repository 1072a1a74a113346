"""Test of when the server of commands ends."""

import os
import subprocess
import sys

import psutil
from shared_sandboxes import has_ended


def test_a_process_whose_exit_code_nobody_has_read_has_ended():
    with subprocess.Popen([sys.executable, "-Sc", "input()"], stdin=subprocess.PIPE) as started:
        process = psutil.Process(started.pid)
        assert not has_ended(process)
        started.stdin.write(b"\n")
        started.stdin.close()
        os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)  # it leaves the exit code
        assert has_ended(process)
        started.wait()
        assert has_ended(process)
