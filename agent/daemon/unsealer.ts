import { FleetError } from '#bundles/errors';
import type { RandomAccess } from '#bundles/formats/archive/random-access';
import { openAge } from '#bundles/trust/age/open-age';
import { findAgeIdentity } from '../hub/age-identity.ts';
import type { Agent } from '../store/agent.ts';

/**
 * Returns a function that opens sealed parts with this agent's age identity, read at the first call. The returned function
 * rejects with NOT_A_RECIPIENT if this agent has no age identity.
 */
export const unsealer = ({
  state,
}: Pick<Agent, 'state'>): ((bytes: RandomAccess) => Promise<RandomAccess>) => {
  let known: Promise<string | undefined> | undefined;
  return async (bytes) => {
    known ??= findAgeIdentity(state.directory);
    const identity = await known;
    if (identity !== undefined) return openAge(bytes, [identity]);
    throw new FleetError(
      'NOT_A_RECIPIENT',
      'the medium is sealed, and this agent has no age identity to open it',
      {
        hint: 'Run fleet-agent enroll, carry its request to the platform team, and ask for a new medium',
      },
    );
  };
};
