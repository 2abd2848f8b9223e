import { Args } from '@oclif/core';
import { EXIT_CODES } from './exit-codes.ts';
import { FleetCommand } from './fleet-command.ts';

type Row = { readonly exit: number; readonly meaning: string; readonly who: string };

/** Of a verb or of the program, the command line is turned into `--help` before it comes here. */
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
