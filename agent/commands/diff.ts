import { Args } from '@oclif/core';
import { lookAtDrift, type PackageDrift } from '../observe/observe.ts';
import { AgentCommand, openToRead } from './agent-command.ts';
import { table } from './table.ts';

export default class Diff extends AgentCommand {
  static override summary =
    'Compare live state with the bundle. Changes nothing; exit code 8 when something differs or cannot be checked.';
  static override examples = [
    '<%= config.bin %> diff',
    '<%= config.bin %> diff kiosk',
    '<%= config.bin %> diff --json',
  ];
  static override args = {
    assignment: Args.string({ multiple: true, description: 'Only these packages' }),
  };

  async run(): Promise<{ readonly packages: readonly PackageDrift[]; readonly drifted: boolean }> {
    const { flags, args } = await this.parse(Diff);
    const packages = await this.reading(flags, (agent) => lookAtDrift(agent, args.assignment), openToRead);
    const rows = packages.flatMap(({ assignment, drift, unchecked = [], error }) => [
      ...(error ? [[assignment, 'unreadable', `${error.code}: ${error.message}`]] : []),
      ...[...drift, ...unchecked].map(({ what, message }) => [assignment, what, message]),
    ]);
    this.logText(
      rows.length === 0
        ? packages.length === 0
          ? 'Nothing was compared: this machine has no packages.'
          : `No difference in ${packages.length} ${packages.length === 1 ? 'package' : 'packages'}.`
        : table([['PACKAGE', 'WHAT', 'DIFFERENCE'], ...rows]),
    );
    if (rows.length > 0) process.exitCode = 8;
    return {
      packages,
      drifted: packages.some(({ drift, error }) => error !== undefined || drift.length > 0),
    };
  }
}
