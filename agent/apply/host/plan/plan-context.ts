import { FleetError } from '#bundles/errors';
import type { OwnedObject, Step } from '../../../model/target.ts';
import type { Wanted, WantedDirectory } from '../desired/read-wanted.ts';
import { type HostTargetOptions, whyUnmanaged } from '../host-options.ts';
import type { OwnerToSet } from '../host-step.ts';
import { settingsOf } from '../settings/setting.ts';
import { type Accounts, hasOwner, resolveOwner } from '../live/accounts.ts';
import type { Entry } from '../live/read-entry.ts';
import type { Places } from '../live/read-places.ts';
import type { KeptMode } from '../owned/kept-mode.ts';
import { octal } from '../owned/octal.ts';
import type { Owned } from '../owned/owned-state.ts';
import type { PackageUnit } from '../systemd/package-unit.ts';
import type { Quadlets } from '../systemd/quadlets.ts';
import type { SeenUnit } from '../systemd/unit-state.ts';

/** Input of all parts of a plan. */
export type PlanContext = {
  readonly options: HostTargetOptions;
  readonly places: Places;
  /** With places as paths (locate.ts). undefined: the package is removed. */
  readonly wanted: Wanted | undefined;
  readonly owned: Owned;
  /** Keys of other packages -> assignment. */
  readonly taken: ReadonlyMap<string, string>;
  readonly accounts: Accounts;
  readonly signal: AbortSignal;
};

/** Input of the parts of a plan about units. */
export type UnitContext = PlanContext & {
  /** The units of the package and those of its inventory as they are now; empty without an init. */
  readonly seen: ReadonlyMap<string, SeenUnit>;
  readonly quadlets: Quadlets;
  /** The units of the package. */
  readonly units: readonly PackageUnit[];
};

export type Part = { readonly steps: readonly Step[]; readonly owns: readonly OwnedObject[] };

type Described = {
  readonly path: string;
  readonly mode: number;
  readonly owner: string;
  readonly group: string;
};
type Live = Extract<Entry, { uid: number }>;

/** Differences in mode and owner, and the owner that cannot be set because the agent is not root. @param kept by keptBy */
export const compareMeta = (
  context: Pick<PlanContext, 'options' | 'accounts' | 'wanted'>,
  wanted: Described,
  live: Live,
  kept?: KeptMode,
): { readonly differences: readonly string[]; readonly skipped: string | undefined } => {
  const ids = ownerOf(context, wanted);
  const isOwner = ids !== undefined && 'uid' in ids && live.uid === ids.uid && live.gid === ids.gid;
  const { isRoot } = context.options;
  return {
    differences: [
      ...(live.mode === wanted.mode || kept ? [] : [`mode ${octal(live.mode)} -> ${octal(wanted.mode)}`]),
      ...(isRoot && ids && !isOwner ? [`owner ${live.uid}:${live.gid} -> ${showOwner(ids)}`] : []),
    ],
    skipped: isRoot || isOwner ? undefined : notRoot(wanted),
  };
};

const showOwner = (owner: Exclude<OwnerToSet, null>): string =>
  'uid' in owner ? `${owner.uid}:${owner.gid}` : `${owner.user}:${owner.group}`;

export const notRoot = ({ owner, group }: Pick<Described, 'owner' | 'group'>): string =>
  `not root: owner ${owner}:${group} is not set`;

/** Names if a settings file of the package is to make them. @throws FleetError APPLY_FAILED for a user or group that the host does not have */
export const ownerOf = (
  { accounts, options, wanted: all }: Pick<PlanContext, 'options' | 'accounts' | 'wanted'>,
  wanted: Described,
): Exclude<OwnerToSet, null> | undefined =>
  makesAccounts(options, all) && !hasOwner(accounts, wanted)
    ? { user: wanted.owner, group: wanted.group }
    : resolveOwner(accounts, wanted, options.isRoot);

const makesAccounts = (options: HostTargetOptions, wanted: Wanted | undefined): boolean =>
  options.isRoot &&
  whyUnmanaged(options) === undefined &&
  settingsOf(wanted).some(({ program }) => program === 'sysusers');

/** The path in the package, for a step whose path is its place. */
export const nameOf = ({
  path,
  named,
}: Pick<WantedDirectory, 'path' | 'named'>): { readonly named?: string } => (named === path ? {} : { named });

/** The error for an entry that cannot be replaced without losing it. */
export const cannotReplace = (path: string, what: string, wanted: string): FleetError =>
  new FleetError('APPLY_FAILED', `${path} is ${what} on this host; ${wanted} cannot take its place`, {
    hint: 'Move it away by hand',
  });
