import { type FleetError, toFleetError } from '#bundles/errors';
import type { Applications } from '../../load/applications/load-applications.ts';
import type { Platform, RenderedPackage } from '../../model/model.ts';

/** Error for a role of the candidate whose files are missing: an ordinary build would hold its assignments with this error. */
export const whyUnread =
  (
    { heldWorkloads = [] }: Platform,
    packages: readonly RenderedPackage[],
    applications: Pick<Applications, 'of'>,
  ) =>
  (role: string): FleetError | undefined => {
    const [, kind, name] = /^([^/]+)\/(.*)$/.exec(role) ?? [];
    if (kind === 'workload')
      return heldWorkloads.find(({ registration }) => registration === name)?.errors[0];
    if (kind !== 'application') return undefined;
    const rendered = packages.find(({ assignment }) => assignment.target.name === name);
    return rendered && errorOf(() => applications.of(rendered));
  };

const errorOf = (step: () => unknown): FleetError | undefined => {
  try {
    step();
    return undefined;
  } catch (error) {
    return toFleetError(error);
  }
};
