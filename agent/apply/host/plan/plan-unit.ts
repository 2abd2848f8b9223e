import { posix } from 'node:path';
import type { Step } from '../../../model/target.ts';
import { FleetError } from '#bundles/errors';
import { errno, hostError } from '../host-error.ts';
import { whyUnmanaged } from '../host-options.ts';
import { note, toStep, type UnitDetail } from '../host-step.ts';
import { openFile } from '../live/open-file.ts';
import { openFolder } from '../live/open-folder.ts';
import { readEntry } from '../live/read-entry.ts';
import { type Bounds, readUpTo } from '../live/read-up-to.ts';
import { type OwnedUnit, secretKey, unitKey } from '../owned/owned-state.ts';
import type { HostUnit } from '#bundles/formats/bundle/host-package';
import type { PackageUnit } from '../systemd/package-unit.ts';
import { isQuadlet } from '../systemd/quadlets.ts';
import { type Inputs, isOutdated, linksOf, readStarted } from '../systemd/started.ts';
import { enableBy, hasFragment, installSection, isFileOfUnit, namesIn } from '../systemd/unit-files.ts';
import {
  describeUnit,
  isEnabled,
  isFailed,
  isMasked,
  isRunning,
  isUp,
  type UnitState,
} from '../systemd/unit-state.ts';
import type { UnitContext } from './plan-context.ts';

/** Size limit of systemd for unit files, in bytes. */
const MAX_UNIT_BYTES = 1 << 20;
/** Size limit for watched files outside of the package, in bytes. Changes of larger files restart nothing. */
const MAX_WATCHED_BYTES = 64 << 20;

/**
 * The desired state of a unit. `own` is the state to store; undefined if the unit returns to its state before the package. `implied`: the
 * package brings its file or a drop-in and does not list it: a socket, timer or path unit starts it, or another package lists it.
 */
export type UnitTarget = {
  readonly unit: HostUnit;
  readonly known: PackageUnit;
  readonly enablement: string;
  readonly watches: readonly string[];
  readonly own?: OwnedUnit;
  readonly implied?: true;
};

/** True if the change of a file reaches the unit while it runs. */
export const isRestartedBy = ({ unit, known, watches }: UnitTarget, path: string): boolean =>
  (unit.active || isTriggered(known)) && (watches.includes(path) || isFileOfUnit(known, path));

const isTriggered = ({ state }: PackageUnit): boolean => (state?.triggeredBy.length ?? 0) > 0;

/** @param relink whether enabling the unit would create other links than it has */
export const planUnit = async (
  context: UnitContext,
  target: UnitTarget,
  changed: ReadonlySet<string>,
  relink: boolean,
): Promise<Step> => {
  const { unit, known, watches, implied } = target;
  const { owned, options, wanted } = context;
  const key = unitKey(unit.name);
  const inputs = known.state ? await inputsOf(context, watches) : {};
  const isStale = known.state !== undefined && isOutdated(await readStarted(options, unit.name), inputs);
  refuseUnknown(context, target);
  const file = enableBy(unit.name, namesIn(wanted));
  const affected = isStale || readsAny(target, changed);
  const change = changeOf(context, target, { affected, relink, file });
  const isOurs = target.own !== undefined || implied === true;
  if (!isOurs && isGone(target, changed))
    return note(key, 'skipped', 'it was there before the package, but is gone');
  const reasons = reasonsOf(change, target);
  if (reasons.length === 0)
    return isOurs
      ? note(key, 'unchanged', 'as desired')
      : note(key, 'skipped', 'it is as it was before the package');
  const reason = (isOurs ? reasons : ['back to what it was before the package', ...reasons]).join('; ');
  const isNew = target.own && !target.own.replaced && !owned.units.has(unit.name);
  const detail: UnitDetail = { name: unit.name, file, ...change, sockets: activeSockets(wanted), inputs };
  return toStep(key, isNew ? 'created' : 'configured', reason, { kind: 'unit', detail });
};

/** True if the unit reads one of the changed files. */
const readsAny = ({ known, watches }: UnitTarget, changed: ReadonlySet<string>): boolean =>
  [...changed].some((path) => watches.includes(path) || isFileOfUnit(known, path));

/** True for a unit whose file is not on the host and is not written now. */
const isGone = ({ known, enablement }: UnitTarget, changed: ReadonlySet<string>): boolean =>
  enablement === 'not-found' && ![...changed].some((path) => hasFragment(known, [path]));

/** Changes of a unit that its step makes. */
type UnitChange = Pick<UnitDetail, 'unmask' | 'enablement' | 'activity'>;

