import { readFile } from 'node:fs/promises';
import { findReference, openOrStartLayout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import { DAY_MS, parseTime } from '#bundles/time';
import { parseCertificate } from '#bundles/trust/root/certificate';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { leaseReference } from '../../load/releases/references.ts';
import { readLease } from '../../release/lease/read-lease.ts';
import { shortestFreshness } from '../sites/shortest-freshness.ts';
import type { Desired } from '../questions/state/what-runs-where.ts';
import type { Database } from '../store/tables.ts';
import type { End } from './alarm-facts.ts';

/** Officers meet for a root, and an authority comes with one: two months are short. */
const CEREMONY = { warnMs: 60 * DAY_MS, criticalMs: 14 * DAY_MS };
const CERTIFICATE = { warnMs: 21 * DAY_MS, criticalMs: 7 * DAY_MS };
const SITE = { warnMs: 30 * DAY_MS, criticalMs: 7 * DAY_MS };
/**
 * Parts of a life. The hub renews a release when a third is left and a lease when two thirds are: with less than this left, the
 * renewal does not work.
 */
const RELEASE = { warn: 1 / 4, critical: 1 / 10 };
const LEASE = { warn: 1 / 3, critical: 1 / 10 };

export type EndsOf = {
  readonly keys: KeyDirectory;
  readonly db: Database;
  readonly layout: string;
  readonly desired: ReadonlyMap<string, Desired>;
  readonly channels: readonly Channel[];
  /** A certificate that the hub shows from a file. */
  readonly certificateFile: string | undefined;
};

/**
 * Reads expiry times and how early each is announced. @throws FleetError for keys, a layout or a certificate that cannot be
 * read
 */
export const readEnds = async (of: EndsOf): Promise<readonly End[]> => [
  ...(await readKeyEnds(of)),
  ...of.channels.flatMap((channel) => releaseEnd(channel, of.desired)),
  ...(await readLeaseEnds(of)),
  ...(await readSiteEnds(of)),
];

const readKeyEnds = async ({ keys, certificateFile }: EndsOf): Promise<readonly End[]> => {
  const { root } = keys;
  const root_: End = {
    kind: 'ROOT_ENDS',
    what: `Root ${root.version} of the fleet`,
    at: root.expires,
    ...CEREMONY,
  };
  const authorities = root.agentCertificates.map((pem, at): End => {
    const { validToDate } = parseCertificate(pem, 'the authority');
    const name = at === 0 ? 'authority' : `authority-${at + 1}`;
    return {
      kind: 'CERTIFICATE_ENDS',
      what: "The certificate of the agents' authority",
      at: validToDate,
      name,
      ...CEREMONY,
    };
  });
  if (certificateFile === undefined) return [root_, ...authorities];
  const { validToDate } = parseCertificate(await readFile(certificateFile, 'utf8'), certificateFile);
  const shown: End = {
    kind: 'CERTIFICATE_ENDS',
    what: 'The certificate that the hub shows',
    at: validToDate,
    name: 'hub',
    ...CERTIFICATE,
  };
  return [root_, ...authorities, shown];
};

const releaseEnd = (channel: Channel, desired: ReadonlyMap<string, Desired>): readonly End[] => {
  const release = desired.get(formatChannel(channel));
  if (release?.kind !== 'release') return [];
  const at = parseTime(release.expires);
  const life = at.getTime() - parseTime(release.issuedAt).getTime();
  const what = `Release ${release.version} of ${formatChannel(channel)}`;
  return [{ kind: 'RELEASE_ENDS', what, at, ...channel, ...partsOf(RELEASE, life) }];
};

/** When agents stop accepting the lease: at its end, or sooner by the freshness that they require. */
const readLeaseEnds = async ({ keys, db, layout: directory, channels }: EndsOf): Promise<readonly End[]> => {
  const layout = await openOrStartLayout(directory);
  const freshness = await shortestFreshness(db);
  const ends: End[] = [];
  for (const channel of channels) {
    if (!findReference(layout, leaseReference(channel))) continue;
    const lease = await readLease(layout, channel, keys.roots);
    if (!lease) continue;
    const { version, issuedAt, expires } = lease.predicate;
    const issued = parseTime(issuedAt).getTime();
    const seconds = freshness.get(formatChannel(channel));
    const life = Math.min(
      parseTime(expires).getTime() - issued,
      seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1000,
    );
    const what = `Lease ${version} of ${formatChannel(channel)}`;
    ends.push({ kind: 'LEASE_ENDS', what, at: new Date(issued + life), ...channel, ...partsOf(LEASE, life) });
  }
  return ends;
};

const readSiteEnds = async ({ db }: EndsOf): Promise<readonly End[]> => {
  const rows = await db
    .selectFrom('site')
    .select(['name', 'expires_at'])
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('agent')
          .select('agent.id')
          .whereRef('agent.site', '=', 'site.name')
          .where('agent.revoked_at', 'is', null),
      ),
    )
    .orderBy('name')
    .execute();
  return rows.map(({ name: site, expires_at: expires }) => ({
    kind: 'SITE_STATEMENT_ENDS',
    what: `The statement of site ${site}`,
    at: parseTime(expires),
    site,
    ...SITE,
  }));
};

const partsOf = ({ warn, critical }: { readonly warn: number; readonly critical: number }, life: number) => ({
  warnMs: life * warn,
  criticalMs: life * critical,
});
