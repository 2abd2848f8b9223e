import { FleetError, toFleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/medium/medium';
import { removeFileFromMedium } from '#bundles/medium/write-onto-medium';
import { nameSome } from '#bundles/name-some';
import type { NewDocument } from '../../publish/artifact.ts';
import { type Hub, publishSite, siteSigner } from '../hub.ts';
import { type Answered, addDocuments } from '../medium/add-documents.ts';
import { abortIfAsked, type Refused } from '../refused.ts';
import { siteDocuments } from '../sites/site-documents.ts';
import { type EnrolledSite, enrollAgents } from './enroll-agents.ts';
import type { EnrolmentOptions } from './plan-enrolment.ts';
import { type EnrolmentRequest, readRequests } from './read-requests.ts';

/** Which requests are taken. Anybody can put one onto a stick, so a person compares each fingerprint. */
export type EnrolmentChoice = {
  /** Only this site's requests. */
  readonly site?: string | undefined;
  /** Fingerprints that were compared: only requests for these keys are taken. */
  readonly accept: readonly string[];
  /** Asks a person for each request where `accept` names none; undefined: nobody is there to be asked. */
  readonly confirm?: ((request: EnrolmentRequest) => Promise<boolean>) | undefined;
};

export type EnrolledMedium = {
  readonly sites: readonly EnrolledSite[];
  /** Requests that were not chosen. */
  readonly left: readonly EnrolmentRequest[];
  readonly refused: readonly Refused[];
  /** undefined: there was nothing to answer. */
  readonly answered: Answered | undefined;
};

/**
 * Takes the requests on a medium: registers the agents, signs the statements of their sites, writes them to the layout
 * and back onto the medium, and last removes what was answered. Cut off anywhere, the same call goes on.
 * @throws FleetError MEDIUM_EMPTY when there is no request, UNKNOWN_KEY when none is for an accepted key, USAGE where nobody said
 * which keys to accept
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
    throw new FleetError('MEDIUM_EMPTY', `no agent asks to be enrolled on ${medium.path}`, {
      hint: 'Run fleet-agent enroll on the machine, with this medium',
    });
  }
  const chosen = await choose(requests, options, medium.path, signal);
  const signer = await siteSigner(hub);
  const sites: EnrolledSite[] = [];
  for (const [site, group] of Map.groupBy(chosen, (request) => request.site)) {
    abortIfAsked(signal);
    const enrolled = await enrollAgents(hub.store, site, group, options, signer, refused, now);
    if (!enrolled) continue;
    await publishSite(hub, enrolled.site, { now, command: 'sites enroll' });
    sites.push(enrolled);
  }
  const answered = await answer(hub, medium, sites, now);
  return { sites, left: requests.filter((request) => !chosen.includes(request)), refused, answered };
};

const choose = async (
  requests: readonly EnrolmentRequest[],
  { site, accept, confirm, replaceKey }: EnrolmentOptions & EnrolmentChoice,
  path: string,
  signal: AbortSignal | undefined,
): Promise<readonly EnrolmentRequest[]> => {
  const asking = requests.filter((request) => site === undefined || request.site === site);
  if (accept.length > 0) {
    const chosen = asking.filter(({ fingerprint }) => accept.includes(fingerprint));
    checkAccepted(chosen, accept, path);
    return chosen;
  }
  if (asking.length > 0 && (replaceKey || !confirm)) throw unnamed(asking, replaceKey, path);
  const chosen: EnrolmentRequest[] = [];
  for (const request of asking) {
    abortIfAsked(signal);
    if (await confirm?.(request)) chosen.push(request);
  }
  return chosen;
};

const unnamed = (requests: readonly EnrolmentRequest[], replaceKey: boolean, path: string): FleetError => {
  const shown = nameSome(
    requests.map(({ id, fingerprint }) => `${id} with the key ${fingerprint}`),
    5,
  );
  const why = replaceKey ? 'a key is replaced only by one that is named' : 'no key was accepted';
  return new FleetError('USAGE', `${why}: ${path} has a request of ${shown}`, {
    subject: '--accept',
    hint: 'Compare the fingerprint with the one that the agent printed, and give it with --accept',
  });
};

/** Whoever names a key wants that key: another one in its place is what the comparison is there to find. */
const checkAccepted = (
  chosen: readonly EnrolmentRequest[],
  accept: readonly string[],
  path: string,
): void => {
  const absent = accept.find((wanted) => !chosen.some(({ fingerprint }) => fingerprint === wanted));
  if (absent === undefined) return;
  throw new FleetError('UNKNOWN_KEY', `no request on ${path} is for the key ${absent}`, {
    hint: 'Compare the fingerprint with the one the agent printed; do not go on if they differ',
  });
};

const answer = async (
  hub: Hub,
  medium: OpenMedium,
  sites: readonly EnrolledSite[],
  now: Date,
): Promise<Answered | undefined> => {
  if (sites.length === 0) return undefined;
  const documents: NewDocument[] = [];
  for (const { site } of sites)
    documents.push(...(await siteDocuments(site.name, { db: hub.store.db, keys: hub.keys })).documents);
  const answered = await addDocuments(medium, hub.keys.roots, documents, now);
  if (!answered.written) return answered;
  for (const { request } of sites.flatMap(({ enrolments }) => enrolments))
    await removeFileFromMedium(medium.path, request.path).catch((error: unknown) => {
      throw toFleetError(error, `removing ${request.path} from ${medium.path}`);
    });
  return answered;
};
