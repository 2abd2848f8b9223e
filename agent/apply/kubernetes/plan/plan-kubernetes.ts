import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import type { DesiredPackage, OwnedObject, Plan } from '../../../model/target.ts';
import { resolveWanted } from '../desired/resolve-wanted.ts';
import { readAutoscaled } from '../live/autoscaled.ts';
import { readLive, readLiveOfNew } from '../live/read-live.ts';
import { packageId, stateOf } from '../owned-state.ts';
import { type Accounts, recordedAccounts } from '../through-accounts.ts';
import { checkClaims } from './check-claims.ts';
import { planApplies } from './plan-applies.ts';
import { ranksOf } from '../desired/ranks-of.ts';
import { ownerOf } from '../desired/marks.ts';
import type { PackageRules, PlanContext } from './plan-context.ts';
import { deployersIn } from '../live/foreign-managers.ts';
import { planRemovals } from './plan-removals.ts';

/**
 * Plans the steps from the live state to the desired state: applications by stage of kind, then removals in reverse order. Dry runs of
 * the applications have succeeded when this returns.
 * @throws FleetError PATH_CLAIMED, API_*, OBJECT_*, YAML_SYNTAX, SITE_VALUES, PRUNE_BUDGET
 */
export const planKubernetes = async (input: PlanInput): Promise<Plan> => {
  const { desired, owned } = input;
  const context = await openPlan(input);
  if (desired?.onlyRemovals)
    return { steps: await planRemovals(context), owns: owned.filter(({ key }) => !context.owned.has(key)) };
  const applies = await planApplies({ ...context, takeovers: await checkClaims(context) });
  const removals = await planRemovals(context);
  return {
    steps: [...applies.map(({ step }) => step), ...removals],
    owns: applies.flatMap(({ owns }) => owns ?? []),
  };
};

type PlanInput = Pick<PlanContext, 'options' | 'api' | 'taken' | 'signal'> & {
  /** undefined: the package is removed. */
  readonly desired: DesiredPackage | undefined;
  readonly owned: readonly OwnedObject[];
  /** The accounts that `api` acts by; undefined: the agent's own alone. */
  readonly accounts: Accounts | undefined;
};

/** Reads what a plan needs of the package and the cluster. @throws FleetError OBJECT_*, PRUNE_BUDGET, API_* */
export const openPlan = async ({
  options,
  api,
  accounts,
  desired,
  owned,
  taken,
  signal,
}: PlanInput): Promise<PlanContext> => {
  const wanted = desired && (await resolveWanted(api, options.fleet, desired, signal));
  if (wanted?.objects.length === 0 && owned.length > 0)
    throw emptied(desired?.assignment ?? '', owned.length);
  const isLeft = ({ key, state }: OwnedObject): boolean => 'leaving' in state && !wanted?.byKey.has(key);
  const left = desired?.onlyRemovals ? owned.filter(isLeft) : owned;
  const names = new Set(left.map(({ key }) => nameIn(key)));
  const unread = new Map<string, FleetError>();
  const compared = (wanted?.objects ?? []).filter(
    ({ key }) => !desired?.onlyRemovals || names.has(nameIn(key)),
  );
  const live =
    owned.length === 0
      ? await readLiveOfNew(api, compared, signal)
      : await readLive(api, compared, signal, { onUnread: (key, error) => unread.set(key, error) });
  return {
    options,
    api,
    appliedBy: recordedAccounts(accounts),
    owner: { fleet: options.fleet, assignment: desired?.assignment ?? '' },
    wanted,
    packageId: desired ? packageId(desired) : '',
    ranBefore: desired?.ranBefore === true,
    owned: new Map(left.map((object) => [object.key, stateOf(object)])),
    taken,
    live,
    unread,
    rules: rulesOf(desired),
    ranks: ranksOf(wanted?.objects ?? []),
    takeovers: new Map(),
    autoscaled: await readAutoscaled(
      api,
      {
        live,
        wanted: wanted?.objects ?? [],
        deployersIn: (found) => (ownerOf(found) ? [] : deployersIn(found, options.deployers)),
      },
      signal,
    ),
    signal,
  };
};

const rulesOf = (desired: DesiredPackage | undefined): PackageRules => ({
  isTenant: (desired?.bounds ?? 'platform') !== 'platform',
  ...defined({ adopt: desired?.rules?.adopt }),
});

/** 'Kind/namespace/name': an object that moved to another API group has the same. */
const nameIn = (key: string): string => key.slice(key.indexOf('/') + 1);

/** Refuses an empty package that would remove all objects of the previous one (checklist P2). */
const emptied = (assignment: string, count: number): FleetError =>
  new FleetError(
    'APPLY_FAILED',
    `the new package of ${assignment} is empty, and the cluster has ${count} objects of the current one`,
    {
      hint: 'Nothing was removed. To remove a package, take its assignment out of the release',
    },
  );
