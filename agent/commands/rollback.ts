import { Args, Flags } from '@oclif/core';
import type { PackageResult } from '../apply/package-result.ts';
import { rollBackPackage } from '../apply/operator/roll-back-package.ts';
import { undoRollback } from '../apply/operator/undo-rollback.ts';
import { AgentCommand } from './agent-command.ts';
import { exitCodeOf, showPackages } from './show-packages.ts';

export default class Rollback extends AgentCommand {
  static override summary = 'Roll one package back to its previous version, until the next release.';
  static override description =
    'For an emergency in which the office cannot be reached. It is reported with your name and reason, and the next release ends it; ' +
    '--undo ends it before, and applies the package of the release again.';
  static override examples = [
    '<%= config.bin %> rollback kiosk --reason "screen stays black since this morning"',
    '<%= config.bin %> rollback kiosk --undo --reason "it was the cable"',
  ];
  static override args = {
    assignment: Args.string({ required: true, description: 'Name of the package, as status shows it' }),
  };
  static override flags = {
    reason: Flags.string({ required: true, description: 'Why, for the platform team' }),
    undo: Flags.boolean({ description: 'End a rollback: apply the package of the release again' }),
  };

  async run(): Promise<PackageResult> {
    const { args, flags } = await this.parse(Rollback);
    const act = flags.undo ? undoRollback : rollBackPackage;
    const result = await this.changing(flags, (agent) => act(agent, args.assignment, flags.reason));
    this.print(showPackages([result]));
    process.exitCode = exitCodeOf([result]);
    return result;
  }
}
