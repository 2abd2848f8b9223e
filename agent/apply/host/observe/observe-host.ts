import { defined } from '#bundles/defined';
import type { HostDeb } from '#bundles/formats/bundle/host-package';
import type { DesiredPackage, Drift, OwnedObject } from '../../../model/target.ts';
import { readWanted, type Wanted, type WantedDirectory, type WantedFile } from '../desired/read-wanted.ts';
import { stopIfAborted } from '../host-error.ts';
import { type HostTargetOptions, whyUnmanaged } from '../host-options.ts';
import { type Accounts, readAccounts, resolveOwner } from '../live/accounts.ts';
import { type Entry, entryReader, NO_BYTES, readEntry } from '../live/read-entry.ts';
import {
  directoryKey,
  fileKey,
  type Owned,
  readOwned,
  RAUC_KEY,
  secretKey,
  imageKey,
  debKey,
} from '../owned/owned-state.ts';
import { describeOther } from '../plan/plan-rauc.ts';
import { describeSlot, isNext, readRauc } from '../rauc/read-rauc.ts';
import { whyNoRauc } from '../rauc/why-no-rauc.ts';
import { keptBy, type KeptMode } from '../owned/kept-mode.ts';
import { octal } from '../owned/octal.ts';
import { placesOf } from '../live/read-places.ts';
import { locate } from '../desired/locate.ts';
import { currentKeys } from '../owned/current-keys.ts';
import { observePlaybooks } from '../playbooks/observe-playbooks.ts';
import { describeSysctl } from '../settings/read-sysctl.ts';
import { settingDifferences } from '../settings/setting-differences.ts';
import { settingsOf } from '../settings/setting.ts';
import { observeUnits } from './observe-units.ts';
import { readPodman } from '../images/podman-storage.ts';
import { type DpkgState, readDpkg } from '../debs/dpkg-state.ts';
import { newerOnHost } from '../debs/newer-on-host.ts';

/** `taken`: keys owned by other packages -> their assignment. */
type Inventory = { readonly owned: readonly OwnedObject[]; readonly taken: ReadonlyMap<string, string> };

/**
 * Returns all differences between the host and the package (checklist D1). Reads only.
 * @throws FleetError PERMISSION, IO, APPLY_FAILED, ABORTED; an unreadable file is never 'in sync' (D4)
 */
export const observeHost = async (
  options: HostTargetOptions,
  desired: DesiredPackage,
  { owned: objects, taken }: Inventory,
  signal: AbortSignal,
): Promise<readonly Drift[]> => {
  const places = placesOf(options.root);
  const wanted = await locate(readWanted(desired), places);
  const accounts = await readAccounts(options.root);
  const names = await currentKeys(places, [...objects.map(({ key }) => key), ...taken.keys()]);
  const owned = readOwned(objects, names);
  const drifts: Drift[] = [];
  for (const directory of wanted.directories) {
    stopIfAborted(signal);
    const { path } = directory;
    const live = await readEntry(options.root, path, { maxBytes: NO_BYTES, signal });
    const recorded = owned.directories.get(path)?.kept;
    drifts.push(
      ...compare(options, accounts, directoryKey(path), directory, { type: 'directory', live, recorded }),
    );
  }
  await using reader = entryReader(options.root, signal);
  const look = async (key: string, file: WantedFile, source: string): Promise<void> => {
    stopIfAborted(signal);
    const live = await reader.read(file.path, file.size);
    if (live.type === 'file' && live.digest !== file.digest)
      drifts.push({ key, what: 'content', message: `${file.named} has other content than ${source}` });
    const recorded = owned.files.get(file.path)?.kept;
    drifts.push(...compare(options, accounts, key, file, { type: 'file', live, recorded }));
  };
  for (const file of wanted.files.values()) await look(fileKey(file.path), file, 'the package');
  for (const secret of wanted.secrets.values()) await look(secretKey(secret.path), secret, 'its secret');
  drifts.push(...(await observeExtra(options, wanted, owned, signal)));
  drifts.push(...(await observeRauc(options, wanted, signal)));
  drifts.push(...(await observeDebs(options, wanted, owned, signal)));
  drifts.push(...(await observeImages(options, wanted)));
  if (whyUnmanaged(options) === undefined)
    for (const { program, file } of settingsOf(wanted)) {
      if (program !== 'sysctl') continue;
      for (const difference of await settingDifferences(options, wanted, file))
        drifts.push(
          defined({
            key: `setting:${file.named}`,
            what: 'value',
            message: describeSysctl(difference),
            stays: difference.why === 'missing' ? true : undefined,
          }),
        );
    }
  stopIfAborted(signal);
  const others = new Map([...taken].map(([key, other]) => [names.get(key) ?? key, other]));
  drifts.push(...(await observeUnits(options, { places, wanted, owned, taken: others }, signal)));
  drifts.push(...(await observePlaybooks(options, desired, objects, signal)));
  return drifts;
};

/** `recorded`: of the inventory. */
type Found = {
  readonly type: 'file' | 'directory';
  readonly live: Entry;
  readonly recorded: KeptMode | undefined;
};

