import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import type { HostDeb } from '#bundles/formats/bundle/host-package';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { prepareApt } from '../debs/prepare-apt.ts';
import { type DpkgState, blocksApt, readDpkg } from '../debs/dpkg-state.ts';
import { readMarked } from '../debs/marks.ts';
import { newerOnHost } from '../debs/newer-on-host.ts';
import { type AptChange, describeChange, goalOfChange, simulateApt } from '../debs/simulate-apt.ts';
import { hostError } from '../host-error.ts';
import { type DebsDetail, note, toStep } from '../host-step.ts';
import { asJson, debKey, type OwnedDeb } from '../owned/owned-state.ts';
import type { DebRelease } from '../step-request.ts';
import { describeHook, hooksFor, irreversibleNotes } from './deb-hooks.ts';
import type { Part, PlanContext } from './plan-context.ts';

/** How long a transaction waits for apt and dpkg of the administrator. */
const LOCK_SECONDS = 300;

/**
 * Plans one transaction of apt from dpkg's state to the packages of `install`. apt itself solves the dependencies: the packages
 * that its simulation adds become owned, too, and any further change or removal is refused.
 * @throws FleetError DEB_FOREIGN, DEB_UNMET, DEB_BLOCKED, DEB_FAILED
 */
export const planDebs = async (context: PlanContext): Promise<Part> => {
  const { options, wanted, owned, taken, signal } = context;
  const install = wanted?.install;
  if (!install && owned.debs.size === 0) return { steps: [], owns: [] };
  if (options.root !== '/') return { steps: [note('debs', 'skipped', 'root is not /')], owns: [] };
  const dpkg = await readDpkg({ run: options.run, signal });
  const packages = await newerOnHost({ run: options.run, signal }, install?.packages ?? [], dpkg);
  const available = new Map(packages.map((deb) => [deb.name, deb]));
  const marked = await readMarked(dpkg);
  const isMarked = (name: string): boolean => marked.has(name) && !taken.has(debKey(name));
  const named = [...available.values()].filter(
    ({ name, asDependency }) => !asDependency || owned.debs.has(name) || isMarked(name),
  );
  for (const deb of named) if (!isMarked(deb.name)) refuseForeign(context, deb, dpkg.get(deb.name));
  const leaving = planLeaving(context, available, dpkg);

  const isReached = ({ name, version }: DebRelease): boolean => {
    const state = dpkg.get(name);
    return state?.status === 'installed' && state.version === version;
  };
  const isSettled = named.every(isReached) && leaving.remove.length === 0;
  const changes = isSettled ? [] : await simulate(context, named, leaving.remove, dpkg);
  const added = changes.flatMap(
    (change) => dependencyOf(context, change, { available, named, leaving }) ?? [],
  );
  const all = [...named, ...added].toSorted((a, b) => compareBytes(a.name, b.name));

  const owns = all.map((deb) => ({
    key: debKey(deb.name),
    state: ownedDeb(context, deb, { state: dpkg.get(deb.name), isMarked: isMarked(deb.name) }),
  }));
  const ours = all.filter((_, index) => owns[index]?.state.adopted === undefined);
  const unmarked = ours.filter((deb) => isReached(deb) && !marked.has(deb.name));
  const wantedHolds = all.filter(({ name, hold }) => hold && !dpkg.get(name)?.hold);
  const holds = [...wantedHolds.map(({ name }) => name), ...leaving.held].toSorted(compareBytes);
  const unholds = all.filter(({ name, hold }) => !hold && dpkg.get(name)?.hold);
  const hooks = hooksFor(context, changes);
  const detail: DebsDetail = {
    install: isSettled ? [] : all.map(({ name, version }) => ({ name, version })),
    remove: leaving.remove,
    ours: ours.map(({ name, version }) => ({ name, version })),
    changes: changes.map(goalOfChange),
    conffiles: install?.conffiles ?? 'keep',
    debconf: (install?.debconf ?? []).map((it) => `${it.package} ${it.question} ${it.type} ${it.value}`),
    services: install?.services ?? 'start',
    hold: holds,
    unhold: unholds.map(({ name }) => name),
    lockSeconds: LOCK_SECONDS,
    hooks,
  };
  const broken = all.filter((deb) => !isReached(deb) && dpkg.get(deb.name)?.status === 'broken');
  const reasons = [
    ...changes.map(describeChange),
    ...broken.map(({ name }) => `${name} is ${dpkg.get(name)?.word}`),
    ...leaving.purged.map((name) => `${name} purged`),
    ...holds.map((name) => `${name} on hold`),
    ...unholds.map(({ name }) => `${name} no longer on hold`),
    ...unmarked.map(({ name }) => `${name} recorded as installed by the agent`),
    ...hooks.map(describeHook),
    ...irreversibleNotes(changes, hooks),
  ];
  const isNoop = isSettled && holds.length + unholds.length + unmarked.length === 0;
  return {
    steps: [
      ...leaving.notes,
      ...(isNoop
        ? all.map(({ name }) => note(debKey(name), 'unchanged', 'as desired'))
        : [toStep('debs', outcomeOf(changes), reasons.join(', '), { kind: 'debs', detail })]),
    ],
    owns: owns.map(({ key, state }) => ({ key, state: asJson(state) })),
  };
};

