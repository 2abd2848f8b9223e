import { formatBytes } from '#cli/format-bytes';
import { confirmPrune } from '../apply/operator/confirm-prune.ts';
import type { PackageResult } from '../apply/package-result.ts';
import { pruneCopies } from '../apply/prune-copies.ts';
import type { Pruned } from '../model/target.ts';
import { AgentCommand } from './agent-command.ts';
import { exitCodeOf, showPackages } from './show-packages.ts';

export default class Prune extends AgentCommand {
  static override summary = 'Remove all packages that left the bundle.';
  static override description =
    'A release that would remove more packages than the prune budget, or all of them, waits for a confirmation: a mistake in a ' +
    'policy looks the same. So does an update that removes very many objects of one package. "status" lists them. This confirms only the desired release. ' +
    'It also removes copies of replaced files that no package will restore.';
  static override examples = ['<%= config.bin %> prune'];

  async run(): Promise<{ readonly packages: readonly PackageResult[]; readonly copies: Pruned }> {
    const { flags } = await this.parse(Prune);
    const { packages, copies } = await this.changing(flags, async (agent) => ({
      packages: await confirmPrune(agent),
      copies: await pruneCopies(agent, 'all'),
    }));
    this.print(packages.length === 0 ? 'There is nothing to remove.' : showPackages(packages));
    if (copies.files > 0)
      this.log(`Removed ${copies.files} copies of replaced files (${formatBytes(copies.bytes)}).`);
    process.exitCode = exitCodeOf(packages);
    return { packages, copies };
  }
}
