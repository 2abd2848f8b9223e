import type { HostUnit } from '#bundles/formats/bundle/host-package';
import { compareBytes } from '#bundles/digest';
import type { OwnedObject, Step } from '../../../model/target.ts';
import { errno, hostError, stopIfAborted } from '../host-error.ts';
import { whyInert } from '../host-options.ts';
import { note, toStep, type UnitDetail } from '../host-step.ts';
import { readEntry } from '../live/read-entry.ts';
import { asJson, fileKey, type OwnedUnit, secretKey, unitKey } from '../owned-state.ts';
import { dropInsOf } from '../systemd/drop-ins.ts';
import { type Inputs, isOutdated, linksOf, readStarted, RELOAD } from '../systemd/started.ts';
import {
  enableBy,
  hasFragment,
  installSection,
  isFileOfUnit,
  isGenerated,
  isUnitFile,
} from '../systemd/unit-files.ts';
import {
  describeUnit,
  isEnabled,
  isFailed,
  isMasked,
  isUp,
  readUnits,
  type SeenUnit,
  type UnitState,
} from '../systemd/unit-state.ts';
import type { Wanted } from '../desired/read-wanted.ts';
import type { PlanContext } from './plan-context.ts';
import { posix } from 'node:path';
import { openFile } from '../live/open-file.ts';
import { openFolder } from '../live/open-folder.ts';
import { type Bounds, readUpTo } from '../live/read-up-to.ts';

/** Size limit of systemd for unit files, in bytes. */
const MAX_UNIT_BYTES = 1 << 20;
/** Size limit for watched files outside of the package, in bytes. Changes of larger files restart nothing. */
const MAX_WATCHED_BYTES = 64 << 20;

export type UnitPlan = {
  /** Runs before files are removed, because stopping and disabling need the unit's file. */
  readonly removals: readonly Step[];
  readonly reload: readonly Step[];
  readonly steps: readonly Step[];
  readonly owns: readonly OwnedObject[];
  /** The records in started.ts that a change of this path invalidates. */
  readonly outdatedBy: (path: string) => readonly string[];
};

/** The desired state of a unit. `own` is the state to store; undefined if the unit returns to its state before the package. */
type Target = { readonly unit: HostUnit; readonly watches: readonly string[]; readonly own?: OwnedUnit };

/** Plans units in their listed order. A unit is restarted only if a file that it watches changes (checklist H3). */
export const planUnits = async (
  context: PlanContext,
  changed: ReadonlySet<string>,
  found: ReadonlySet<string>,
): Promise<UnitPlan> => {
  const { options, owned, signal } = context;
  const inert = whyInert(options);
  const restored = restoredUnits(context);
  const asked = [...(context.wanted?.units ?? []), ...restored.map(({ unit }) => unit)];
  const seen: Seen =
    options.services === 'none'
      ? new Map()
      : await readUnits(
          options,
          asked.map(({ name }) => name),
          signal,
        );
  const targets = [...(await wantedUnits(context, found, seen)), ...restored];
  const names = [...new Set([...targets.map(({ unit }) => unit.name), ...owned.units.keys()])];
  const steps: Step[] = [];
  const relinked = new Set<string>();
  let reload = [...changed].some((path) => isUnitFile(path, names));
  for (const target of targets) {
    stopIfAborted(signal);
    if (options.services === 'none') {
      steps.push(note(unitKey(target.unit.name), 'skipped', 'no init'));
      continue;
    }
    const { enablement, state } = seen.get(target.unit.name) ?? NOT_FOUND;
    reload ||= state?.needsReload === true;
    const relink = await needsLinks(context, target.unit, changed);
    if (relink) relinked.add(target.unit.name);
    steps.push(await planUnit(context, target, changed, enablement, state, relink));
    if (inert) steps.push(note(unitKey(target.unit.name), 'skipped', `not started or stopped: ${inert}`));
  }
  if (!inert) reload ||= (await readStarted(options, RELOAD)) === 'stale';
  return {
    removals: planUnitRemovals(context),
    reload: reload && !inert ? [reloadStep] : [],
    steps,
    owns: targets.flatMap(({ unit, own }) => (own ? [{ key: unitKey(unit.name), state: asJson(own) }] : [])),
    outdatedBy: (path) => [
      ...targets
        .map(({ unit }) => unit.name)
        .filter((name) => relinked.has(name) && hasFragment(name, [path]))
        .map(linksOf),
      ...(inert
        ? []
        : targets
            .filter(
              ({ unit, watches }) => unit.active && (watches.includes(path) || isFileOfUnit(unit.name, path)),
            )
            .map(({ unit }) => unit.name)),
      ...(!inert && isUnitFile(path, names) ? [RELOAD] : []),
    ],
  };
};

type Seen = ReadonlyMap<string, SeenUnit>;
const NOT_FOUND: SeenUnit = { enablement: 'not-found', state: undefined };

