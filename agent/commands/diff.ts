import { formatCount } from '#bundles/format-count';
import { Args, Flags } from '@oclif/core';
import { lookAtDrift, type PackageDrift } from '../observe/observe.ts';
import { type NextChanges, planNext } from '../apply/plan-next.ts';
import { AgentCommand, openToRead } from './agent-command.ts';
import { showNext } from './show-next.ts';

export default class Diff extends AgentCommand {
  static override summary =
    'Compare live state with the bundle. Changes nothing; exit code 8 when something differs or cannot be checked.';
  static override description =
    'With --release next, shows what the accepted release would still change here: during a hold, outside of windows, or for packages ' +
    'that wait for a confirmation.';
  static override examples = [
    '<%= config.bin %> diff',
    '<%= config.bin %> diff kiosk',
    '<%= config.bin %> diff --release next',
    '<%= config.bin %> diff --json',
  ];
  static override args = {
    assignment: Args.string({ multiple: true, description: 'Only these packages' }),
  };

  static override flags = {
    release: Flags.string({
      options: ['current', 'next'],
      default: 'current',
      description: 'The applied packages, or those that the accepted release has still to apply',
    }),
  };

  async run(): Promise<
    | { readonly packages: readonly PackageDrift[]; readonly drifted: boolean }
    | { readonly next: readonly NextChanges[] }
  > {
    const { flags, args } = await this.parse(Diff);
    if (flags.release === 'next') {
      const next = await this.reading(flags, (agent) => planNext(agent, args.assignment), openToRead);
      this.print(next.length === 0 ? 'Nothing is waiting: the accepted release runs here.' : showNext(next));
      if (next.length > 0) process.exitCode = 8;
      return { next };
    }
    const packages = await this.reading(flags, (agent) => lookAtDrift(agent, args.assignment), openToRead);
    const rows = packages.flatMap(({ assignment, drift, unchecked = [], error }) => [
      ...(error ? [[assignment, 'unreadable', `${error.code}: ${error.message}`]] : []),
      ...[...drift, ...unchecked].map(({ what, message }) => [assignment, what, message]),
    ]);
    this.print(
      rows.length === 0
        ? describeNoDifference(packages.length)
        : { head: ['PACKAGE', 'WHAT', 'DIFFERENCE'], rows },
    );
    if (rows.length > 0) process.exitCode = 8;
    return {
      packages,
      drifted: packages.some(({ drift, error }) => error !== undefined || drift.length > 0),
    };
  }
}

const describeNoDifference = (packages: number): string =>
  packages === 0
    ? 'Nothing was compared: this machine has no packages.'
    : `No difference in ${formatCount(packages, 'package')}.`;
