import { Flags } from '@oclif/core';
import { releaseSite } from '../apply/operator/hold-site.ts';
import type { SiteHold } from '../store/conditions.ts';
import { AgentCommand } from './agent-command.ts';

export default class Release extends AgentCommand {
  static override summary = 'End the hold of this machine.';
  static override description =
    'Waiting releases are applied by the daemon at once, within the maintenance windows, or with "run --once". Without a hold it does nothing.';
  static override examples = [
    '<%= config.bin %> release',
    '<%= config.bin %> release --reason "batch 17 is done"',
  ];
  static override flags = {
    reason: Flags.string({ description: 'Why, for the platform team' }),
  };

  async run(): Promise<{ readonly ended: SiteHold | null }> {
    const { flags } = await this.parse(Release);
    const ended = await this.changing(flags, async (agent) => releaseSite(agent, flags.reason));
    this.log(
      ended ? `The hold since ${ended.since} has ended (${ended.reason}).` : 'This machine was not held.',
    );
    return { ended: ended ?? null };
  }
}