const reloadStep = toStep('systemd:daemon-reload', 'configured', 'unit files changed', {
  kind: 'daemon-reload',
  detail: {},
});

/**
 * The units of the package. Files that a unit watched before count as well, because they may be removed now.
 * @param found files that were identical before the first apply; a unit with such a file belongs to the package
 */
const wantedUnits = async (
  context: PlanContext,
  found: ReadonlySet<string>,
  seen: Seen,
): Promise<readonly Target[]> => {
  const { wanted, owned } = context;
  if (!wanted) return [];
  const targets: Target[] = [];
  for (const [order, unit] of wanted.units.entries()) {
    const before = owned.units.get(unit.name);
    const own = [...wanted.files.values()]
      .filter(({ path, named }) => isFileOfUnit(unit.name, path) || isFileOfUnit(unit.name, named))
      .map(({ path }) => path);
    const watches = [...new Set([...own, ...unit.restartOn])].toSorted(compareBytes);
    const replaced = before ? before.replaced : stateBefore(context, unit.name, seen);
    const dropIns = hasFragment(unit.name, namesIn(wanted))
      ? undefined
      : (before?.dropIns ?? (await dropInsBefore(context, unit.name)));
    const isFound = before ? before.provisional !== undefined : hasFragment(unit.name, found);
    targets.push({
      unit,
      watches: [...new Set([...watches, ...(before?.watches ?? [])])],
      own: {
        order,
        watches,
        ...(dropIns && { dropIns }),
        ...(replaced && (isFound ? { provisional: { replaced } } : { replaced })),
      },
    });
  }
  return targets;
};

/** As the package names them: systemd and Podman look for units by these names, and not by their places. */
const namesIn = (wanted: Wanted | undefined): readonly string[] =>
  [...(wanted?.files.values() ?? [])].map(({ named }) => named);

/** Units that existed before the package and that it no longer names. Their previous state is restored. */
const restoredUnits = ({ owned, wanted, taken }: PlanContext): readonly Target[] =>
  goingUnits(owned.units, wanted?.units ?? []).flatMap(([name, { replaced, watches }]) =>
    replaced && !taken.has(unitKey(name)) ? [{ unit: { name, ...replaced, restartOn: [] }, watches }] : [],
  );

const planUnitRemovals = ({ owned, wanted, taken, options }: PlanContext): readonly Step[] =>
  goingUnits(owned.units, wanted?.units ?? []).flatMap(([name, { replaced }]) => {
    const key = unitKey(name);
    const other = taken.get(key);
    if (other !== undefined) return [note(key, 'unchanged', `now belongs to ${other}`)];
    if (replaced) return [];
    if (options.services === 'none') return [note(key, 'skipped', 'no init')];
    const reason = 'no longer in the package: stopped and disabled';
    return [toStep(key, 'deleted', reason, { kind: 'unit-removal', detail: { name } })];
  });

/** In reverse order of their start. */
const goingUnits = (
  owned: ReadonlyMap<string, OwnedUnit>,
  wanted: readonly HostUnit[],
): readonly (readonly [string, OwnedUnit])[] =>
  [...owned]
    .filter(([name]) => !wanted.some((unit) => unit.name === name))
    .toSorted(([a, one], [b, two]) => two.order - one.order || compareBytes(a, b));

const dropInsBefore = async ({ options, places, wanted, owned, taken }: PlanContext, unit: string) =>
  (await dropInsOf(options.root, places, unit)).filter(
    (path) => !wanted?.files.has(path) && !owned.files.has(path) && !taken.has(fileKey(path)),
  );

/** undefined if the unit did not exist or came with a file of ours. */
const stateBefore = ({ options, owned }: PlanContext, name: string, seen: Seen): OwnedUnit['replaced'] => {
  if (options.services === 'none' || hasFragment(name, owned.files.keys())) return undefined;
  const { enablement, state } = seen.get(name) ?? NOT_FOUND;
  if (enablement === 'not-found') return undefined;
  // Of a Debian package that was removed only the init script stays, which is-enabled takes for a unit.
  if (state?.load === 'not-found') return undefined;
  return { enabled: isEnabled(enablement), active: state !== undefined && isUp(state) };
};

