import { Args, Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetCommand } from '#cli/fleet-command';
import { rollBackTo } from '../../hub/promote/decide/roll-back-to.ts';
import { decideAbout, decisionFlags, linkFlags } from './open-gate.ts';
import { reasonFlag } from '../person-flags.ts';

export default class Rollback extends FleetCommand {
  static override description =
    `Takes an environment of the chain back to a candidate that was promoted to it before.

It signs the decision and a new promotion of the old candidate; the next build of the environment releases it under a new
number, with the environment's own layer as it is now. A policy does not promote the newer candidate again; a person may.
For a single channel, and for an environment that nothing is promoted to, see releases rollback.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> prod --reason "order-api loses orders"',
    '<%= config.bin %> <%= command.id %> prod --candidate sha256:... --reason "the last that worked"',
  ];
  static override args = {
    environment: Args.string({ required: true, description: 'Environment to roll back' }),
  };
  static override flags = {
    ...linkFlags,
    ...decisionFlags,
    candidate: Flags.string({
      description: 'Digest of a candidate that was promoted there [default: the one before the current one]',
    }),
    reason: reasonFlag,
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Rollback);
    const at = { now: this.readNow(flags.now), signal: this.signal };
    const rolledBack = await decideAbout(args.environment, flags, at, rollBackTo);
    const { to, candidate, number } = rolledBack;
    this.log(`${to}: candidate ${shortDigest(candidate)} is promoted again, number ${number}, to roll back`);
    this.say(`The next build of ${to} releases it: fleet-scheduler build --environment ${to}`);
    return rolledBack;
  }
}
