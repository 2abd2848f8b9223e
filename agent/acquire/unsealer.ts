import { openAge } from '#bundles/age/open-age';
import type { RandomAccess } from '#bundles/archive/random-access';
import { FleetError } from '#bundles/errors';
import type { Agent } from '../agent.ts';
import { findAgeIdentity } from '../enroll/age-identity.ts';

/** Opens sealed parts with this agent's age identity, which is read when the first of them is. @throws FleetError NOT_A_RECIPIENT */
export const unsealer = ({
  state,
}: Pick<Agent, 'state'>): ((bytes: RandomAccess) => Promise<RandomAccess>) => {
  let known: Promise<string | undefined> | undefined;
  return async (bytes) => {
    known ??= findAgeIdentity(state.directory);
    const identity = await known;
    if (identity !== undefined) return openAge(bytes, [identity]);
    throw new FleetError('NOT_A_RECIPIENT', 'it is sealed, and this agent has no age identity', {
      hint: 'Run fleet-agent enroll, carry its request to the platform team, and let the medium be made again',
    });
  };
};
