import { FleetError, toFleetError } from '#bundles/errors';
import { type OpenMedium, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { removeFilesFromMedium } from '#bundles/formats/medium/write-onto-medium';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { nameSome } from '#bundles/name-some';
import { nearestName } from '#bundles/nearest-name';
import { type Channel, formatChannel, sameChannel } from '#bundles/names';
import type { NewDocument } from '../../../load/releases/artifact.ts';
import type { Hub } from '../../hub.ts';
import type { ComposedSites } from '../layers/compose-sites.ts';
import { writeSites } from '../write-site.ts';
import { refuseOlder } from '../refuse-older.ts';
import { type SiteSigner, siteSigner } from '../site-signer.ts';
import { type Answered, addDocuments } from '../medium/add-documents.ts';
import { parts } from '../../store/parts.ts';
import type { SiteRow } from '../../store/tables.ts';
import { abortIfAsked, oddEntries, type Refused } from '../../refused.ts';
import { siteDocumentsOf } from '../site-documents.ts';
import { type EnrolledSite, enrollSites, type Redeem } from './enroll-agents.ts';
import type { EnrolmentOptions } from './plan-enrolment.ts';
import { type EnrolmentRequest, readRequests } from './read-requests.ts';

/** A key that a person has compared, and the channel that its agent is to follow if the person named it. */
export type AcceptedKey = { readonly fingerprint: string; readonly channel?: Channel | undefined };

/** Which requests to accept. Anyone can write a request to a medium, so a person compares each fingerprint. */
export type EnrolmentChoice = {
  /** Only this site's requests. */
  readonly site?: string | undefined;
  /** If not empty, only requests for these keys are accepted. */
  readonly accept: readonly AcceptedKey[];
  /** Asks a person about each request if `accept` is empty. undefined: not interactive. */
  readonly confirm?: ((request: EnrolmentRequest) => Promise<boolean>) | undefined;
  /** Takes requests that prove a token of the office without a person. undefined: a token counts for nothing. */
  readonly redeem?: Redeem | undefined;
  /** Composes the values of these sites from layers in the repository, and writes their statements, before the answer is written. */
  readonly compose?: ((sites: readonly string[]) => Promise<ComposedSites['held']>) | undefined;
};

export type EnrolledMedium = {
  readonly sites: readonly EnrolledSite[];
  /** Requests that were not accepted; they stay on the medium. */
  readonly left: readonly EnrolmentRequest[];
  readonly refused: readonly Refused[];
  /** Sites whose values from layers do not fit: they are enrolled without them. */
  readonly held: ComposedSites['held'];
  /** Whether the answers were written to the medium; undefined if no request was accepted. */
  readonly answered: Answered | undefined;
};

/** Sites that are enrolled in one transaction, so that they share a commit. */
const BATCH = 200;

/**
 * Enrols the agents whose requests are on a medium: registers them, signs the statements of their sites, writes these to the
 * layout and to the medium, and finally removes the answered requests. If interrupted, the same call continues: a site is enrolled or not,
 * the layout has the old index or the new one, and each request stays until its answer is on the medium.
 * @throws FleetError MEDIUM_EMPTY if there is no request; UNKNOWN_KEY if an accepted key has no request; USAGE if `accept` is
 *   empty and `confirm` is undefined or a key is to be replaced; BUSY, ROLLBACK from the layout; ABORTED
 */
export const enrollMedium = async (
  hub: Hub,
  medium: OpenMedium,
  options: EnrolmentOptions & EnrolmentChoice,
  now: Date,
  signal?: AbortSignal,
): Promise<EnrolledMedium> => {
  const refused: Refused[] = [];
  const requests = await readRequests(medium, hub.keys.root.fleet, refused);
  if (requests.length === 0 && refused.length === 0) {
    throw new FleetError('MEDIUM_EMPTY', `no agent has a request on ${medium.path}`, {
      hint: 'Run fleet-agent enroll on the machine, with this medium',
    });
  }
  refused.push(...(await oddEntries(medium, REQUESTS_FOLDER)));
  const chosen = await choose(requests, options, medium.path, refused, signal);
  // Opened once: its index names every site.
  const layout = await openOrStartLayout(hub.layout);
  const signer: SiteSigner = {
    ...(await siteSigner(hub)),
    checkOwn: (own, floor) => refuseOlder(layout, own, floor),
  };
  const sites: EnrolledSite[] = [];
  const terms = { options: { ...options, factLabels: hub.factLabels }, signer, now };
  for (const part of parts([...Map.groupBy(chosen, ({ site }) => site)], BATCH)) {
    abortIfAsked(signal);
    sites.push(...(await enrollSites(hub.store, part, refused, terms)));
  }
  const enrolled = sites.map(({ site }) => site);
  await writeSites(hub, enrolled, { now, command: 'sites enroll', signal });
  const names = enrolled.map(({ name }) => name);
  const held = sites.length === 0 ? [] : ((await options.compose?.(names)) ?? []);
  const answered = await answer(hub, medium, sites, now);
  const dealtWith = new Set([...chosen, ...refused].map(({ path }) => path));
  return {
    sites: await withNewest(hub, sites),
    held,
    left: requests.filter(({ path }) => !dealtWith.has(path)),
    refused,
    answered,
  };
};

/** The sites with the statements that they have now. */
const withNewest = async (
  { store }: Hub,
  sites: readonly EnrolledSite[],
): Promise<readonly EnrolledSite[]> => {
  const newest = new Map<string, SiteRow>();
  for (const names of parts(sites.map(({ site }) => site.name)))
    for (const row of await store.db.selectFrom('site').selectAll().where('name', 'in', names).execute())
      newest.set(row.name, row);
  return sites.map((one) => ({ ...one, site: newest.get(one.site.name) ?? one.site }));
};

const choose = async (
  requests: readonly EnrolmentRequest[],
  { site, accept, confirm, replaceKey, redeem }: EnrolmentOptions & EnrolmentChoice,
  path: string,
  refused: Refused[],
  signal: AbortSignal | undefined,
): Promise<readonly EnrolmentRequest[]> => {
  const ofSite = requests.filter((request) => site === undefined || request.site === site);
  const named = new Map(accept.map((one) => [one.fingerprint, one]));
  const isTokens = ({ proof, exposesToken, fingerprint }: EnrolmentRequest): boolean =>
    redeem !== undefined && (proof !== undefined || exposesToken) && !named.has(fingerprint);
  const tokens = ofSite.filter(isTokens);
  const byToken = tokens.filter(({ proof }) => proof !== undefined);
  for (const request of tokens)
    if (!byToken.includes(request)) refused.push({ path: request.path, error: exposed(request) });
  const asking = ofSite.filter((request) => !isTokens(request));
  if (accept.length > 0) {
    checkAccepted(asking, accept, refused, path);
    const chosen = asking.flatMap((request) => {
      const one = named.get(request.fingerprint);
      return one ? [agree(request, one)] : [];
    });
    return [...byToken, ...chosen];
  }
  if (asking.length > 0 && (replaceKey || (!confirm && tokens.length === 0)))
    throw unnamed(asking, replaceKey, path);
  const chosen: EnrolmentRequest[] = [...byToken];
  for (const request of asking) {
    abortIfAsked(signal);
    if (await confirm?.(request)) chosen.push(request);
  }
  return chosen;
};

/**
 * A token in clear text proves nothing: anybody who held the medium could read it. It may be used up at the hub by somebody else, so it has
 * to be revoked, too.
 */
const exposed = ({ path, id, fingerprint }: EnrolmentRequest): FleetError =>
  new FleetError(
    'TOKEN_INVALID',
    `${path} of ${id} carries its one-time token in clear text, so that a finder of the medium could have written it`,
    {
      subject: fingerprint,
      hint: `Revoke the token (fleet-scheduler tokens list, tokens revoke). Update the agent and let it ask again with a new file of hosts; or compare the fingerprint with the one that the agent printed, and give it with --accept ${fingerprint}`,
    },
  );

/** @throws FleetError REQUEST_INVALID if the agent asks for another channel than the person named with its key */
const agree = (request: EnrolmentRequest, { channel }: AcceptedKey): EnrolmentRequest => {
  if (!channel) return request;
  if (!request.requested || sameChannel(request.requested.channel, channel))
    return { ...request, agreed: channel };
  throw new FleetError(
    'REQUEST_INVALID',
    `${request.id} asks for ${formatChannel(request.requested.channel)}, and --accept names ${formatChannel(channel)}`,
    {
      subject: request.fingerprint,
      hint: 'Ask the site which is right; --channel enrols it for another channel than it asks for',
    },
  );
};

const unnamed = (requests: readonly EnrolmentRequest[], replaceKey: boolean, path: string): FleetError => {
  const why = replaceKey ? '--replace-key requires a named key' : 'no key was accepted';
  return new FleetError('USAGE', `${why}: ${path} has a request of ${describeKeys(requests)}`, {
    subject: '--accept',
    hint: 'Compare the fingerprint with the one that the agent printed, and give it with --accept',
  });
};

/**
 * Every accepted fingerprint needs a request; otherwise a key may have been substituted.
 * @throws FleetError UNKNOWN_KEY; or why the request of the key was refused
 */
const checkAccepted = (
  asking: readonly EnrolmentRequest[],
  accept: readonly AcceptedKey[],
  refused: readonly Refused[],
  path: string,
): void => {
  const absent = accept.find(
    (wanted) => !asking.some(({ fingerprint }) => fingerprint === wanted.fingerprint),
  )?.fingerprint;
  if (absent === undefined) return;
  const changed = refused.find(({ error }) => error.subject === absent);
  if (changed) throw changed.error;
  const meant = nearestName(
    absent,
    asking.map(({ fingerprint }) => fingerprint),
  );
  const near = asking.find(({ fingerprint }) => fingerprint === meant);
  const there = near
    ? `That of ${near.id} is ${near.fingerprint}, which differs at digit ${differsAt(absent, near.fingerprint)}: mistyped? Compare it`
    : `It has requests of ${describeKeys(asking)}. Compare the fingerprint`;
  const [unread] = refused;
  const why = unread ? `One that was refused: ${unread.error.message}. ` : '';
  throw new FleetError('UNKNOWN_KEY', `no request on ${path} is for the key ${absent}`, {
    hint: `${why}${asking.length === 0 ? `It has no ${unread ? 'other ' : ''}request. Compare the fingerprint` : there} with the one that the agent printed; stop if they differ`,
  });
};

/** Position of the first digit that differs, counted from 1. */
const differsAt = (one: string, other: string): number =>
  one.split('').findIndex((digit, at) => digit !== other[at]) + 1;

const describeKeys = (requests: readonly EnrolmentRequest[]): string =>
  nameSome(
    requests.map(({ id, fingerprint }) => `${id} with the key ${fingerprint}`),
    5,
  );

const answer = async (
  hub: Hub,
  medium: OpenMedium,
  sites: readonly EnrolledSite[],
  now: Date,
): Promise<Answered | undefined> => {
  if (sites.length === 0) return undefined;
  const documents: NewDocument[] = [];
  for (const names of parts(sites.map(({ site }) => site.name)))
    for (const one of await siteDocumentsOf(names, { db: hub.store.db, keys: hub.keys }))
      documents.push(...one.documents);
  const answered = await addDocuments(medium, hub.keys.roots, documents, now);
  if (!answered.written) return answered;
  const paths = sites.flatMap(({ enrolments }) => enrolments).map(({ request }) => request.path);
  await removeFilesFromMedium(medium.path, paths).catch((error: unknown) => {
    throw toFleetError(error, `removing answered requests from ${medium.path}`);
  });
  return answered;
};
