import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { FleetError, type Place } from '#bundles/errors';
import {
  checkKey,
  hostViolations,
  playbookKey,
  type BoundsViolation,
} from '#bundles/formats/bounds/host-violations';
import type { PackageBounds } from '#bundles/formats/bundle/config';
import type { HostPackage } from '#bundles/formats/bundle/host-package';
import type { DeploymentTarget } from '../../../model/model.ts';
import { throwProblems } from '../../../model/problems.ts';
import type { ResolvedFile } from '../../content/check-host-paths.ts';
import type { HostPackageObject } from '../../content/host-package-object.ts';
import type { PlacedPlaybook } from '../../content/playbooks/place-playbooks.ts';
import { packageBoundsOf } from '../tenancy.ts';

/** Path of the file of a unit. */
export const UNIT_FOLDER = '/etc/systemd/system';

/** Bounds of a host package, including the names in the platform's templates; undefined for a package of the platform. */
export const hostBoundsOf = (
  target: DeploymentTarget,
  templates: readonly HostPackageObject[],
  playbooks: readonly PlacedPlaybook[],
  inputs: readonly string[] = [],
): PackageBounds | undefined => {
  const bounds = packageBoundsOf(target);
  if (!bounds) return undefined;
  const platform = [
    ...templates.flatMap(placesOfPackage),
    ...playbooks.flatMap(({ playbook, files }) => [
      playbookKey(playbook),
      ...files.map(({ file }) => file.path),
    ]),
  ];
  const folders = templates.flatMap((object) =>
    Object.values(object.folders).filter((it) => it !== undefined),
  );
  return {
    ...bounds,
    ...defined({
      paths: folders.length > 0 ? sorted([...bounds.paths, ...folders]) : undefined, // The names that it reads are allowed by now; grants beyond them would change bundles that do not use them.
      siteValues: inputs.length > 0 ? sorted(inputs) : undefined,
      platform: platform.length > 0 ? sorted(platform) : undefined,
    }),
  };
};

const placesOfPackage = ({
  directories,
  files,
  secrets,
  units,
  checks,
}: HostPackageObject): readonly string[] => [
  ...[...directories, ...files, ...secrets].map(({ path }) => path),
  ...units.flatMap(({ name, source, content }) =>
    source === undefined && content === undefined ? [name] : [name, `${UNIT_FOLDER}/${name}`],
  ),
  ...checks.filter(({ type }) => type === 'exec').map(({ argv }) => checkKey(argv)),
];

const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted(compareBytes);

/** Places that request the entries of a package.json, in their order. */
export type HostPlaces = { readonly [part in BoundsViolation['part']]: readonly { readonly at: Place }[] };

/** @throws FleetError OUT_OF_BOUNDS with the place of the name */
export const checkHostBounds = (
  spec: HostPackage,
  target: DeploymentTarget,
  bounds: PackageBounds | undefined,
  { places, files }: { readonly places: HostPlaces; readonly files: readonly ResolvedFile[] },
): void => {
  const bytes = new Map(files.map((it) => [it.file.path, it.bytes?.bytes]));
  const found = hostViolations(spec, bounds ?? 'platform', ({ path }) => bytes.get(path));
  throwProblems(
    found.map(
      ({ part, index, message, grant, limit }) =>
        new FleetError('OUT_OF_BOUNDS', message, {
          subject: target.name,
          at: places[part][index]?.at ?? target.at,
          hint: limit === undefined ? hintOf(target, grant) : limitHint(target, limit),
        }),
    ),
    `package ${target.name}`,
  );
};

const limitHint = ({ workspace }: DeploymentTarget, limit: string): string =>
  workspace === ''
    ? `Shorten the timeouts, or give its WorkloadRegistration a workspace that has limits: {${limit}}`
    : `Shorten the timeouts, or raise the limit in the Workspace ${workspace}: limits: {${limit}}`;

const hintOf = ({ workspace }: DeploymentTarget, grant: string | undefined): string => {
  if (grant === undefined) return 'Change it; no Workspace can grant it';
  return workspace === ''
    ? `Use the application's own names, or give its WorkloadRegistration a workspace that grants host: {${grant}}`
    : `Use the application's own names, or let the platform grant it in the Workspace ${workspace}: host: {${grant}}`;
};