const planUnit = async (
  context: PlanContext,
  target: Target,
  changed: ReadonlySet<string>,
  enablement: string,
  state: UnitState | undefined,
  relink: boolean,
): Promise<Step> => {
  const { unit, watches } = target;
  const { owned, options, wanted } = context;
  const key = unitKey(unit.name);
  const paths = namesIn(wanted);
  const rewritten = [...changed].some((path) => hasFragment(unit.name, [path]));
  const file = enableBy(unit.name, paths);
  const inputs = state ? await inputsOf(context, watches) : {};
  const isStale = state !== undefined && isOutdated(await readStarted(options, unit.name), inputs);
  const affected =
    isStale || [...changed].some((path) => watches.includes(path) || isFileOfUnit(unit.name, path));
  const unmask = (isMasked(enablement) || state?.load === 'masked') && (unit.enabled || unit.active);

  const enable = isGenerated(unit.name, paths) ? null : enablementStep(unit, enablement, relink, file);
  const activity = state ? activityStep(unit, state, affected) : null;
  if (!target.own && enablement === 'not-found' && !rewritten)
    return note(key, 'skipped', 'it was there before the package, but is gone');
  if (!unmask && !enable && !activity)
    return target.own
      ? note(key, 'unchanged', 'as it shall be')
      : note(key, 'skipped', 'it is as it was before the package');
  const reasons = [
    ...(target.own ? [] : ['back to what it was before the package']),
    ...(unmask ? ['masked'] : []),
    ...(enable ? [`${enablement} -> ${enable}`] : []),
    ...(activity && state ? [describeActivity(activity, state)] : []),
  ];
  const isNew = target.own && !target.own.replaced && !owned.units.has(unit.name);
  const detail: UnitDetail = { name: unit.name, file, unmask, enablement: enable, activity, inputs };
  return toStep(key, isNew ? 'created' : 'configured', reasons.join('; '), { kind: 'unit', detail });
};

/** True if enabling the unit would create other links than it has, because of this change or an interrupted one. */
const needsLinks = async (
  { wanted, options, signal }: PlanContext,
  unit: HostUnit,
  changed: ReadonlySet<string>,
): Promise<boolean> => {
  if (!unit.enabled || isGenerated(unit.name, namesIn(wanted))) return false;
  if ((await readStarted(options, linksOf(unit.name))) === 'stale') return true;
  const path = [...changed].find((path) => hasFragment(unit.name, [path]));
  if (path === undefined) return false;
  const file = wanted?.files.get(path);
  if (!file || !('bytes' in file)) return true;
  const text = await readText(options.root, path, { maxBytes: MAX_UNIT_BYTES, signal });
  return text === undefined || installSection(text) !== installSection(file.bytes.toString());
};

const enablementStep = (
  unit: HostUnit,
  enablement: string,
  relink: boolean,
  file: string,
): UnitDetail['enablement'] => {
  if (unit.enabled) {
    if (!isEnabled(enablement)) return 'enable';
    return relink && enablement === 'enabled' ? 'reenable' : null;
  }
  if (enablement === 'enabled' || enablement === 'enabled-runtime') return 'disable';
  return file !== unit.name && !enablement.startsWith('linked') ? 'link' : null;
};

const activityStep = (unit: HostUnit, state: UnitState, affected: boolean): UnitDetail['activity'] => {
  if (unit.active) return isUp(state) ? (affected ? 'restart' : null) : 'start';
  const runs = state.active === 'active' || state.active === 'reloading' || isFailed(state);
  return runs && state.active !== 'failed' && !state.triggered ? 'stop' : null;
};

const describeActivity = (activity: 'start' | 'restart' | 'stop', state: UnitState): string =>
  activity === 'restart'
    ? 'restart: a file it reads changed'
    : `${activity}: it is ${state.load === 'loaded' ? describeUnit(state) : state.load}`;

/** The files that the unit will use: ours in their desired state, others in their live state. */
const inputsOf = async (
  { wanted, options, owned, taken, signal }: PlanContext,
  watches: readonly string[],
): Promise<Inputs> => {
  const inputs: Record<string, Inputs[string]> = {};
  for (const path of watches) {
    const secret = wanted?.secrets.get(path);
    if (secret) inputs[path] = secret.hash;
    // No keyed hash exists for a secret that is removed or belongs to another package, and no plain digest may be stored.
    if (secret || owned.secrets.has(path) || taken.has(secretKey(path))) continue;
    const ours = wanted?.files.get(path);
    const live = ours ?? (await readEntry(options.root, path, { maxBytes: MAX_WATCHED_BYTES, signal }));
    if ('digest' in live && live.digest !== null) inputs[path] = live.digest;
  }
  return inputs;
};

/**
 * Reads at most the first `maxBytes` of a regular file of the host as text. Returns undefined when there is no such file.
 * @throws FleetError PERMISSION, APPLY_FAILED, IO, ABORTED
 */
const readText = async (root: string, path: string, bounds: Bounds): Promise<string | undefined> => {
  await using folder = await openFolder(root, posix.dirname(path));
  if (!folder) return undefined;
  try {
    await using found = await openFile(folder, posix.basename(path));
    if (!found) return undefined;
    const pieces: Buffer[] = [];
    for await (const piece of readUpTo(found.file, bounds, found.stats.size)) pieces.push(Buffer.from(piece));
    return Buffer.concat(pieces).toString();
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined;
    throw hostError(error, `reading ${path}`);
  }
};
