import { FleetError, formatPlace } from '#bundles/errors';
import { isName } from '#bundles/names';
import type { DeploymentTarget } from '../../model/model.ts';

/**
 * Errors of targets whose name cannot be used: `<workload>-<target>` is longer than a label allows (NAME_INVALID), or equal
 * to another's, as of workload a with target b-c and workload a-b with target c (NAME_CLASH). Other targets are not
 * affected.
 */
export const findNameFaults = (
  targets: readonly DeploymentTarget[],
): ReadonlyMap<DeploymentTarget, FleetError> => {
  const named = Map.groupBy(targets, (target) => target.name);
  const faults = new Map<DeploymentTarget, FleetError>();
  for (const target of targets) {
    const [first, second] = named.get(target.name) as DeploymentTarget[];
    const other = first === target ? second : first;
    if (other) faults.set(target, clash(target, other));
    else if (!isName(target.name)) faults.set(target, tooLong(target));
  }
  return faults;
};

const clash = (target: DeploymentTarget, other: DeploymentTarget): FleetError =>
  target.workload === other.workload && target.shortName === other.shortName
    ? comesTwice(target, other)
    : sameName(target, other);

/** One workload with two registrations, or two workloads with one name. */
const comesTwice = (target: DeploymentTarget, other: DeploymentTarget): FleetError => {
  const ways = [target, other].map(({ registration }) => registration ?? 'the platform itself').toSorted();
  const by = ways[0] === ways[1] ? `by the registration ${ways[0]}` : `by ${ways.join(' and by ')}`;
  return new FleetError(
    'NAME_CLASH',
    `target ${target.shortName} of workload ${target.workload} is declared twice, ${by}`,
    {
      subject: `DeploymentTarget ${target.name}`,
      at: target.at,
      hint: `Remove one, or rename one workload; the other is at ${formatPlace(other.at)}`,
    },
  );
};

const sameName = (target: DeploymentTarget, other: DeploymentTarget): FleetError =>
  new FleetError(
    'NAME_CLASH',
    `target ${target.shortName} of workload ${target.workload} and target ${other.shortName} of workload ${other.workload} are both called ${target.name}`,
    {
      subject: `DeploymentTarget ${target.name}`,
      at: target.at,
      hint: `Rename one of them; the other is at ${formatPlace(other.at)}`,
    },
  );

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
