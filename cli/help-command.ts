import { Args } from '@oclif/core';
import { FleetCommand } from './fleet-command.ts';
import type { ExitCode } from '#bundles/errors';

/** Meaning of every exit code, and who acts on it. A test compares it with the table in docs/errors.md. */
export const EXIT_CODES: Readonly<Record<ExitCode, { readonly meaning: string; readonly who: string }>> = {
  0: { meaning: 'success', who: 'nobody' },
  1: {
    meaning: 'a fault of the program, or stopped by a signal',
    who: 'repeat the command; report the fault if it remains',
  },
  2: { meaning: 'the command line or the configuration is wrong', who: 'the caller' },
  3: { meaning: 'the input is wrong: YAML, template, file', who: 'the platform or application team' },
  4: {
    meaning: 'refused: a signature, digest, accepted version or format',
    who: 'nobody can override it; find out where the file came from',
  },
  5: { meaning: 'something is missing or unreachable', who: 'provide it, or restore the connection' },
  6: {
    meaning: 'the machine failed: disk, permission, device',
    who: 'the administrator of the machine',
  },
  7: {
    meaning: 'accepted, but a package failed; it was rolled back or not changed',
    who: 'the application team',
  },
  8: { meaning: 'success, but something is held, differs or needs attention', who: 'a person, not urgently' },
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
    this.print({
      head: ['EXIT', 'MEANING', 'WHO ACTS'],
      rows: rows.map(({ exit, meaning, who }) => [String(exit), meaning, who]),
    });
    return { exitCodes: rows };
  }
}
