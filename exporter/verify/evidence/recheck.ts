import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { MAX_MEDIUM_BYTES, MEDIUM_FILE, type Medium } from '#bundles/formats/medium/medium';
import { nameSome } from '#bundles/name-some';
import { parseTime } from '#bundles/time';
import type { PublicKey } from '#bundles/trust/keys/key';
import { judgeRoots } from '../../source/check/judge.ts';
import { checkBlobs } from '../check-blobs.ts';
import { checkDeltas } from '../check-deltas.ts';
import { checkDocuments } from '../check-documents.ts';
import { type Check, type CheckList, checkList } from '../check-list.ts';
import { isOnAbsentPart } from '../is-on-absent-part.ts';
import { checkRefused, type GivenMedium } from './check-refused.ts';

import { type CheckLine, countLines, OPEN_LINE } from './evidence.ts';
import { type Evidence, type EvidenceFolder, openEvidence, verifyEvidence } from './read-evidence.ts';

export type Recheck = {
  /** The evidence is valid. `result` is its verdict about the medium. */
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly advice: readonly string[];
  readonly result: 'passed' | 'refused' | undefined;
  /** Fingerprint of the signing key. */
  readonly signedBy: string | undefined;
  readonly time: string | undefined;
  /** Parts of a set that were not examined. */
  readonly missing: readonly number[];
  /** Refusals of the original verification. */
  readonly refused: readonly CheckLine[];
};

export type RecheckRequest = {
  readonly folder: string;
  /** Accepted signing keys; by default the audit keys of the pinned root. */
  readonly keys: readonly PublicKey[] | undefined;
  /** The root given by hand. */
  readonly pinned: Digest | undefined;
  /** The medium, to check whether it is still the verified one. */
  readonly medium: GivenMedium | undefined;
  readonly now: Date;
  readonly signal?: AbortSignal;
};

/**
 * Repeats a verification from its evidence, with or without the medium: the signature, then every check with the kept documents
 * and the time of the original verification, then whether the blobs that were read are the blobs that the bundles name.
 * @throws FleetError MEDIUM_MISSING for a missing folder, USAGE; other faults of the evidence are entries of the result
 */
export const recheck = async (order: RecheckRequest): Promise<Recheck> => {
  const { folder, now } = order;
  const kept = await openEvidence(folder);
  const list = checkList(() => now);
  const keys = order.keys ?? (await auditKeys(kept, order));
  const evidence = await list.check(
    'signature',
    async () => verifyEvidence(kept, keys),
    ({ predicate, lines, blobLines, signer }) => ({
      message: `${formatCount(lines.length, 'check')} and ${blobLines.length} blobs at ${predicate.time}, signed by ${signer}`,
      keys: [signer],
    }),
  );
  const advice =
    order.pinned || !kept.medium
      ? []
      : ['no --root-sha256 was given: the chain begins at the root that the signer says they were given'];
  if (!evidence) return { ...NOTHING, checks: list.checks, advice };
  const { medium } = kept;
  await (medium
    ? checkOpened(list, { ...kept, medium }, evidence, order)
    : checkUnopened(list, folder, evidence, order));
  const { predicate, lines, blobLines } = evidence;
  return {
    ok: list.checks.every(({ ok }) => ok),
    checks: list.checks,
    advice,
    result: predicate.result,
    signedBy: evidence.signer,
    time: predicate.time,
    missing: predicate.parts?.missing ?? [],
    refused: [...lines, ...blobLines].filter(({ result }) => result === 'refused'),
  };
};

const checkOpened = async (
  list: CheckList,
  kept: KeptMedium,
  evidence: Evidence,
  order: RecheckRequest,
): Promise<void> => {
  const derived = await list.check(
    'checks',
    () => deriveAgain(kept, evidence, order),
    ({ count }) => `${count} of ${count} follow from the statements in ${kept.folder}`,
  );
  const { medium, now, signal } = order;
  if (!derived || !medium) return;
  await list.check(
    'medium',
    () => checkMedium(medium, evidence, derived.expected, now, signal),
    (count) => `${medium.paths.join(', ')} is what was verified, ${count} blobs read`,
  );
};

const checkUnopened = async (
  list: CheckList,
  folder: string,
  evidence: Evidence,
  { medium, signal }: RecheckRequest,
): Promise<void> => {
  const line = await list.check(
    'checks',
    async () => refusalIn(evidence),
    () => `the medium could not be opened, and ${folder} claims nothing else of it`,
  );
  if (!line || !medium) return;
  await list.check(
    'medium',
    () => checkRefused(medium, evidence.predicate, line, signal),
    (sentence) => sentence,
  );
};

/** A refusal to open depends on bytes that were not kept; evidence of one must contain no check that passed. */
const refusalIn = ({ predicate, lines, blobLines }: Evidence): CheckLine => {
  checkSums(predicate, lines, blobLines);
  const [line, ...more] = lines;
  if (
    line?.what !== OPEN_LINE ||
    line.result !== 'refused' ||
    more.length + blobLines.length > 0 ||
    predicate.root !== null ||
    predicate.anchored
  )
    throw invalid('it has no table of contents, and records more than that the medium was refused');
  return line;
};

const NOTHING = {
  ok: false,
  result: undefined,
  signedBy: undefined,
  time: undefined,
  missing: [],
  refused: [],
} as const;

/** The audit keys of the root, which is compared with the pinned digest first. */
const auditKeys = async (
  { blobs, medium }: EvidenceFolder,
  { pinned, now }: RecheckRequest,
): Promise<readonly PublicKey[]> => {
  if (!medium) {
    throw new FleetError(
      'USAGE',
      'the medium could not be opened when it was verified, so the evidence has no root',
      {
        hint: "Give --key with the auditor's public key",
      },
    );
  }
  if (pinned === undefined) {
    throw new FleetError('USAGE', 'no key is given to verify the evidence with', {
      hint: "Give --key with the auditor's public key, or --root-sha256 for the audit keys of the root",
    });
  }
  const { audit } = await judgeRoots({ blobs, documents: medium.documents, now }, pinned);
  return audit;
};

