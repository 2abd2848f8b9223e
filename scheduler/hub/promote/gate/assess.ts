import { type Digest, isDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { sendRestatements } from '../../../release/write/send-restatements.ts';
import { readCandidate } from '../../../assemble/candidate/read-candidate.ts';
import { sharedDigest } from '../../../assemble/candidate/shared-digest.ts';
import type { Lineage } from '../../../load/releases/read-lineage.ts';
import type { StatedRelease } from '../../../load/releases/newest-statement.ts';
import type { AuditLog } from '../../../load/releases/audit-log.ts';
import { readAuditLog } from '../../../load/releases/audit-log.ts';
import type { Timestamp } from '#bundles/time';
import { type Decisions, foldDecisions } from '../facts/decisions.ts';
import type { ApprovalKeys, Changes } from '../facts/facts.ts';
import { judgeGate } from '../judge/judge-gate.ts';
import { howToRelease, type Link } from '../facts/link.ts';
import { readChannels } from '../facts/read-channels.ts';
import { readFacts } from '../facts/read-facts.ts';
import type { GateHub } from './gate-hub.ts';
import { showEvidence } from './show-evidence.ts';
import type { Verdict } from '../judge/verdict.ts';

export type Assessment = {
  readonly link: Link;
  /** The candidate of the earlier environment. */
  readonly candidate: Lineage;
  readonly verdict: Verdict;
  readonly keys: ApprovalKeys;
  readonly log: AuditLog;
  /** Shows the signer what it judges the promotion by; with `evidence: signed` also reports. As showEvidence. */
  readonly show: () => Promise<readonly string[]>;
};

export type Question = {
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Digest of a candidate; undefined: the newest that the earlier environment has released. */
  readonly candidate?: Digest | undefined;
  /** The person who requests the promotion; null: the policy. */
  readonly asks: string | null;
};

/** The candidate, and the decisions about it. */
export type Decided = Pick<Assessment, 'link' | 'candidate' | 'log'> & { readonly decisions: Decisions };

/**
 * Reads the candidate and the decisions about it: the part of an assessment that needs no reports.
 * @throws FleetError RELEASE_MISSING if the earlier environment has released no candidate; MISSING_BLOB for an unknown candidate;
 *   the codes of readAuditLog
 */
export const readDecided = async (
  hub: Pick<GateHub, 'keys' | 'layout'>,
  link: Link,
  question: Pick<Question, 'candidate' | 'signal'>,
): Promise<Decided> => {
  const layout = await openOrStartLayout(hub.layout);
  const log = await readAuditLog(layout, hub.keys.roots);
  const candidate = await chooseCandidate(hub, layout, link, question);
  const decisions = foldDecisions(log.entries, { from: link.from, to: link.to, shared: candidate.shared });
  return { link, candidate, log, decisions };
};

/** Judges a candidate whose decisions were read, with the facts as they are now. */
export const assessDecided = async (
  hub: GateHub,
  { decisions, ...decided }: Decided,
  { now, signal, asks }: Pick<Question, 'now' | 'signal' | 'asks'>,
): Promise<Assessment> => {
  const { link, candidate } = decided;
  const read = await readFacts(hub, link, candidate.shared, { now, signal });
  const facts = needsChanges(link, decisions)
    ? { ...read, changes: await changesOf(hub, link.to, candidate.candidate, signal) }
    : read;
  const verdict = judgeGate(link.policy, facts, decisions, { now, asks });
  const show = async (): Promise<readonly string[]> => {
    // The build showed them before, unless it was stopped.
    await sendRestatements(hub.keys, await readRestated(hub, link.from, candidate.shared));
    return link.policy?.evidence === 'signed' ? await showEvidence(hub, link, signal) : [];
  };
  return { ...decided, verdict, keys: facts.keys, show };
};

/** Statements of channels whose released bundle the candidate gave again. */
const readRestated = async (
  { layout: directory, keys }: Pick<GateHub, 'layout' | 'keys'>,
  from: string,
  shared: Digest,
): Promise<readonly Buffer[]> => {
  const layout = await openOrStartLayout(directory);
  const files: Buffer[] = [];
  for (const { release, lineage } of await readChannels(layout, keys.roots, from))
    if (release?.restated && lineage?.shared === shared)
      files.push(...(await statementFiles(layout.blobs, release.documents, 'bundle')));
  return files;
};

/** Finding out costs a build of the environment, so that only approvals by workspace ask for it. */
const needsChanges = ({ policy }: Link, { approvals }: Decisions): boolean =>
  policy?.approvals !== undefined &&
  (policy.approvals.eachWorkspace === true || approvals.some(({ workspaces }) => workspaces !== undefined));

/** Changes that a candidate would make in the later environment. */
export const changesOf = async (
  { readChanges }: Pick<GateHub, 'readChanges'>,
  to: string,
  candidate: Digest,
  signal: AbortSignal,
): Promise<Changes> =>
  (await readChanges?.(to, candidate, signal)) ?? { kind: 'unknown', why: 'there is no platform here' };

/**
 * Judges a candidate at a link with the facts and decisions as they are now.
 * @throws FleetError as readDecided
 */
export const assess = async (hub: GateHub, link: Link, question: Question): Promise<Assessment> =>
  assessDecided(hub, await readDecided(hub, link, question), question);

const chooseCandidate = async (
  { keys }: Pick<GateHub, 'keys'>,
  layout: Layout,
  { from, to, before }: Link,
  { candidate, signal }: Pick<Question, 'candidate' | 'signal'>,
): Promise<Lineage> => {
  if (candidate !== undefined) return readNamed(layout, candidate, { from, signal });
  const channels = await readChannels(layout, keys.roots, from);
  const newest = channels
    .flatMap(({ lineage, release }) =>
      lineage && release ? [{ lineage, at: arrivedAt(release, lineage.builtAt) }] : [],
    )
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
    .at(-1);
  if (newest) return { candidate: newest.lineage.candidate, shared: newest.lineage.shared };
  const states = channels.map(({ channel, text }) => `${channel.clusterType}: ${text}`).join('; ');
  throw new FleetError('RELEASE_MISSING', `${from} has released no candidate that could go to ${to}`, {
    subject: from,
    hint: states === '' ? howToRelease(from, before) : `It has ${states}. Build ${from} again`,
  });
};

/** When a channel came to its candidate: with its release, or when the candidate gave the bundle again. */
const arrivedAt = ({ predicate, restated }: StatedRelease, builtAt: Timestamp): Timestamp =>
  restated && builtAt > predicate.issuedAt ? builtAt : predicate.issuedAt;

/** @throws FleetError USAGE if it is a candidate of another environment; MISSING_BLOB */
const readNamed = async (
  layout: Layout,
  digest: Digest,
  { from, signal }: { readonly from: string; readonly signal: AbortSignal },
): Promise<Lineage> => {
  const { document } = await readCandidate(digest, [layout.blobs], signal);
  if (document.environment === from) return { candidate: digest, shared: sharedDigest(document) };
  throw new FleetError(
    'USAGE',
    `this is a candidate of ${document.environment ?? 'no environment'}, not of ${from}`,
    {
      subject: digest,
      hint: `Name one that ${from} has released, or none for its newest`,
    },
  );
};

/** @throws FleetError USAGE */
export const parseCandidate = (text: string | undefined): Digest | undefined => {
  if (text === undefined || isDigest(text)) return text;
  throw new FleetError('USAGE', `${JSON.stringify(text)} is not the digest of a candidate`, {
    hint: 'Write sha256:<64 hex digits>, as build prints it',
  });
};
