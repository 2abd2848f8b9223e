import { compareBytes } from '#bundles/digest';
import { FleetError, formatPlace } from '#bundles/errors';
import { isName } from '#bundles/names';
import type { DeploymentTarget, NameOwner, Platform } from '../../model/model.ts';
import { findForeignSelections } from './find-foreign-selections.ts';

/** Workloads and workspaces of the deployment targets in the last releases, by the name of the target. */
export type PastTargets = ReadonlyMap<string, Pick<DeploymentTarget, 'workload' | 'workspace'>>;

type Named = Pick<
  Platform,
  'form' | 'targets' | 'policies' | 'configs' | 'schemas' | 'workloadOwners' | 'heldWorkloads'
>;

/**
 * Errors of targets whose name cannot be used. A name in use belongs to its owner, who is not affected (NAME_CLASH for the others):
 * to the platform's own Workload, then to the registration that the platform gave the name, then to the workspace that had it in the
 * last release, then to the registration that is first by name. OUT_OF_BOUNDS for a name that a selector of the platform means and
 * that only its author chose; NAME_INVALID for one that is longer than a label allows.
 */
export const findNameFaults = (
  platform: Named,
  past: PastTargets = new Map(),
): ReadonlyMap<DeploymentTarget, FleetError> => {
  const { targets, heldWorkloads = [] } = platform;
  const unread = new Set(heldWorkloads.map(({ workspace }) => workspace));
  const faults = new Map<DeploymentTarget, FleetError>();
  const refuse = (target: DeploymentTarget, error: FleetError): void => {
    if (!faults.has(target)) faults.set(target, error);
  };
  for (const [workload, same] of Map.groupBy(targets, (target) => target.workload)) {
    const before = [...past.values()].filter((one) => one.workload === workload);
    const owner = workloadOwner(same, platform.workloadOwners?.get(workload), before, unread);
    for (const target of same) if (!isOfTeam(target, owner)) refuse(target, workloadTaken(target, owner));
  }
  for (const [target, error] of findForeignSelections(platform)) refuse(target, error);
  const free = targets.filter((target) => !faults.has(target));
  for (const [name, same] of Map.groupBy(free, (target) => target.name)) {
    const before = past.get(name);
    const owner = targetOwner(same, before, unread);
    for (const target of same) {
      const twice = same.find((one) => one !== target && one.registration === target.registration);
      if (!isOwner(target, owner)) refuse(target, targetTaken(target, owner));
      else if (twice) refuse(target, duplicateError(target, twice));
      else if (!isName(name)) refuse(target, tooLong(target));
    }
  }
  return faults;
};

/** The owner of a name. Without a registration any of the workspace. */
type Owner = {
  /** '' for the platform itself; undefined for any registration of the workspace. */
  readonly registration: string | undefined;
  readonly workspace: string;
  readonly at?: DeploymentTarget['at'];
};

const toOwner = ({ registration = '', workspace, at }: DeploymentTarget): Owner => ({
  registration,
  workspace,
  at,
});

const isOwner = ({ registration = '', workspace }: DeploymentTarget, owner: Owner): boolean =>
  registration === owner.registration || (owner.registration === undefined && workspace === owner.workspace);

/** Registrations of one workspace are one team, which may share the name of a workload, though not of a target. */
const isOfTeam = (target: DeploymentTarget, owner: Owner): boolean =>
  isOwner(target, owner) ||
  (owner.registration !== '' && target.workspace !== '' && target.workspace === owner.workspace);

type Had = Pick<DeploymentTarget, 'workspace'>;

const workloadOwner = (
  same: readonly DeploymentTarget[],
  given: NameOwner | undefined,
  before: readonly Had[],
  unread: ReadonlySet<string>,
): Owner => {
  const own = same.find(({ registration }) => registration === undefined);
  if (own) return toOwner(own);
  if (given) return given;
  const found = pastOwner(same, before, unread) ?? toOwner(firstOf(same));
  // Nobody gave the name to one registration.
  return { ...found, registration: undefined };
};

const targetOwner = (
  same: readonly DeploymentTarget[],
  before: Had | undefined,
  unread: ReadonlySet<string>,
): Owner => {
  const past = pastOwner(same, before ? [before] : [], unread);
  const [first, ...others] = same.filter((target) => !past || target.workspace === past.workspace);
  return first ? toOwner(firstOf([first, ...others])) : (past ?? toOwner(firstOf(same)));
};

/** The workspace of the last release, if it claims the name still, or has an application that cannot be read. */
const pastOwner = (
  same: readonly DeploymentTarget[],
  before: readonly Had[],
  unread: ReadonlySet<string>,
): Owner | undefined => {
  const [found] = before
    .map(({ workspace }) => workspace)
    .filter((one) => unread.has(one) || same.some(({ workspace }) => workspace === one))
    .toSorted(compareBytes);
  return found === undefined ? undefined : { registration: undefined, workspace: found };
};

/** The platform itself comes first, as its targets have no registration. */
const firstOf = (same: readonly DeploymentTarget[]): DeploymentTarget =>
  same.toSorted((a, b) => compareBytes(a.registration ?? '', b.registration ?? ''))[0] as DeploymentTarget;

const describeOwner = ({ registration, workspace, at }: Owner): string => {
  const team = workspace === '' ? 'applications without a workspace' : `workspace ${workspace}`;
  const place = at ? ` (${formatPlace(at)})` : '';
  if (registration === '') return `the platform itself${place}`;
  if (registration === undefined) return `${team}${place}`;
  return `the registration ${registration}${workspace === '' ? '' : ` of workspace ${workspace}`}${place}`;
};

const workloadTaken = (target: DeploymentTarget, owner: Owner): FleetError =>
  new FleetError(
    'NAME_CLASH',
    `the workload name ${target.workload} belongs to ${describeOwner(owner)}, and ${target.registration ?? 'the platform'} brings it, too`,
    { subject: `DeploymentTarget ${target.name}`, at: target.at, hint: 'Rename the workload' },
  );

const targetTaken = (target: DeploymentTarget, owner: Owner): FleetError =>
  new FleetError(
    'NAME_CLASH',
    `target ${target.shortName} of workload ${target.workload} would be called ${target.name}, which belongs to ${describeOwner(owner)}`,
    { subject: `DeploymentTarget ${target.name}`, at: target.at, hint: 'Rename the target or its workload' },
  );

/** Two Workloads of one application, or one Workload twice. */
const duplicateError = (target: DeploymentTarget, other: DeploymentTarget): FleetError => {
  const by =
    target.registration === undefined ? 'the platform itself' : `the registration ${target.registration}`;
  return new FleetError(
    'NAME_CLASH',
    target.workload === other.workload
      ? `target ${target.shortName} of workload ${target.workload} is declared twice, by ${by}`
      : `target ${target.shortName} of workload ${target.workload} and target ${other.shortName} of workload ${other.workload} are both called ${target.name}`,
    {
      subject: `DeploymentTarget ${target.name}`,
      at: target.at,
      hint: `Remove or rename one of them; the other is at ${formatPlace(other.at)}`,
    },
  );
};

const tooLong = (target: DeploymentTarget): FleetError =>
  new FleetError(
    'NAME_INVALID',
    `the name ${target.name} has ${target.name.length} characters, at most 63 fit`,
    {
      subject: `DeploymentTarget ${target.name}`,
      at: target.at,
      hint: 'Shorten the name of the workload or of the target',
    },
  );
