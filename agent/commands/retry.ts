import { Args } from '@oclif/core';
import type { PackageResult } from '../apply/package-result.ts';
import { retryPackages } from '../apply/operator/retry-packages.ts';
import { AgentCommand } from './agent-command.ts';
import { exitCodeOf, showPackages } from './show-packages.ts';

export default class Retry extends AgentCommand {
  static override summary = 'Retry failed packages after their cause was repaired.';
  static override examples = [
    '<%= config.bin %> retry',
    '<%= config.bin %> retry kiosk',
    '<%= config.bin %> retry kiosk label-printer',
  ];
  static override args = {
    assignment: Args.string({ multiple: true, description: 'Only these packages' }),
  };

  async run(): Promise<{ readonly packages: readonly PackageResult[] }> {
    const { args, flags } = await this.parse(Retry);
    const packages = await this.changing(flags, (agent) => retryPackages(agent, args.assignment));
    this.print(packages.length === 0 ? 'There is nothing to try again.' : showPackages(packages));
    process.exitCode = exitCodeOf(packages);
    return { packages };
  }
}
