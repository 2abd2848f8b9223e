import { Args, Flags } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { decide } from '../hub/gate/decide.ts';
import { linkTo } from '../hub/gate/link.ts';
import { openReleases } from '../release/publish/open-releases.ts';
import { readConfiguration } from '../settings/configuration.ts';
import { decisionFlags, LOCK_WAIT_MS, linkFlags, openGate, personOf } from './open-gate.ts';

export default class Pause extends FleetCommand {
  static override description = `Pauses promotions to an environment of the chain, until \`resume\`.

Nothing is promoted there meanwhile, neither by a person nor by the policy; what was promoted before is still built. Rollouts there
do not advance automatically. The pause is signed into the audit log.`;
  static override examples = ['<%= config.bin %> <%= command.id %> prod --reason "stock taking"'];
  static override args = {
    environment: Args.string({ required: true, description: 'Environment that promotions go to' }),
  };
  static override flags = {
    ...linkFlags,
    ...decisionFlags,
    reason: Flags.string({ required: true, description: 'Why; it is signed into the audit log' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Pause);
    const now = this.readNow(flags.now);
    await using gate = await openGate(await readConfiguration(flags, process.cwd()), this.signal);
    const link = linkTo(gate.promotion, args.environment);
    const person = personOf(flags);
    const { reason } = flags;
    using releases = await openReleases(gate.hub.layout, { command: 'pause', now, waitMs: LOCK_WAIT_MS });
    const decision = { decision: 'pause', environment: link.to, person, reason, now } as const;
    await decide(releases, gate.hub.keys, decision);
    this.log(`${link.to}: promotions from ${link.from} are paused`);
    return { decision: 'pause', from: link.from, to: link.to, person, reason };
  }
}
