import { FleetError } from '../../errors.ts';
import { PREDICATES } from '../../media-types.ts';
import { formatChannel, sameChannel } from '../../names.ts';
import type { SealedSet } from '../secrets/secret-set.ts';
import type { SiteAgent, SitePredicate, SiteValues } from '../../formats/statements/predicates.ts';
import { type VerifiedStatement, verifyStatement } from '../statements/verify-statement.ts';
import { parseSiteValues } from '../../formats/statements/site-values.ts';
import type { TrustRoot } from '../root/root.ts';
import { parseAs } from '../../json/parse-as.ts';
import { SITE_PREDICATE } from '../../json/schema/validators.js';
import { checkVersion } from './check-version.ts';
import type { ChannelDocuments } from './documents.ts';
import { keptUnder } from './kept-under.ts';
import { sealedSetsOf } from './sealed-sets-of.ts';
import { newFloorStatement } from './statement-to-keep.ts';
import type { AcceptPolicy, Clock, KeptStatement, TrustState } from './trust-state.ts';
import { checkDates, trustedTime } from './trusted-time.ts';

export type AcceptedSite = {
  readonly statement: KeptStatement;
  readonly predicate: SitePredicate;
  /** This agent's own entry. */
  readonly agent: SiteAgent;
  /** undefined: the values accepted before stay. */
  readonly values: SiteValues | undefined;
  readonly valuesDigest: `sha256:${string}`;
  /** All of the site's sealed secret sets, sorted by name. Their bytes are fetched like blobs. */
  readonly secrets: readonly SealedSet[];
  readonly issued: Date;
  /** It has expired and is accepted because of a break-glass override. */
  readonly ended: boolean;
};

/**
 * The site statement: the agents of this site and the channel of each. Falls back to the statement accepted before when
 * the source brings none for any site. @throws FleetError WRONG_SITE, NOT_ENROLLED, ROLLBACK ... with the row of the attack table
 */
export const acceptSite = async (
  state: TrustState,
  root: TrustRoot,
  documents: ChannelDocuments,
  clock: Clock,
  policy: AcceptPolicy,
): Promise<AcceptedSite> => {
  const kept = keptUnder(state.siteStatement, root.roles.release, PREDICATES.site);
  if (documents.site.length === 0) checkOtherSites(state, documents);
  const envelopes = documents.site.length > 0 ? documents.site : kept?.envelopes;
  if (!envelopes) {
    throw new FleetError('NOT_ENROLLED', `there is no site statement for ${state.site} here`, {
      hint: 'Carry the request to the platform team, and bring back the stick with their answer',
    });
  }
  const what = `the statement of site ${state.site}`;
  const verified = verifyStatement(envelopes, root.roles.release, PREDICATES.site, what);
  const predicate = parseAs(SITE_PREDICATE, verified.predicate, what);
  checkAudience(state, predicate);
  const news = checkVersion(kept, predicate.version, verified.digest, what);
  const { issued, expires } = checkDates(predicate, clock, policy.maxValidityDays, what);
  const ended = expires <= trustedTime(clock, state.time);
  if (ended && policy.acceptExpired !== true) {
    throw new FleetError('EXPIRED', `${what} expired at ${predicate.expires}`, {
      hint: 'Ask the office for a newer site statement; running packages continue',
    });
  }
  const agent = findAgent(state, predicate);
  checkChannelChange(state, agent);
  const valuesDigest = valuesOf(verified, what);
  const unchanged = news === 'same' && documents.site.length === 0;
  return {
    statement: newFloorStatement(
      { envelopes, version: predicate.version, digest: verified.digest, news },
      kept,
    ),
    predicate,
    agent,
    values: unchanged ? undefined : await readValues(state, documents, valuesDigest),
    valuesDigest,
    secrets: sealedSetsOf(verified.subjects, what),
    issued,
    ended,
  };
};

const checkOtherSites = (state: TrustState, documents: ChannelDocuments): void => {
  const others = documents.claimedSites.filter((site) => site !== state.site);
  if (others.length === 0) return;
  throw new FleetError('WRONG_SITE', `this is for ${others.slice(0, 5).join(', ')}, not for ${state.site}`, {
    hint: `Bring the medium made for ${state.site}`,
  });
};

const checkAudience = (state: TrustState, { audience }: SitePredicate): void => {
  if (audience.fleet !== state.fleet) {
    throw new FleetError(
      'WRONG_FLEET',
      `the site statement is of fleet ${audience.fleet}, this agent belongs to ${state.fleet}`,
    );
  }
  if (audience.site !== state.site) {
    throw new FleetError('WRONG_SITE', `the site statement is for ${audience.site}, not for ${state.site}`, {
      hint: `Bring the medium made for ${state.site}`,
    });
  }
};

const findAgent = (state: TrustState, predicate: SitePredicate): SiteAgent => {
  const agent = predicate.agents.find(({ name }) => name === state.agent);
  if (agent && agent.key.trim() === state.key.trim()) return agent;
  const why = agent ? 'with another key' : 'not at all';
  throw new FleetError(
    'AGENT_UNKNOWN',
    `the statement of site ${state.site} names agent ${state.agent} ${why}`,
    {
      hint: 'Enrol this agent again',
    },
  );
};

const checkChannelChange = (state: TrustState, agent: SiteAgent): void => {
  if (!state.channel || sameChannel(state.channel, agent.channel)) return;
  if (agent.previousChannel && sameChannel(state.channel, agent.previousChannel)) return;
  throw new FleetError(
    'WRONG_CHANNEL',
    `the site statement moves this agent to ${formatChannel(agent.channel)} without naming ${formatChannel(state.channel)}, where it is`,
  );
};

const valuesOf = (verified: VerifiedStatement, what: string): AcceptedSite['valuesDigest'] => {
  const subject = verified.subjects.find(({ name }) => name === 'site-values');
  if (subject) return subject.digest;
  throw new FleetError('SCHEMA', `${what} names no site-values`);
};

const readValues = async (
  state: TrustState,
  documents: ChannelDocuments,
  digest: AcceptedSite['valuesDigest'],
): Promise<SiteValues> => {
  const what = `the values of site ${state.site}`;
  const values = parseSiteValues(await documents.named(digest, 'site-values'), state.site);
  if (values.site !== state.site || values.fleet !== state.fleet) {
    throw new FleetError('WRONG_SITE', `${what} say they are of ${values.fleet}/${values.site}`);
  }
  return values;
};
