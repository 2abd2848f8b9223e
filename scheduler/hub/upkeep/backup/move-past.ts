import { type Layout, openLayout, withReference, writeLayoutIndex } from '#bundles/formats/layout/layout';
import { parseImageManifest } from '#bundles/formats/layout/manifest';
import type { Timestamp } from '#bundles/time';
import type { Destination } from '#bundles/transport/publish/destination';
import { AUDIT_REPOSITORY } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readAuditLog } from '../../../load/releases/audit-log.ts';
import { AUDIT_REFERENCE } from '../../../load/releases/references.ts';
import { ANY_CHANNEL, raiseNumberFloors } from '../../../release/write/number-floors.ts';
import { forgetHead } from '../../changes/remember-head.ts';
import type { Hub } from '../../hub.ts';
import { abortIfAsked } from '../../refused.ts';
import { writeSites } from '../../sites/write-site.ts';
import { siteSigner } from '../../sites/site-signer.ts';
import { issueSite } from '../../sites/issue-site.ts';
import { parts } from '../../store/parts.ts';
import { withLayoutLock } from '../../sites/with-layout-lock.ts';
import {
  higherNumbers,
  type KnownNumbers,
  numbersAt,
  numbersIn,
  numbersReported,
  plausibleNumbers,
} from './known-numbers.ts';
import { type RepeatedChanges, repeatChanges } from './repeat-changes.ts';

export type MovePastOptions = {
  readonly now: Date;
  readonly signal: AbortSignal;
  readonly command: string;
  /** undefined: no registry is configured. */
  readonly destination: Destination | undefined;
  /** Numbers beyond the newest known that may have been given out: of a backup, by its age. */
  readonly margin: number;
  /** Numbers in the backup. */
  readonly backup?: KnownNumbers | undefined;
  /** When the database was saved: what was taken away after it is taken away again. undefined: the database is the newest. */
  readonly savedAt?: Timestamp | undefined;
};

export type MovedPast = {
  /** The next number is higher than these, by channel and site. */
  readonly floors: KnownNumbers;
  /** Entries of the audit log that were read back from the registry. */
  readonly entries: number;
  /** Numbers of the backup or of reports that are too high to be true, and do not count: 'release 9007199254740991 of prod/kiosk'. */
  readonly implausible: readonly string[];
  /** Changes that the audit log has and the database may lack. */
  readonly changes: RepeatedChanges;
};

/**
 * Makes sure that a layout and a database that may be older copies give out no number twice: the next ones are higher than all that the
 * layout, the database, the registry, agents and the backup know of, and by `margin` more. Reads newer entries of the audit log back
 * from the registry, and repeats in the database what they say was taken away since it was saved (repeatChanges).
 * @throws FleetError BUSY, DISK_FULL; REGISTRY_UNREACHABLE, REGISTRY_DENIED; AUDIT_CHAIN if the registry's log is not a continuation
 */
export const moveNumbersPast = async (hub: Hub, options: MovePastOptions): Promise<MovedPast> => {
  const { now, signal, command, destination, margin, backup, savedAt } = options;
  const { roots } = hub.keys;
  const layout = await openLayout(hub.layout);
  const reported = await numbersReported(hub.store.db);
  const names = { channels: Object.keys(reported.releases), sites: Object.keys(reported.sites) };
  const signed = higherNumbers([
    await numbersIn(layout, roots),
    ...(destination ? [await numbersAt(destination, layout, roots, names)] : []),
  ]);
  const said = higherNumbers([reported, ...(backup ? [backup] : [])]);
  const { numbers, implausible } = plausibleNumbers(signed, said);
  const known = higherNumbers([signed, numbers]);
  const raise = (numbers: Readonly<Record<string, number>>) =>
    Object.fromEntries([
      ...Object.entries(numbers).map(([name, number]) => [name, number + margin] as const),
      ...(margin > 0 ? [[ANY_CHANNEL, margin] as const] : []),
    ]);
  const floors: KnownNumbers = {
    releases: raise(known.releases),
    leases: raise(known.leases),
    sites: raise(known.sites),
  };
  const entries = await withLayoutLock(hub.layout, { now, command }, async () => {
    await raiseNumberFloors(hub.layout, floors);
    return destination ? await readLogBack(hub.layout, destination, roots, signal) : 0;
  });
  const changes = await repeatLogged(hub, savedAt, now);
  await moveSites(hub, floors.sites, changes, options);
  return { floors, entries, implausible, changes };
};

/** Sites that are moved in one transaction, so that they share a commit. */
const BATCH = 200;

/** All sites are laid out, also those that an interrupted call has moved. */
const moveSites = async (
  hub: Hub,
  floors: KnownNumbers['sites'],
  { agents }: RepeatedChanges,
  { now, command, signal }: MovePastOptions,
): Promise<void> => {
  const signer = await siteSigner(hub);
  const changed = new Set(agents.map((id) => id.split('/')[0]));
  const sites = await hub.store.db.selectFrom('site').select(['name', 'version']).orderBy('name').execute();
  const due = sites.filter(({ name, version }) => (floors[name] ?? 0) > version || changed.has(name));
  for (const part of parts(due, BATCH)) {
    abortIfAsked(signal);
    await hub.store.transact(async (tx) => {
      for (const { name } of part) await issueSite(tx, name, signer, now, undefined, floors[name]);
    });
  }
  await writeSites(hub, sites, { now, command, signal });
};

const NOTHING: RepeatedChanges = { agents: [], tokens: [], sessions: 0, lost: [] };

const repeatLogged = async (hub: Hub, since: Timestamp | undefined, now: Date): Promise<RepeatedChanges> => {
  if (since === undefined) return NOTHING;
  await forgetHead(hub);
  const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
  return hub.store.transact((tx) => repeatChanges(tx, { entries, since, by: hub.store.by, now }));
};

/** @returns the number of entries that the layout did not have */
const readLogBack = async (
  directory: string,
  destination: Destination,
  roots: readonly TrustRoot[],
  signal: AbortSignal,
): Promise<number> => {
  const target = destination.repository(AUDIT_REPOSITORY);
  const found = await target.fetchManifest('log', signal);
  if (!found) return 0;
  const layout = await openLayout(directory);
  const before = await readAuditLog(layout, roots);
  const { descriptor, bytes } = found;
  const { config, layers } = parseImageManifest(Buffer.from(bytes), `${target.name}:log`);
  for (const { digest, size } of [config, ...layers]) {
    if ((await layout.blobs.size(digest)) === size) continue;
    await layout.blobs.write(digest, size, await target.blobs.open(digest, signal), signal);
  }
  await layout.blobs.write(descriptor.digest, descriptor.size, bytes);
  const manifests = withReference(layout.manifests, AUDIT_REFERENCE, descriptor);
  const after = await readAuditLog({ ...layout, manifests } satisfies Layout, roots);
  // The registry may be behind, or be another continuation: publishing says which, and the layout stays as it is.
  const isContinued = before.entries.every(({ digest }, index) => after.entries[index]?.digest === digest);
  if (!isContinued || after.entries.length <= before.entries.length) return 0;
  await writeLayoutIndex(layout, manifests);
  return after.entries.length - before.entries.length;
};
