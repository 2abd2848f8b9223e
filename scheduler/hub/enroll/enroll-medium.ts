import { FleetError, toFleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/medium/medium';
import { removeFileFromMedium } from '#bundles/medium/write-onto-medium';
import type { NewDocument } from '../../publish/artifact.ts';
import { type Hub, publishSite, siteSigner } from '../hub.ts';
import { type Answered, addDocuments } from '../medium/add-documents.ts';
import { abortIfAsked, type Refused } from '../refused.ts';
import { siteDocuments } from '../sites/site-documents.ts';
import { type EnrolledSite, enrollAgents } from './enroll-agents.ts';
import type { EnrolmentOptions } from './plan-enrolment.ts';
import { type EnrolmentRequest, readRequests } from './read-requests.ts';

export type EnrolledMedium = {
  readonly sites: readonly EnrolledSite[];
  /** Requests that the options left for another time. */
  readonly left: readonly EnrolmentRequest[];
  readonly refused: readonly Refused[];
  /** undefined: there was nothing to answer. */
  readonly answered: Answered | undefined;
};

/**
 * Takes the requests on a medium: registers the agents, signs the statements of their sites, writes them to the layout
 * and back onto the medium, and last removes what was answered. Cut off anywhere, the same call goes on.
 * @throws FleetError MEDIUM_EMPTY when there is no request, UNKNOWN_KEY when none is for an accepted key
 */
export const enrollMedium = async (
  hub: Hub,
  medium: OpenMedium,
  options: EnrolmentOptions,
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
  const chosen = requests.filter((request) => isChosen(request, options));
  checkAccepted(chosen, options, medium.path);
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

const isChosen = (request: EnrolmentRequest, { site, accept }: EnrolmentOptions): boolean =>
  (site === undefined || request.site === site) &&
  (accept.length === 0 || accept.includes(request.fingerprint));

/** Whoever names a key wants that key: another one in its place is what the comparison is there to find. */
const checkAccepted = (
  chosen: readonly EnrolmentRequest[],
  { accept }: EnrolmentOptions,
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
