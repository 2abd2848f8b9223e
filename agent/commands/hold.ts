import { Flags } from '@oclif/core';
import { holdSite } from '../apply/operator/hold-site.ts';
import type { SiteHold } from '../store/conditions.ts';
import { describeSiteHold } from '../store/site-hold.ts';
import { AgentCommand } from './agent-command.ts';

export default class Hold extends AgentCommand {
  static override summary = 'Hold this machine unchanged while work is running that must not be disturbed.';
  static override description =
    'New releases are fetched, verified and staged, drift is reported, and nothing is applied or corrected until the hold ' +
    'ends: at its time, or with "release". A change that is under way is completed first. It is reported with your name and reason.';
  static override examples = [
    '<%= config.bin %> hold --until 8h --reason "batch 17 is running"',
    '<%= config.bin %> hold --until 2026-11-23T06:00:00Z --reason "customer audit"',
    '<%= config.bin %> hold --reason "line is being measured"',
  ];
  static override flags = {
    until: Flags.string({
      description:
        'A time in UTC, 2026-11-23T06:00:00Z, or a duration: 90m, 8h, 3d; without it, until "release"',
    }),
    reason: Flags.string({ required: true, description: 'Why, for the platform team' }),
  };

  async run(): Promise<SiteHold> {
    const { flags } = await this.parse(Hold);
    const hold = await this.changing(flags, (agent) => holdSite(agent, flags.until, flags.reason));
    this.log(`This machine is ${describeSiteHold(hold)}`);
    return hold;
  }
}
