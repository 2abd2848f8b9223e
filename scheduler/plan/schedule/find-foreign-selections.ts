import { FleetError } from '#bundles/errors';
import { ALLOW_WORKLOADS } from '../../model/bounds.ts';
import type { DeploymentTarget, LabelSelector, NameOwner, Platform } from '../../model/model.ts';

/**
 * OUT_OF_BOUNDS for targets of registered applications that a selector of the platform would select by a name that their author chose
 * and the platform did not give them: with it they would get configuration, schemas or a cluster type that is meant for others. Only in
 * our form; Kalypso's selectors match the name of any Workload (behaviour spec 2.4).
 */
export const findForeignSelections = ({
  form,
  targets,
  policies,
  configs,
  schemas,
  workloadOwners = new Map(),
}: Pick<Platform, 'form' | 'targets' | 'policies' | 'configs' | 'schemas' | 'workloadOwners'>): ReadonlyMap<
  DeploymentTarget,
  FleetError
> => {
  const found = new Map<DeploymentTarget, FleetError>();
  if (form !== 'fleet') return found;
  const meant: readonly Meant[] = [
    ...configs.flatMap(({ name, selector }) => namesIn(`Config ${name}`, selector)),
    ...schemas.flatMap(({ name, selector }) => namesIn(`ConfigSchema ${name}`, selector)),
    ...policies.flatMap(({ name, targets: selector }) =>
      workloadsIn(selector).map((value) => ({
        by: `SchedulingPolicy ${name}`,
        key: 'workload' as const,
        value,
      })),
    ),
  ];
  const byName = Map.groupBy(meant, ({ key, value }) => `${key}=${value}`);
  for (const target of targets) {
    const [one] = [`workload=${target.workload}`, `deployment-target=${target.name}`].flatMap(
      (key) => byName.get(key) ?? [],
    );
    if (one && target.registration !== undefined && !isGiven(target, one, workloadOwners))
      found.set(target, foreignSelection(target, one));
  }
  return found;
};

type Meant = {
  readonly by: string;
  readonly key: 'workload' | 'deployment-target';
  readonly value: string;
};

const namesIn = (by: string, selector: Readonly<Record<string, string>>): readonly Meant[] =>
  (['workload', 'deployment-target'] as const).flatMap((key) =>
    Object.hasOwn(selector, key) ? [{ by, key, value: selector[key] ?? '' }] : [],
  );

const workloadsIn = ({ matchLabels, matchExpressions }: LabelSelector): readonly string[] => [
  ...(Object.hasOwn(matchLabels, 'workload') ? [matchLabels['workload'] ?? ''] : []),
  ...matchExpressions.flatMap(({ key, operator, values }) =>
    key === 'workload' && operator === 'In' ? values : [],
  ),
];

/** Of two workloads whose names fit a target's name, as a and a-b do with a-b-c, the longer one is meant. */
const isGiven = (
  { registration, workspace, workload, name }: DeploymentTarget,
  { key }: Meant,
  owners: ReadonlyMap<string, NameOwner>,
): boolean => {
  const isOwn = (owner: NameOwner | undefined): boolean =>
    owner !== undefined &&
    (owner.registration === registration || (workspace !== '' && owner.workspace === workspace));
  if (!isOwn(owners.get(workload))) return false;
  if (key === 'workload') return true;
  return [...owners].every(
    ([other, owner]) => other.length <= workload.length || !name.startsWith(`${other}-`) || isOwn(owner),
  );
};

const foreignSelection = (
  { name, workload, registration, at }: DeploymentTarget,
  { by, key, value }: Meant,
): FleetError =>
  new FleetError(
    'OUT_OF_BOUNDS',
    `${by} selects ${key}: ${value}, a name that only the author of ${registration} chose`,
    {
      subject: `DeploymentTarget ${name}`,
      at,
      hint: `Rename the workload, or let the platform give the name: the annotation ${ALLOW_WORKLOADS}: ${workload} on WorkloadRegistration ${registration}, or a selector by registration: ${registration}`,
    },
  );
