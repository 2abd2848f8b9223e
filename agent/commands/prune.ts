import { confirmPrune } from '../apply/confirm-prune.ts';
import type { PackageResult } from '../apply/package-result.ts';
import { AgentCommand } from './agent-command.ts';
import { exitCodeOf, showPackages } from './show-packages.ts';

export class Prune extends AgentCommand {
  static override summary = 'Remove the packages that left the bundle, however many they are.';
  static override description =
    'A release that would remove more packages than the prune budget, or all of them, waits for a person: a mistake in a ' +
    'policy looks just like it. See "status" for what would go. This confirms the release that is wanted now, and no other.';
  static override examples = ['<%= config.bin %> prune'];

  async run(): Promise<{ readonly packages: readonly PackageResult[] }> {
    const { flags } = await this.parse(Prune);
    const packages = await this.changing(flags, confirmPrune);
    this.log(packages.length === 0 ? 'Nothing is to be removed.' : showPackages(packages));
    process.exitCode = exitCodeOf(packages);
    return { packages };
  }
}
