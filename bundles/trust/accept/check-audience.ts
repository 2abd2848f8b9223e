import { FleetError } from '../../errors.ts';
import { formatChannel } from '../../names.ts';
import type { Audience } from '../../formats/statements/predicates.ts';

/** @throws FleetError WRONG_FLEET, WRONG_CHANNEL, WRONG_TYPE, WRONG_ENVIRONMENT */
export const checkAudience = (said: Audience, mine: Audience, what: string): void => {
  if (said.fleet !== mine.fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${said.fleet}, not ${mine.fleet}`);
  const environment = said.environment === mine.environment;
  const clusterType = said.clusterType === mine.clusterType;
  if (environment && clusterType) return;
  throw new FleetError(
    codeOf(environment, clusterType),
    `${what} is for ${formatChannel(said)}, not for ${formatChannel(mine)}`,
  );
};

const codeOf = (environment: boolean, clusterType: boolean) => {
  if (environment) return 'WRONG_TYPE';
  return clusterType ? 'WRONG_ENVIRONMENT' : 'WRONG_CHANNEL';
};
