import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { askLines } from '../run/answered-lines.ts';
import type { Outcome } from '../run/run-command.ts';

/** Runs commands beside each other: `[id, [argv, input]]` in, `[id, [code, stdout, stderr]]` out. */
const PROGRAM = `
import base64, json, subprocess, sys, threading
lock = threading.Lock()
def run(id, argv, data):
    try:
        ended = subprocess.run(argv, input=base64.b64decode(data), capture_output=True)
        code = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode
        answer = [code, ended.stdout.decode('utf8', 'replace'), ended.stderr.decode('utf8', 'replace')]
    except OSError as error:
        answer = [127, '', str(error) + '\\n']
    with lock:
        print(json.dumps([id, answer]), flush=True)
for line in sys.stdin:
    id, (argv, data) = json.loads(line)
    threading.Thread(target=run, args=(id, argv, data), daemon=True).start()
`;

/** What a host starts for it. */
export const SHELL_ARGV = ['/usr/bin/python3', '-I', '-S', '-c', PROGRAM] as const;

/**
 * Runs commands by one small process on a host: to enter its namespaces for each, from a large process, takes five times the CPU time.
 * Where the host goes down, the outcome is that of the process.
 */
export const openHostShell = (start: (argv: readonly string[]) => ChildProcessWithoutNullStreams) => {
  const ask = askLines<readonly [argv: readonly string[], input: string], [number, string, string]>(() =>
    start(SHELL_ARGV),
  );
  return async (argv: readonly string[], input: string | Uint8Array = ''): Promise<Outcome> => {
    const asked = await ask([argv, Buffer.from(input).toString('base64')]);
    if ('noAnswer' in asked) return { stdout: '', ...asked.noAnswer };
    const [code, stdout, stderr] = asked.answer;
    return { code, stdout, stderr };
  };
};