type KeptMedium = EvidenceFolder & { readonly medium: Medium };

type Derived = { readonly count: number; readonly expected: Map<Digest, number> };

/**
 * Repeats the judgement from the kept documents.
 * @throws FleetError EVIDENCE_INVALID for a check that does not follow, ROOT_UNKNOWN if it began at another root
 */
const deriveAgain = async (
  kept: KeptMedium,
  { predicate, lines, blobLines }: Evidence,
  { pinned, signal }: RecheckRequest,
): Promise<Derived> => {
  const { folder, medium } = kept;
  const now = parseTime(predicate.time);
  const list = checkList(() => now);
  const { expected, root } = await checkDocuments(
    list,
    {
      path: folder,
      medium,
      blobs: withSizes(kept.blobs, blobLines),
      elsewhere: isOnAbsentPart(medium, predicate.parts?.missing ?? []),
      pinned: pinned ?? predicate.pinned,
      now,
    },
    signal,
  );
  checkSums(predicate, lines, blobLines);
  if (predicate.root?.digest !== root?.digest)
    throw invalid(
      `it names root ${predicate.root?.digest ?? 'none'}, but its documents lead to ${root?.digest ?? 'none'}`,
    );
  const said = lines.filter(({ what }) => !AT_THE_MEDIUM.test(what));
  const again = new Map(list.checks.map((check) => [check.what, check]));
  for (const line of said) checkLine(line, again.get(line.what));
  const forgotten = list.checks.find((check) => !said.some(({ what }) => what === check.what));
  if (forgotten) throw invalid(`it lacks the check ${JSON.stringify(forgotten.what)}`);
  if (root) checkBlobLines(blobLines, expected);
  return { count: said.length, expected };
};

/** Checks that need the medium itself. */
const AT_THE_MEDIUM = /^(blobs|deltas|set|part \d+)$/;

/** Blobs whose content was not kept, with the sizes that were read. */
const withSizes = (blobs: BlobSource, lines: readonly CheckLine[]): BlobSource => {
  const sizes = new Map(
    lines.flatMap(({ digests: [digest], size, code }) =>
      digest && code !== 'MISSING_BLOB' ? [[digest, size] as const] : [],
    ),
  );
  return { ...blobs, size: async (digest) => (await blobs.size(digest)) ?? sizes.get(digest) };
};

const checkSums = (
  predicate: Evidence['predicate'],
  lines: readonly CheckLine[],
  blobLines: readonly CheckLine[],
): void => {
  const [checks, blobs] = [countLines(lines), countLines(blobLines)];
  const right =
    predicate.checks.passed === checks.passed &&
    predicate.checks.refused === checks.refused &&
    predicate.blobs.passed === blobs.passed &&
    predicate.blobs.refused === blobs.refused &&
    (predicate.result === 'passed') === (checks.refused === 0 && blobs.refused === 0);
  if (!right) throw invalid('the results of its checks differ from the totals that were signed');
};

/** A failed check may depend on bytes that were not kept; a check that passed has to pass again. */
const checkLine = (line: CheckLine, check: Check | undefined): void => {
  if (!check) throw invalid(`its documents give no reason for the check ${JSON.stringify(line.what)}`);
  if (line.result === 'refused') return;
  if (!check.ok)
    throw invalid(`the check ${JSON.stringify(line.what)} passed then and fails now: ${check.message}`);
  const same =
    check.digests.join() === line.digests.join() &&
    check.keys.join() === line.keys.join() &&
    check.what === line.what;
  if (!same)
    throw invalid(`the check ${JSON.stringify(line.what)} used other statements or keys than are recorded`);
};

const checkBlobLines = (lines: readonly CheckLine[], expected: ReadonlyMap<Digest, number>): void => {
  const read = new Map(lines.map(({ digests: [digest], size }) => [digest, size]));
  const lacking = [...expected].filter(([digest, size]) => read.get(digest) !== size);
  if (lacking.length > 0)
    throw invalid(
      `it has no record that these blobs were read: ${nameSome(lacking.map(([digest]) => digest))}`,
    );
  if (read.size > expected.size) throw invalid('it names blobs that no bundle has');
};

const invalid = (why: string): FleetError =>
  new FleetError('EVIDENCE_INVALID', `the evidence cannot be relied on: ${why}`);

/** @throws FleetError EVIDENCE_INVALID for another medium; the error of a medium that cannot be opened; as checkBlobs */
const checkMedium = async (
  given: GivenMedium,
  { mediumDigest, predicate }: Evidence,
  expected: Map<Digest, number>,
  now: Date,
  signal: AbortSignal | undefined,
): Promise<number> => {
  if ('refusal' in given) throw given.refusal;
  const { open: medium } = given;
  const contents = await medium.readFile(MEDIUM_FILE, MAX_MEDIUM_BYTES);
  if (digestOf(contents) !== mediumDigest) {
    throw new FleetError(
      'EVIDENCE_INVALID',
      `${medium.path} is not the medium that was verified at ${predicate.time}: its table of contents differs`,
    );
  }
  if (medium.medium) {
    const elsewhere = isOnAbsentPart(medium.medium, predicate.parts?.missing ?? []);
    await checkDeltas(medium, medium.medium.deltas ?? [], elsewhere, signal);
  }
  const { checked } = await checkBlobs(medium, expected, { clock: () => now, onBlob: () => {} }, signal);
  return checked;
};
