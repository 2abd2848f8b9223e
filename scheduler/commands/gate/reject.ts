import { Args } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetCommand } from '#cli/fleet-command';
import { rejectFor } from '../../hub/promote/decide/decide-about.ts';
import { decideAbout, decisionFlags, gateFlags } from './open-gate.ts';
import { reasonFlag } from '../person-flags.ts';

export default class Reject extends FleetCommand {
  static override description = `Rejects a candidate for an environment of the chain, for good.

It can never be promoted there; a new candidate can. The rejection is signed into the audit log.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> prod --reason "order-api loses orders"',
    '<%= config.bin %> <%= command.id %> prod --candidate sha256:... --reason "withdrawn by its team"',
  ];
  static override args = {
    environment: Args.string({
      required: true,
      description: 'Environment that the candidate must not reach',
    }),
  };
  static override flags = {
    ...gateFlags,
    ...decisionFlags,
    reason: reasonFlag,
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Reject);
    const at = { now: this.readNow(flags.now), signal: this.signal };
    const decided = await decideAbout(args.environment, flags, at, rejectFor);
    this.log(`${decided.to}: candidate ${shortDigest(decided.candidate)} is rejected`);
    return decided;
  }
}
