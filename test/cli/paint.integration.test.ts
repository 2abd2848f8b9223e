import { describe, expect, it } from 'vitest';
import { findProgram } from '../harness/run/find-program.ts';
import { programFile } from '../harness/run/program-file.ts';
import { runCommand } from '../harness/run/run-command.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

const RED = '\u001b[31m';
const LINE = `${process.execPath} ${programFile('exporter')} verify /dev/null/none`;

/** A command with a terminal as its output, from util-linux's script. Variables of the caller (CI, TMUX, NO_COLOR) would change what Node takes the terminal for. */
const onTerminal = async (env: NodeJS.ProcessEnv): Promise<string> => {
  await using folder = await temporaryDirectory('paint');
  const { stdout } = await runCommand(['script', '-qec', LINE, '/dev/null'], {
    cwd: folder.path,
    env: { PATH: process.env['PATH'], TERM: 'xterm-256color', ...env },
  });
  return stdout;
};

describe.skipIf(findProgram('script') === undefined)('colours', () => {
  it('mark the code of an error on a terminal', async () => {
    expect(await onTerminal({})).toContain(`${RED}MEDIUM_MISSING`);
  });

  it('are left out with NO_COLOR', async () => {
    const said = await onTerminal({ NO_COLOR: '1' });
    expect(said).toContain('fleet-export: MEDIUM_MISSING: ');
    expect(said).not.toContain('\u001b');
  });

  it('are left out where the output is not a terminal', async () => {
    const { stderr } = await runCommand(LINE.split(' '), { env: { ...process.env, TERM: 'xterm-256color' } });
    expect(stderr).toContain('fleet-export: MEDIUM_MISSING: ');
    expect(stderr).not.toContain('\u001b');
  });
});
