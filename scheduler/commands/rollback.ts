import { Args, Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { FleetCommand } from '#cli/fleet-command';
import { parseCandidate } from '../hub/gate/assess.ts';
import { decide } from '../hub/gate/decide.ts';
import { linkTo } from '../hub/gate/link.ts';
import { promoteAgain } from '../hub/gate/promote.ts';
import { chooseRollback } from '../hub/gate/roll-back.ts';
import { readAuditLog } from '../load/releases/audit-log.ts';
import { openReleases } from '../release/publish/open-releases.ts';
import { readConfiguration } from '../settings/configuration.ts';
import { decisionFlags, LOCK_WAIT_MS, linkFlags, openGate, personOf } from './open-gate.ts';

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
    environment: Args.string({ required: true, description: 'Environment to take back' }),
  };
  static override flags = {
    ...linkFlags,
    ...decisionFlags,
    candidate: Flags.string({
      description: 'Digest of a candidate that was promoted there [default: the one before the current one]',
    }),
    reason: Flags.string({ required: true, description: 'Why; it is signed into the audit log' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Rollback);
    const now = this.readNow(flags.now);
    await using gate = await openGate(await readConfiguration(flags, process.cwd()), this.signal);
    const link = linkTo(gate.promotion, args.environment);
    const { layout, keys } = gate.hub;
    const person = personOf(flags);
    using releases = await openReleases(layout, { command: 'rollback', now, waitMs: LOCK_WAIT_MS });
    const log = await readAuditLog(await openOrStartLayout(layout), keys.roots);
    const candidate = chooseRollback(log, link.to, parseCandidate(flags.candidate));
    const { reason } = flags;
    await decide(releases, keys, {
      decision: 'roll-back',
      environment: link.to,
      candidate,
      person,
      reason,
      now,
    });
    const wish = { mode: 'manual', person, reason, now } as const;
    const { number } = await promoteAgain(releases, keys, { link, candidate, log }, wish);
    this.log(
      `${link.to}: candidate ${shortDigest(candidate.candidate)} is promoted again, number ${number}, to roll back`,
    );
    this.say(`The next build of ${link.to} releases it: fleet-scheduler build --environment ${link.to}`);
    return { decision: 'roll-back', to: link.to, ...candidate, number, person, reason };
  }
}
