import { Args, Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetCommand } from '#cli/fleet-command';
import { assess, parseCandidate } from '../hub/gate/assess.ts';
import { decide } from '../hub/gate/decide.ts';
import { linkTo } from '../hub/gate/link.ts';
import { openReleases } from '../release/publish/open-releases.ts';
import { readConfiguration } from '../settings/configuration.ts';
import { decisionFlags, gateFlags, LOCK_WAIT_MS, openGate, personOf } from './open-gate.ts';

export default class Reject extends FleetCommand {
  static override description = `Rejects a candidate for an environment of the chain, for good.

It can never be promoted there; a new candidate can. The rejection is signed into the audit log.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> prod --reason "order-api loses orders"',
    '<%= config.bin %> <%= command.id %> prod --candidate sha256:... --reason "withdrawn by its team"',
  ];
  static override args = {
    environment: Args.string({ required: true, description: 'Environment that it must not reach' }),
  };
  static override flags = {
    ...gateFlags,
    ...decisionFlags,
    reason: Flags.string({ required: true, description: 'Why; it is signed into the audit log' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Reject);
    const now = this.readNow(flags.now);
    await using gate = await openGate(await readConfiguration(flags, process.cwd()), this.signal);
    const link = linkTo(gate.promotion, args.environment);
    const person = personOf(flags);
    const { reason } = flags;
    using releases = await openReleases(gate.hub.layout, { command: 'reject', now, waitMs: LOCK_WAIT_MS });
    const { candidate } = await assess(gate.hub, link, {
      now,
      signal: this.signal,
      candidate: parseCandidate(flags.candidate),
      asks: null,
    });
    const decision = { decision: 'reject', environment: link.to, candidate, person, reason, now } as const;
    await decide(releases, gate.hub.keys, decision);
    this.log(`${link.to}: candidate ${shortDigest(candidate.candidate)} is rejected`);
    return { decision: 'reject', from: link.from, to: link.to, ...candidate, person, reason };
  }
}
