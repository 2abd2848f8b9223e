import { FleetError } from '#bundles/errors';
import type { Permit } from './judge/judging.ts';
import { HOUR_MS, LINE_LIMIT, type Limits } from './limits.ts';
import type { SignerState } from './open-state.ts';

/**
 * Stores what is about to be signed. When this returns it is on disk, so that the version is never signed with other content.
 * @throws FleetError TOO_MANY if a limit for the last hour is reached, with nothing written; DISK_FULL, IO
 */
export const remember = (state: SignerState, permit: Permit, limits: Limits, now: Date): void => {
  const { what, limited, order, revoked, released, promoted, named, agents, acknowledged } = permit;
  const isLearned = promoted || acknowledged || revoked?.digests.length || released?.shared.length;
  if (!limited && !order && !isLearned) return;
  const at = now.getTime();
  const within = (sort: string, most: number): void => {
    if (state.countSince(sort, at - HOUR_MS) < most) return;
    throw new FleetError('TOO_MANY', `${what} is not signed: ${most} of ${sort} were signed within an hour`, {
      hint: 'If all of them were intended, wait or start the signer with a higher --limit; if not, stop the program that uses its socket',
    });
  };
  state.commit(() => {
    if (limited) {
      within(limited, limits[limited]);
      state.count(limited, at);
    }
    if (order) {
      within(order.line, LINE_LIMIT);
      state.count(order.line, at);
      state.addSigned(order.line, order.signed);
    }
    if (released) state.addReleased(released.environment, released.shared, at);
    if (named) state.evidence.addNamed(named);
    if (agents) state.evidence.setAgents(agents.site, agents.agents, at);
    if (acknowledged) state.evidence.acknowledge(acknowledged.agent, acknowledged.seq);
    if (promoted) state.setPromoted(promoted.environment, promoted.shared);
    if (revoked) state.addRevoked(revoked.channel, revoked.digests);
  });
};
