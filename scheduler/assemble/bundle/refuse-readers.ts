import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { HeldAssignment, Platform } from '../../model/model.ts';
import type { AssembledPackage } from './assembled-package.ts';
import type { BundleInput } from './bundle-input.ts';

/**
 * Holds packages of registered applications that ask for a site value which another workspace reads, in a platform without Workspace
 * objects: there nobody grants a value, so that it belongs to the workspaces that read it in the last release, and a new one to the
 * registration that is first by name. With Workspace objects assembleHost asks for a grant.
 * @returns OUT_OF_BOUNDS by assignment
 */
export const refuseReaders = (
  assembled: readonly AssembledPackage[],
  { platform, readers = new Map() }: Pick<BundleInput, 'platform' | 'readers'>,
): readonly HeldAssignment[] => {
  if (platform.workspaces) return [];
  const teams = teamsOf(platform);
  const owners = new Map<string, ReadonlySet<string>>();
  const ownersOf = (input: string, workspace: string): ReadonlySet<string> => {
    const past = [...(readers.get(input) ?? [])].filter((one) => teams.has(one));
    const found = owners.get(input) ?? new Set(past.length > 0 ? past : [workspace]);
    owners.set(input, found);
    return found;
  };
  return assembled.toSorted(byRegistration).flatMap((made) => {
    const { registration, workspace } = made.assignment.target;
    for (const { input } of made.siteInputs) {
      const allowed = ownersOf(input, workspace);
      if (registration !== undefined && made.reads?.includes(input) && !allowed.has(workspace))
        return [{ assignment: made.assignment, error: foreignValue(made, input, allowed) }];
    }
    return [];
  });
};

/** All that refuseReaders depends on besides the packages, for results that are kept between builds; undefined: on nothing. */
export const inputsOfReaders = ({
  platform,
  readers = new Map(),
}: Pick<BundleInput, 'platform' | 'readers'>): ReadersInputs | undefined =>
  platform.workspaces || readers.size === 0 ? undefined : { readers, teams: teamsOf(platform) };

export type ReadersInputs = {
  readonly readers: NonNullable<BundleInput['readers']>;
  readonly teams: ReadonlySet<string>;
};

/** Workspaces that still have an application; '' is the platform itself, and all applications without a workspace. */
const teamsOf = ({ repositories, targets, heldWorkloads = [] }: Platform): ReadonlySet<string> =>
  new Set([...repositories.values(), ...targets, ...heldWorkloads].map(({ workspace = '' }) => workspace));

const byRegistration = (a: AssembledPackage, b: AssembledPackage): number =>
  compareBytes(a.assignment.target.registration ?? '', b.assignment.target.registration ?? '') ||
  compareBytes(a.id, b.id);

const foreignValue = (
  { id, assignment: { target } }: AssembledPackage,
  input: string,
  owners: ReadonlySet<string>,
): FleetError => {
  const [owner = ''] = [...owners].toSorted(compareBytes);
  const whose = owner === '' ? 'the platform, or an application without a workspace' : `workspace ${owner}`;
  return new FleetError(
    'OUT_OF_BOUNDS',
    `the site value ${input} is read by ${whose}, and nothing grants it to others`,
    {
      subject: id,
      at: target.at,
      hint: `Rename the input, or let the platform grant it in Workspace objects of all that read it: spec: {siteValues: [${input}]}`,
    },
  );
};
