import semver from 'semver';
import { FleetError } from '#bundles/errors';
import type { ClusterType, Platform, Template } from '../../model/model.ts';

/**
 * Warns of cluster types that declare a version of their reconciler for which the Template was not written: its objects may have fields or kinds that
 * this version does not know. A cluster type without a version, or a Template without a range, gives no advice.
 */
export const unfitReconcilers = ({
  clusterTypes,
  templates,
}: Pick<Platform, 'clusterTypes' | 'templates'>): readonly FleetError[] =>
  clusterTypes.flatMap((clusterType) => {
    const template = templates.get(clusterType.reconciler);
    return template === undefined ? [] : unfit(clusterType, template);
  });

const unfit = (
  { name, reconcilerVersion, at, places }: ClusterType,
  { name: template, versions }: Template,
): readonly FleetError[] => {
  if (reconcilerVersion === undefined || versions === undefined) return [];
  // '3.1' is any release of 3.1.
  if (semver.intersects(reconcilerVersion, versions, { includePrerelease: true })) return [];
  return [
    new FleetError(
      'UNSUPPORTED',
      `reconcilerVersion is ${reconcilerVersion}, and the Template ${template} is for ${versions}`,
      {
        subject: `ClusterType ${name}`,
        at: places?.reconcilerVersion ?? at,
        hint: 'Name a Template for that version, or correct reconcilerVersion: docs/reconcilers.md has what changed between versions',
      },
    ),
  ];
};
