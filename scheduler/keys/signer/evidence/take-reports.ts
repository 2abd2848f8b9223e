import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { formatChannel } from '#bundles/names';
import { parseTime } from '#bundles/time';
import { parsePublicKey } from '#bundles/trust/keys/key';
import {
  type ReportedEvent,
  type SignedReport,
  type VerifiedReport,
  verifyReport,
} from '#bundles/trust/reports/report';
import { parseStatement } from '#bundles/trust/statements/verify-statement';
import { driftOf, isStep, runningOf } from '../../../model/event-steps.ts';
import { checkNotAhead } from '../check-time.ts';
import type { SignerState } from '../state/open-state.ts';
import type { ShownAssignment, ReportedState } from '../state/evidence-state.ts';

export type Shown = {
  readonly reports: readonly SignedReport[];
  /** Manifests and configs of bundles that releases of the chain name, in any order. */
  readonly documents: readonly Buffer[];
};

/**
 * Takes signed reports as evidence: each is verified with the key in the newest site statement that this signer signed, and what
 * it says is kept. Reports that the signer has are passed over. Bundle documents say what a release wants; they are found by the
 * digests in releases that this signer signed.
 * @returns how many reports said something new
 * @throws FleetError AGENT_UNKNOWN, UNKNOWN_KEY, BAD_SIGNATURE, REPORT_INVALID, REPORT_CHAIN, WRONG_FLEET, FROM_FUTURE, SCHEMA; nothing
 *   of the request is kept then
 */
export const takeReports = async (
  state: Pick<SignerState, 'commit' | 'evidence'>,
  { reports, documents }: Shown,
  { fleet, now }: { readonly fleet: string; readonly now: Date },
): Promise<number> => {
  const { evidence } = state;
  const words = new Map<string, ReportedState>();
  let taken = 0;
  for (const report of reports) {
    const { word, isNew } = takeOne(report, (agent) => words.get(agent) ?? evidence.word(agent), {
      evidence,
      fleet,
      now,
    });
    words.set(word.agent, word);
    if (isNew) taken += 1;
  }
  const bundles = await readBundles(documents);
  state.commit(() => {
    for (const word of words.values()) evidence.setWord(word);
    for (const [digest, packages] of bundles) evidence.addPackages(digest, packages);
  });
  return taken;
};

