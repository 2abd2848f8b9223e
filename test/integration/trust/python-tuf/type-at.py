"""Runs a program at a terminal of its own, types an answer at each question, and prints all that the terminal showed.

usage: type-at.py QUESTION ANSWER [QUESTION ANSWER ...] -- PROGRAM ARGUMENT ...
"""

import os
import pty
import sys

end = sys.argv.index("--")
words, program = sys.argv[1:end], sys.argv[end + 1 :]
questions = list(zip(words[::2], words[1::2]))
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(program[0], program)
shown, looked = b"", 0
while True:
    try:
        data = os.read(terminal, 4096)
    except OSError:
        break
    if not data:
        break
    shown += data
    if questions and questions[0][0].encode() in shown[looked:]:
        looked = len(shown)
        os.write(terminal, questions.pop(0)[1].encode() + b"\r")
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