/** @param affected whether a file that the unit reads changes @param file the file to enable the unit by */
const changeOf = (
  context: UnitContext,
  target: UnitTarget,
  { affected, relink, file }: { readonly affected: boolean; readonly relink: boolean; readonly file: string },
): UnitChange => {
  const { unit, known, enablement, implied } = target;
  const isAlone = implied || isGenerated(context, target);
  return {
    unmask: mustUnmask(target),
    enablement: isAlone ? null : enablementStep(unit, enablement, relink, file),
    activity: known.state ? activityStep(target, known.state, affected) : null,
  };
};

/** Why a unit changes; empty if nothing about it does. */
const reasonsOf = (
  { unmask, enablement: enable, activity }: UnitChange,
  { enablement, known: { state } }: UnitTarget,
): readonly string[] => [
  ...(unmask ? ['masked'] : []),
  ...(enable ? [`${enablement} -> ${enable}`] : []),
  ...(activity && state ? [describeActivity(activity, state)] : []),
];

const mustUnmask = ({ unit, known, enablement }: UnitTarget): boolean =>
  (isMasked(enablement) || known.state?.load === 'masked') && (unit.enabled || unit.active);

const activeSockets = (wanted: UnitContext['wanted']): readonly string[] =>
  (wanted?.units ?? [])
    .filter(({ name, active }) => active && name.endsWith('.socket'))
    .map(({ name }) => name);

/** True for a unit of Podman's generator, which systemctl neither enables nor disables. */
const isGenerated = (
  { quadlets, options, wanted }: UnitContext,
  { known, enablement }: Pick<UnitTarget, 'known' | 'enablement'>,
): boolean =>
  known.quadlet !== undefined ||
  enablement === 'generated' ||
  // No generator runs below another root, so nothing knows the services of quadlets there.
  (quadlets.answer === 'unknown' &&
    whyUnmanaged(options) !== undefined &&
    enablement === 'not-found' &&
    !hasFragment(known, namesIn(wanted)));

/** @throws FleetError UNIT_FAILED for a unit without a file that Podman's generator does not make of the quadlets of the package */
const refuseUnknown = (
  { wanted, quadlets }: UnitContext,
  { unit, known, enablement, own }: UnitTarget,
): void => {
  const { services, refusals, answer } = quadlets;
  const isPresent = enablement !== 'not-found' || (known.state?.load ?? 'not-found') !== 'not-found';
  if (answer !== 'known' || !wanted || !own || isPresent || known.quadlet !== undefined) return;
  // A Debian package or a playbook may bring it before it starts. A secret is not shown to the generator.
  if (
    wanted.install ||
    wanted.playbooks.length > 0 ||
    [...wanted.secrets.values()].some(({ named }) => isQuadlet(named))
  )
    return;
  if (!unit.name.endsWith('.service') || hasFragment(known, namesIn(wanted))) return;
  const made = [...services.keys()].toSorted().join(', ');
  throw new FleetError(
    'UNIT_FAILED',
    [
      `Podman's generator on this host does not make ${unit.name} from the quadlets of the package`,
      made === '' ? 'it makes no service at all' : `it makes ${made}`,
      ...refusals.slice(0, 3),
    ].join('; '),
    { hint: 'Name the unit as the generator does (ServiceName= of the quadlet), or correct the quadlet' },
  );
};

/** True if enabling the unit would create other links than it has, because of this change or an interrupted one. */
export const needsLinks = async (
  context: UnitContext,
  { unit, known, enablement }: UnitTarget,
  changed: ReadonlySet<string>,
): Promise<boolean> => {
  const { wanted, options, signal } = context;
  if (!unit.enabled || isGenerated(context, { known, enablement })) return false;
  if ((await readStarted(options, linksOf(unit.name))) === 'stale') return true;
  const path = [...changed].find((path) => hasFragment(known, [path]));
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

const activityStep = (
  { unit, implied }: UnitTarget,
  state: UnitState,
  affected: boolean,
): UnitDetail['activity'] => {
  if (unit.active && !isUp(state)) return 'start';
  if (unit.active) return affected ? 'restart' : null;
  // Also if it does not run now: it may be started before the file is written.
  if (implied || state.triggeredBy.length > 0) return affected ? 'refresh' : null;
  const runs = state.active === 'active' || state.active === 'reloading' || isFailed(state);
  return runs && state.active !== 'failed' ? 'stop' : null;
};

const describeActivity = (activity: NonNullable<UnitDetail['activity']>, state: UnitState): string => {
  if (activity === 'restart') return 'restart: a file it reads changed';
  if (activity === 'refresh')
    return isRunning(state)
      ? 'restart: a file it reads changed'
      : 'restart if it starts meanwhile: a file it reads changed';
  return `${activity}: it is ${state.load === 'loaded' ? describeUnit(state) : state.load}`;
};

/** The files that the unit will use: ours in their desired state, others in their live state. */
const inputsOf = async (
  { wanted, options, owned, taken, signal }: UnitContext,
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
