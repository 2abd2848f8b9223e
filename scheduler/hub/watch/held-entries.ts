import { formatError } from '#bundles/errors';
import type { EnvironmentOutcome } from '../../build/build-outcome.ts';
import { faultFields } from './fault-fields.ts';

const NAMES_SHOWN = 3;

/** One log entry per error that holds assignments, with their number and the first names. */
export const heldEntries = ({
  environment,
  channels,
  heldWorkloads,
}: Pick<EnvironmentOutcome, 'environment' | 'channels' | 'heldWorkloads'>): readonly object[] => {
  const held = [
    ...channels.flatMap(({ clusterType, held: some }) =>
      some.map(({ assignment, error }) => ({ name: `${clusterType}/${assignment}`, error })),
    ),
    ...heldWorkloads.flatMap(({ registration, errors }) =>
      errors.map((error) => ({ name: registration, error })),
    ),
  ];
  return [...Map.groupBy(held, ({ error }) => formatError(error)).values()].flatMap((same) => {
    const [first] = same;
    const names = same.slice(0, NAMES_SHOWN).map(({ name }) => name);
    return first ? [{ environment, held: same.length, names, ...faultFields(first.error) }] : [];
  });
};