const compare = (
  options: HostTargetOptions,
  accounts: Accounts,
  key: string,
  wanted: WantedDirectory,
  { type, live, recorded }: Found,
): readonly Drift[] => {
  const { named: path, mode } = wanted;
  if (live.type === 'missing') return [{ key, what: 'missing', message: `${path} is missing` }];
  if (live.type !== type)
    return [{ key, what: 'type', message: `${path} is not a ${type} but ${describeType(live.type)}` }];
  const drifts: Drift[] = [];
  if (live.mode !== mode && !keptBy(recorded, mode, live))
    drifts.push({ key, what: 'mode', message: `${path} has mode ${octal(live.mode)}, not ${octal(mode)}` });
  const isOwner = ownerCheck(options, accounts, wanted);
  if (!isOwner(live))
    drifts.push({
      key,
      what: 'owner',
      message: `${path} belongs to ${live.uid}:${live.gid}, not to ${wanted.owner}:${wanted.group}`,
    });
  return drifts;
};

type Meta = { readonly uid: number; readonly gid: number };

/** An agent that is not root cannot set owners: a file of its own user is in sync, a file of another user is drift. */
const ownerCheck = (
  options: HostTargetOptions,
  accounts: Accounts,
  wanted: WantedDirectory,
): ((live: Meta) => boolean) => {
  const ids = resolveOwner(accounts, wanted, options.isRoot);
  const isWanted = (live: Meta) => live.uid === ids?.uid && live.gid === ids.gid;
  return options.isRoot ? isWanted : (live) => isWanted(live) || live.uid === process.geteuid?.();
};

const describeType = (type: 'file' | 'link' | 'directory' | 'other'): string =>
  ({ file: 'a file', link: 'a symbolic link', directory: 'a directory', other: 'something else' })[type];

/** Files of the inventory that the package no longer has, because their removal did not happen. */
const observeExtra = async (
  options: HostTargetOptions,
  wanted: Wanted,
  owned: Owned,
  signal: AbortSignal,
): Promise<readonly Drift[]> => {
  const extra: Drift[] = [];
  for (const [path, own] of owned.files) {
    if (wanted.files.has(path)) continue;
    const maxBytes = own.largest ?? options.maxBackupBytes;
    const live = await readEntry(options.root, path, { maxBytes, signal });
    if (live.type === 'file' && live.digest === own.digest && !own.replaced)
      extra.push({ key: fileKey(path), what: 'extra', message: `${path} is no longer in the package` });
  }
  for (const path of owned.secrets) {
    if (wanted.secrets.has(path)) continue;
    const live = await readEntry(options.root, path, { maxBytes: NO_BYTES, signal });
    if (live.type === 'file')
      extra.push({ key: secretKey(path), what: 'extra', message: `${path} is no longer in the package` });
  }
  return extra;
};

/** Another system than that of the package is left as it is: no correction reboots a host. @throws FleetError RAUC_BLOCKED, TOOL_MISSING */
const observeRauc = async (
  options: HostTargetOptions,
  { rauc }: Pick<Wanted, 'rauc'>,
  signal: AbortSignal,
): Promise<readonly Drift[]> => {
  if (!rauc || whyNoRauc(options) !== undefined) return [];
  const state = await readRauc(options, signal);
  const { booted, primary } = state;
  if (booted.version !== rauc.version)
    return [{ key: RAUC_KEY, what: 'version', message: describeOther(booted, rauc.version), stays: true }];
  if (isNext(state, booted)) return [];
  const message = `the boot loader would start ${primary}, not ${describeSlot(booted)}`;
  return [{ key: RAUC_KEY, what: 'primary', message }];
};

/** Images of the package that are no longer in Podman's storage. @throws FleetError PERMISSION, IO */
const observeImages = async (
  options: HostTargetOptions,
  { images }: Pick<Wanted, 'images'>,
): Promise<readonly Drift[]> => {
  if (images.length === 0 || whyUnmanaged(options) !== undefined || !options.isRoot) return [];
  const podman = await readPodman(options.root);
  return images
    .filter((name) => podman.find(name) === 'missing')
    .map((name) => ({
      key: imageKey(name),
      what: 'missing',
      message: `the image ${name} is not in Podman's storage`,
    }));
};

/** Debian packages that are not as the package wants them: named ones, and those that were installed for them. */
const observeDebs = async (
  options: HostTargetOptions,
  { install }: Wanted,
  { debs }: Owned,
  signal: AbortSignal,
): Promise<readonly Drift[]> => {
  if (!install || options.root !== '/') return [];
  const dpkg = await readDpkg({ run: options.run, signal });
  const packages = await newerOnHost({ run: options.run, signal }, install.packages, dpkg);
  return packages
    .filter(({ name, asDependency }) => !asDependency || debs.has(name))
    .flatMap((deb) => compareDeb(deb, dpkg.get(deb.name)));
};

const compareDeb = ({ name, version, hold }: HostDeb, state: DpkgState | undefined): readonly Drift[] => {
  const drift = (what: string, message: string): Drift => ({
    key: debKey(name),
    what,
    message: `${name} ${message}`,
  });
  if (!state || state.status === 'removed') return [drift('missing', 'is not installed')];
  if (state.status === 'broken') return [drift('broken', `is ${state.word}`)];
  return [
    ...(state.version === version
      ? []
      : [drift('version', `is installed at ${state.version}, not at ${version}`)]),
    ...(state.hold === (hold === true) ? [] : [drift('hold', hold ? 'is not on hold' : 'is on hold')]),
  ];
};