const outcomeOf = (changes: readonly AptChange[]): 'created' | 'configured' | 'deleted' => {
  if (changes.length > 0 && changes.every(({ from }) => from === null)) return 'created';
  return changes.length > 0 && changes.every(({ to }) => to === null) ? 'deleted' : 'configured';
};

const ownedDeb = (
  { owned, wanted }: PlanContext,
  deb: HostDeb,
  { state, isMarked }: { readonly state: DpkgState | undefined; readonly isMarked: boolean },
): OwnedDeb => {
  const before = owned.debs.get(deb.name);
  const purges = wanted?.install?.onRemoval === 'purge';
  const here = state && state.status !== 'removed' ? state.version : undefined;
  const provisional = before ? before.provisional : provisionalDeb(state, isMarked ? here : undefined);
  const isProvisional = provisional !== undefined && 'adopted' in provisional;
  const known = isProvisional ? undefined : before?.adopted;
  const found = isMarked ? undefined : here;
  const adopted = before ? known : found;
  return defined({
    version: deb.version,
    hold: deb.hold === true,
    purge: purges || undefined,
    adopted,
    adoptedHold:
      adopted !== undefined && (before ? before.adoptedHold : state?.hold) ? (true as const) : undefined,
    provisional,
  });
};

/** Conffiles of an earlier installation are not ours to purge. */
const provisionalDeb = (
  state: DpkgState | undefined,
  marked: string | undefined,
): OwnedDeb['provisional'] => {
  if (marked !== undefined) return { adopted: marked };
  return state === undefined ? { purge: true } : undefined;
};

type Leaving = {
  readonly remove: DebsDetail['remove'];
  /** Packages of `remove` in the dpkg state config-files: only conffiles and data are left. */
  readonly purged: readonly string[];
  /** Adopted packages that the administrator had on hold. */
  readonly held: readonly string[];
  readonly notes: Part['steps'];
};

/** Packages that we own and that the repository no longer has. */
const planLeaving = (
  { owned, taken }: PlanContext,
  available: ReadonlyMap<string, HostDeb>,
  dpkg: ReadonlyMap<string, DpkgState>,
): Leaving => {
  const remove: { name: string; purge: boolean }[] = [];
  const purged: string[] = [];
  const held: string[] = [];
  const notes = [...owned.debs].flatMap(([name, { adopted, adoptedHold, purge = false }]) => {
    if (available.has(name)) return [];
    const key = debKey(name);
    const other = taken.get(key);
    const state = dpkg.get(name);
    if (other !== undefined) return [note(key, 'unchanged', `now belongs to ${other}`)];
    if (adopted !== undefined) {
      if (adoptedHold && state?.status === 'installed' && !state.hold) held.push(name);
      const was = state && state.version !== adopted ? `, at ${state.version} instead of ${adopted}` : '';
      return [note(key, 'skipped', `the administrator installed it: it stays${was}`)];
    }
    if (!state || (state.status === 'removed' && !purge))
      return [note(key, 'unchanged', 'it is gone already')];
    if (state.status === 'removed') purged.push(name);
    remove.push({ name, purge });
    return [];
  });
  return { remove: remove.toSorted((a, b) => compareBytes(a.name, b.name)), purged, held, notes };
};