const takeOne = (
  report: SignedReport,
  wordOf: (agent: string) => ReportedState | undefined,
  { evidence, fleet, now }: Pick<SignerState, 'evidence'> & { readonly fleet: string; readonly now: Date },
): { readonly word: ReportedState; readonly isNew: boolean } => {
  const { predicate } = parseStatement(parseEnvelope(report.statement, 'a report').payload, 'a report');
  const name = String((predicate as { agent?: unknown } | null)?.agent).slice(0, 160);
  const known = evidence.agent(name);
  if (!known)
    throw new FleetError('AGENT_UNKNOWN', `no site statement that this signer signed has the agent ${name}`, {
      hint: 'Sign the site statements again with: fleet-scheduler sites renew',
    });
  const what = `the report of ${name}`;
  const verified = verifyReport(report, parsePublicKey(known.key), what);
  const said = verified.predicate;
  if (said.fleet !== fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${said.fleet}, not ${fleet}`);
  if (said.clockTrusted) checkNotAhead(parseTime(said.time), now, what);
  const before = wordOf(name);
  const base = before?.key === known.key ? before : undefined;
  const writtenAt = timeOf(said);
  // A report that says the same again, later, is a younger word.
  if (base && said.to === base.seq && said.lastHash === base.head && writtenAt > base.writtenAt)
    return { word: { ...base, writtenAt }, isNew: true };
  if (base && said.to <= base.seq) return { word: base, isNew: false };
  return { word: fold(known.agent, known.key, base, verified, what), isNew: true };
};

/**
 * The time that a report describes, in milliseconds: when the agent compared the package that it compared longest ago, or wrote the report
 * if it does not say. 0 if the time is unknown.
 */
const timeOf = ({ time, lookedAt, looks, clockTrusted }: VerifiedReport['predicate']): number => {
  const times = [
    time,
    ...(lookedAt === undefined ? [] : [lookedAt]),
    ...Object.values(looks?.packages ?? {}),
  ];
  if (!clockTrusted || times.includes(null)) return 0;
  return Math.min(...times.map((at) => parseTime(at).getTime()));
};

/** Events that do not continue what was shown before start anew: what happened in the gap is not known, so nothing is assumed. */
const fold = (
  agent: string,
  key: string,
  base: ReportedState | undefined,
  { predicate, events, spans }: VerifiedReport,
  what: string,
): ReportedState => {
  const continued = base && predicate.from <= base.seq + 1 ? base : undefined;
  if (continued) checkLink(continued, predicate, spans, what);
  const states = new Map(Object.entries(continued?.states ?? {}));
  let release = continued?.release ?? null;
  for (const [at, event] of events.entries()) {
    if (continued && (spans[at]?.seq ?? 0) <= continued.seq) continue;
    if (event.type === 'imported' && event.release)
      release = { channel: formatChannel(event.release), version: event.release.version };
    if (event.assignment !== undefined) {
      const next = applyEvent(states.get(event.assignment) ?? NOTHING, event);
      states.set(event.assignment, next);
    }
  }
  return {
    agent,
    key,
    seq: predicate.to,
    head: predicate.lastHash,
    release,
    writtenAt: timeOf(predicate),
    states: Object.fromEntries(states),
  };
};

/** @throws FleetError REPORT_CHAIN if the report has another event where the last one that was shown is */
const checkLink = (
  { seq, head }: ReportedState,
  { from, firstPrev }: VerifiedReport['predicate'],
  spans: VerifiedReport['spans'],
  what: string,
): void => {
  const hash = from === seq + 1 ? firstPrev : spans.find(({ to }) => to === seq)?.hash;
  // A compacted event may stand for events on both sides of the last one.
  if (hash === undefined || hash === head) return;
  throw new FleetError('REPORT_CHAIN', `${what} has another event ${seq} than a report before it`, {
    hint: 'The machine was restored from a copy, or two machines share its key: enrol it with a new key',
  });
};

const NOTHING: ShownAssignment = { package: null, ok: false, drifted: false };

const applyEvent = (before: ShownAssignment, event: ReportedEvent): ShownAssignment => {
  const running = runningOf(event);
  const drift = driftOf(event);
  return {
    package: running ? running.package : before.package,
    ok: isStep(event) ? isGood(event) : before.ok,
    drifted: drift ? drift.drifted === 1 : before.drifted,
  };
};

const isGood = ({ type, outcome, code }: ReportedEvent): boolean =>
  outcome !== undefined &&
  outcome !== 'failed' &&
  outcome !== 'skipped' &&
  type !== 'rolled-back' &&
  code !== 'HEALTH_UNKNOWN';

/** The bundles among the documents, by digest; documents that belong to none are passed over. */
const readBundles = async (
  documents: readonly Buffer[],
): Promise<ReadonlyMap<Digest, Readonly<Record<string, Digest>>>> => {
  const blobs = new Map(documents.map((bytes) => [digestOf(bytes), bytes]));
  const source: BlobSource = {
    name: 'the request',
    size: async (digest) => blobs.get(digest)?.byteLength,
    open: async (digest) => {
      const bytes = blobs.get(digest);
      if (bytes)
        return (async function* () {
          yield bytes;
        })();
      throw new FleetError('MISSING_BLOB', `the request lacks ${digest}`);
    },
  };
  const bundles = new Map<Digest, Readonly<Record<string, Digest>>>();
  for (const [digest, bytes] of blobs) {
    if (!bytes.includes('"artifactType"')) continue;
    const { config } = await readBundle(source, digest);
    bundles.set(digest, Object.fromEntries(config.assignments.map((one) => [one.id, one.package])));
  }
  return bundles;
};
