import { Args } from '@oclif/core';
import { FleetCommand } from './fleet-command.ts';
import type { ExitCode } from '#bundles/errors';

/** Meaning of every exit code, and who acts on it. A test compares it with the table in docs/errors.md. */
export const EXIT_CODES: Readonly<Record<ExitCode, { readonly meaning: string; readonly who: string }>> = {
  0: { meaning: 'done', who: 'nobody' },
  1: { meaning: 'our own fault, or stopped by a signal', who: 'run it again; report it if it stays' },
  2: { meaning: 'the command line or the configuration is wrong', who: 'the caller' },
  3: { meaning: 'the input is wrong: YAML, template, file', who: 'the platform or application team' },
  4: {
    meaning: 'refused: a signature, digest, floor or format',
    who: 'nobody: it cannot be overridden; find out where the file came from',
  },
  5: { meaning: 'something is missing or out of reach', who: 'bring it' },
  6: {
    meaning: 'the machine could not do it: disk, permission, device',
    who: 'the administrator of the machine',
  },
  7: {
    meaning: 'accepted, but a package failed and was rolled back or stays as it was',
    who: 'the application team',
  },
  8: { meaning: 'done, but something is held, differs or needs a look', who: 'a person, not at once' },
};

type Row = { readonly exit: number; readonly meaning: string; readonly who: string };

/** Help of a verb or of the program. run-program.ts turns `help <verb>` into `<verb> --help` first. */
export default class HelpCommand extends FleetCommand {
  static override summary = 'Show help for a verb, or the table of exit codes';
  static override examples = ['<%= config.bin %> help completion', '<%= config.bin %> help exit-codes'];
  static override args = {
    about: Args.string({ description: 'A verb, or exit-codes', options: ['exit-codes'] }),
  };

  async run(): Promise<{ readonly exitCodes: readonly Row[] }> {
    await this.parse(HelpCommand);
    const rows = Object.entries(EXIT_CODES).map(([exit, it]) => ({ exit: Number(exit), ...it }));
    const width = Math.max(...rows.map(({ meaning }) => meaning.length));
    this.log(`EXIT  ${'MEANING'.padEnd(width)}  WHO ACTS`);
    for (const { exit, meaning, who } of rows) this.log(`${exit}     ${meaning.padEnd(width)}  ${who}`);
    return { exitCodes: rows };
  }
}
