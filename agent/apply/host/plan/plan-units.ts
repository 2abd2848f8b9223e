import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import type { OwnedObject, Step } from '../../../model/target.ts';
import { stopIfAborted } from '../host-error.ts';
import { whyUnmanaged } from '../host-options.ts';
import { note, toStep } from '../host-step.ts';
import { asJson, type OwnedUnit, unitKey } from '../owned/owned-state.ts';
import { type ForeignFile, filesBeforePackage } from '../systemd/foreign-files.ts';
import { packageUnit, type PackageUnit } from '../systemd/package-unit.ts';
import { linksOf, readStarted, RELOAD } from '../systemd/started.ts';
import { hasFragment, isFileOfUnit, isUnitFile, LOAD_PATH, namesIn } from '../systemd/unit-files.ts';
import { isEnabled, isUp, readStates } from '../systemd/unit-state.ts';
import type { UnitContext } from './plan-context.ts';
import { isRestartedBy, needsLinks, planUnit, type UnitTarget } from './plan-unit.ts';
import { planQuadletRemovals } from './plan-quadlet-removals.ts';
import { unitsToRemove, planUnitRemovals } from './plan-unit-removals.ts';

export type UnitPlan = {
  /** Runs before files are removed, because stopping and disabling need the unit's file. */
  readonly removals: readonly Step[];
  readonly reload: readonly Step[];
  readonly steps: readonly Step[];
  readonly owns: readonly OwnedObject[];
  /** The records in started.ts that a change of this path invalidates. */
  readonly outdatedBy: (path: string) => readonly string[];
};

/**
 * `changed`: paths that the plan writes or removes. `found`: files that were identical before the first apply; a unit with such a file
 * belongs to the package. `foreign`: by unit, what changes or replaces it.
 */
type Files = {
  readonly changed: ReadonlySet<string>;
  readonly found: ReadonlySet<string>;
  readonly foreign: ReadonlyMap<string, readonly ForeignFile[]>;
};

/** Plans units in their listed order. A unit is restarted only if a file that it watches changes (checklist H3). */
export const planUnits = async (context: UnitContext, files: Files): Promise<UnitPlan> => {
  const { options, owned, signal } = context;
  const { changed } = files;
  const inert = whyUnmanaged(options);
  const targets = [
    ...wantedUnits(context, files),
    ...(await impliedUnits(context)),
    ...(await changedUnits(context, changed)),
    ...restoredUnits(context),
  ];
  const known = [
    ...targets.map((target) => target.known),
    ...[...owned.units.keys()].map((name) => packageUnit(name, context.seen.get(name), owned)),
  ];
  const steps: Step[] = [];
  const relinked = new Set<string>();
  let reload = [...changed].some((path) => isUnitFile(path, known));
  for (const target of targets) {
    stopIfAborted(signal);
    const { name } = target.unit;
    if (options.services === 'none') {
      steps.push(note(unitKey(name), 'skipped', 'no init'));
      continue;
    }
    reload ||= target.known.state?.needsReload === true;
    const relink = await needsLinks(context, target, changed);
    if (relink) relinked.add(name);
    steps.push(await planUnit(context, target, changed, relink));
    if (inert) steps.push(note(unitKey(name), 'skipped', `not started or stopped: ${inert}`));
  }
  if (!inert) reload ||= (await readStarted(options, RELOAD)) === 'stale';
  return {
    removals: [...planUnitRemovals(context), ...(await planQuadletRemovals(context, changed))],
    reload: reload && !inert ? [reloadStep] : [],
    steps,
    owns: targets.flatMap(({ unit, own }) => (own ? [{ key: unitKey(unit.name), state: asJson(own) }] : [])),
    outdatedBy: (path) => [
      ...targets
        .filter((target) => relinked.has(target.unit.name) && hasFragment(target.known, [path]))
        .map(({ unit }) => linksOf(unit.name)),
      ...(inert ? [] : targets.filter((target) => isRestartedBy(target, path)).map(({ unit }) => unit.name)),
      ...(!inert && isUnitFile(path, known) ? [RELOAD] : []),
    ],
  };
};

const reloadStep = toStep('systemd:daemon-reload', 'configured', 'unit files changed', {
  kind: 'daemon-reload',
  detail: {},
});

const NOT_FOUND = 'not-found';