const refuseForeign = ({ owned }: PlanContext, deb: HostDeb, state: DpkgState | undefined): void => {
  if (deb.adopt || !state || state.status === 'removed' || owned.debs.has(deb.name)) return;
  throw new FleetError(
    'DEB_FOREIGN',
    `${deb.name} ${state.version} is on this host already, and the agent did not install it`,
    { hint: `Set adopt: true for ${deb.name} in install.packages, or remove it from the host` },
  );
};

type Known = {
  readonly available: ReadonlyMap<string, HostDeb>;
  readonly named: readonly HostDeb[];
  readonly leaving: Leaving;
};

/**
 * The package that apt adds by this change; undefined for a change of a named package or of one that is removed. @throws
 * FleetError DEB_FOREIGN
 */
const dependencyOf = (
  { taken }: PlanContext,
  change: AptChange,
  { available, named, leaving }: Known,
): HostDeb | undefined => {
  const { name, from, to } = change;
  if (named.some((deb) => deb.name === name) && to !== null) return undefined;
  if (leaving.remove.some((deb) => deb.name === name) && to === null) return undefined;
  const deb = available.get(name);
  const other = taken.get(debKey(name));
  if (deb && to !== null && other === undefined && (from === null || deb.adopt)) return deb;
  throw new FleetError(
    'DEB_FOREIGN',
    `apt would change what is not of this package: ${describeChange(change)}${other === undefined ? '' : ` (of ${other})`}`,
    {
      hint:
        to === null
          ? `Remove ${name} from the host first, or keep what it needs in debs`
          : `Set adopt: true for ${name} in install.packages, or bring versions that go with the host's`,
    },
  );
};

const simulate = async (
  { options, wanted, signal }: PlanContext,
  install: readonly DebRelease[],
  remove: DebsDetail['remove'],
  dpkg: ReadonlyMap<string, DpkgState>,
): Promise<readonly AptChange[]> => {
  const { run, state } = options;
  // One name, so that the next plan removes what a kill left here.
  const folder = join(state, 'apt');
  const clear = () => rm(folder, { recursive: true, force: true });
  try {
    await clear();
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // apt solves by the index; the packages themselves need not be there.
    const index = wanted?.files.get(`${wanted.install?.repository}/Packages`);
    if (index && 'bytes' in index) await writeFile(join(folder, 'Packages'), index.bytes);
    const apt = { run, signal, repository: folder, scratch: join(folder, 'scratch'), lockSeconds: 0 };
    // The step removes these before it asks apt, which works on nothing until then.
    const stuck = remove.flatMap(({ name }) => (blocksApt(dpkg.get(name)) ? [name] : []));
    if (stuck.length === 0) await prepareApt(apt);
    else await prepareApt(apt, { status: await writeStatusWithout(stuck, folder) });
    const changes = await simulateApt(apt, {
      install,
      remove: remove.filter(({ name }) => !stuck.includes(name)),
    });
    const gone = stuck.map((name) => ({ name, from: dpkg.get(name)?.version ?? '', to: null }));
    return [...changes, ...gone].toSorted((a, b) => compareBytes(a.name, b.name));
  } catch (error) {
    throw hostError(error, 'planning with apt');
  } finally {
    await clear();
  }
};

const STATUS = '/var/lib/dpkg/status';

/** @returns the path of a copy of dpkg's status without these packages */
const writeStatusWithout = async (names: readonly string[], folder: string): Promise<string> => {
  const entries = (await readFile(STATUS, 'utf8')).split('\n\n');
  const path = join(folder, 'status');
  const kept = entries.filter((entry) => !names.some((name) => entry.startsWith(`Package: ${name}\n`)));
  await writeFile(path, kept.join('\n\n'));
  return path;
};
