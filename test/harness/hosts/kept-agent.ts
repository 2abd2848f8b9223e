import { askLines } from '../run/answered-lines.ts';
import type { CommandLine } from '../run/answer-lines.ts';
import { testProgramOnHost } from '../run/program-file.ts';
import type { Outcome } from '../run/run-command.ts';
import type { FactoryHost } from './factory-host.ts';

const lines = testProgramOnHost('test/harness/run/agent-lines.ts');

/** What a host needs bound for keptAgent. */
export const KEPT_AGENT_BIND = lines.bind;

const ENVIRONMENT = {
  HOME: '/root',
  LANG: 'C.UTF-8',
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
};

/**
 * Runs command lines of fleet-agent on a host, one after the other, in one process until the host goes down: as kept-program.ts does on
 * this machine.
 */
export const keptAgent = (host: FactoryHost, env: NodeJS.ProcessEnv = {}) => {
  const ask = askLines<CommandLine, Outcome>(() => host.open(['/usr/local/bin/node', lines.file]));
  return async (...words: readonly string[]): Promise<Outcome> => {
    const asked = await ask({ cwd: '/root', words, env: { ...ENVIRONMENT, ...env } });
    return 'noAnswer' in asked ? { stdout: '', ...asked.noAnswer } : asked.answer;
  };
};