/** The units of the package. Files that a unit watched before count as well, because they may be removed now. */
const wantedUnits = (context: UnitContext, { found, foreign }: Files): readonly UnitTarget[] => {
  const { wanted, owned, seen, units } = context;
  if (!wanted) return [];
  return wanted.units.flatMap((unit, order): readonly UnitTarget[] => {
    const known = units.find(({ name }) => name === unit.name);
    if (!known) return [];
    const before = owned.units.get(unit.name);
    const own = [...wanted.files.values()]
      .filter(({ path, named }) => isFileOfUnit(known, path) || isFileOfUnit(known, named))
      .map(({ path }) => path);
    const watches = [...new Set([...own, ...unit.restartOn, ...programsOf(context, known)])].toSorted(
      compareBytes,
    );
    const enablement = seen.get(unit.name)?.enablement ?? NOT_FOUND;
    const replaced = before ? before.replaced : stateBefore(context, { known, enablement });
    const isFound = before ? before.provisional !== undefined : hasFragment(known, found);
    const isOurs = hasFragment(known, namesIn(wanted));
    return [
      {
        unit,
        known,
        enablement,
        watches: [...new Set([...watches, ...(before?.watches ?? [])])],
        own: {
          order,
          watches,
          ...defined({ quadlet: known.quadlet }),
          ...(!isOurs && filesBeforePackage(known, foreign.get(unit.name) ?? [], { owned })),
          ...(replaced && (isFound ? { provisional: { replaced } } : { replaced })),
        },
      },
    ];
  });
};

/** Units that the package brings and does not list, and that a socket, timer or path unit of its list starts. */
const impliedUnits = async (context: UnitContext): Promise<readonly UnitTarget[]> => {
  const { wanted, owned, seen, options, signal } = context;
  if (!wanted) return [];
  const listed = new Set(wanted.units.map(({ name }) => name));
  const paths = [...new Set([...wanted.files.keys(), ...owned.files.keys()])];
  const filesOf = (name: string): readonly string[] =>
    paths.filter((path) => isFileOfUnit({ name, names: [name] }, path));
  const names = wanted.units
    .map(({ name }) => seen.get(name)?.state)
    // The instances of Accept=yes serve one connection each; the next connection gets the new file.
    .flatMap((state) => (state && !state.accepts ? state.triggers : []))
    .filter((name) => !listed.has(name) && filesOf(name).length > 0);
  const states = await readStates(options, [...new Set(names)], signal);
  return [...states].map(([name, state]) => ({
    unit: { name, enabled: false, active: false, restartOn: [] },
    known: packageUnit(name, { enablement: '', state }, owned),
    enablement: '',
    watches: [...filesOf(name), ...programsOf(context, { state })],
    implied: true,
  }));
};

/** Files of the package in ExecStart= of a unit that another starts: nobody would start it again for a new program. */
const programsOf = (
  { wanted, owned }: UnitContext,
  { state }: Pick<PackageUnit, 'state'>,
): readonly string[] =>
  state && state.triggeredBy.length > 0
    ? state.programs.filter((path) => wanted?.files.has(path) || owned.files.has(path))
    : [];

/** Units of other packages for which this one writes or removes a drop-in, of a prefix or a type for example. */
const changedUnits = async (
  { taken, wanted, owned, options, signal }: UnitContext,
  changed: ReadonlySet<string>,
): Promise<readonly UnitTarget[]> => {
  const dropIns = [...changed].filter((path) => path.endsWith('.conf') && LOAD_PATH.test(path));
  if (dropIns.length === 0) return [];
  const names = [...taken.keys()]
    .filter((key) => key.startsWith(unitKey('')))
    .map((key) => key.slice(unitKey('').length))
    .filter((name) => !wanted?.units.some((unit) => unit.name === name) && !owned.units.has(name));
  const states = await readStates(options, names, signal);
  return [...states].flatMap(([name, state]): readonly UnitTarget[] => {
    const known = packageUnit(name, { enablement: '', state }, owned);
    const watches = dropIns.filter((path) => isFileOfUnit(known, path));
    const unit = { name, enabled: false, active: false, restartOn: [] };
    return watches.length > 0 ? [{ unit, known, enablement: '', watches, implied: true }] : [];
  });
};

/** Units that existed before the package and that it no longer names. Their previous state is restored. */
const restoredUnits = ({ owned, wanted, taken, seen }: UnitContext): readonly UnitTarget[] =>
  unitsToRemove(owned.units, wanted?.units ?? []).flatMap(([name, { replaced, watches }]) =>
    replaced && !taken.has(unitKey(name))
      ? [
          {
            unit: { name, ...replaced, restartOn: [] },
            known: packageUnit(name, seen.get(name), owned),
            enablement: seen.get(name)?.enablement ?? NOT_FOUND,
            watches,
          },
        ]
      : [],
  );

/** undefined if the unit did not exist or came with a file of ours. */
const stateBefore = (
  { options, owned }: UnitContext,
  { known, enablement }: Pick<UnitTarget, 'known' | 'enablement'>,
): OwnedUnit['replaced'] => {
  if (options.services === 'none' || hasFragment(known, owned.files.keys())) return undefined;
  const { state } = known;
  if (enablement === NOT_FOUND) return undefined;
  // Of a Debian package that was removed only the init script stays, which is-enabled takes for a unit.
  if (state?.load === 'not-found') return undefined;
  return { enabled: isEnabled(enablement), active: state !== undefined && isUp(state) };
};
