import { FleetError } from '#bundles/errors';
import type { ClusterType } from '../../model/model.ts';

/** Warns of object rules on cluster types whose applications another reconciler applies: it does not know them. */
export const rulesWithoutAgent = (clusterTypes: readonly ClusterType[]): readonly FleetError[] =>
  clusterTypes
    .filter(({ objectRules = [], reconciler }) => objectRules.length > 0 && reconciler !== 'fleet')
    .map(
      ({ name, reconciler, at, places }) =>
        new FleetError(
          'UNSUPPORTED',
          `objectRules have an effect where fleet-agent applies the applications, and reconciler is ${reconciler}`,
          {
            subject: `ClusterType ${name}`,
            at: places?.objectRules ?? at,
            hint: 'Write "reconciler: fleet", or remove the rules and set the same on the objects in the way of that reconciler',
          },
        ),
    );
