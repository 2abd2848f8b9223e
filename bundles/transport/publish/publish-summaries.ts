import { type Digest, shortDigest } from '../../digest.ts';
import { type FleetError, toFleetError } from '../../errors.ts';
import { documentsOf } from '../../formats/layout/artifact.ts';
import type { Document } from '../../formats/layout/document.ts';
import { referenceOf } from '../../formats/layout/layout.ts';
import { type Descriptor, MAX_MANIFEST_BYTES, parseImageManifest } from '../../formats/layout/manifest.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import { isName } from '../../names.ts';
import { bundleTag, channelRepository, SUMMARIES_REPOSITORY } from '../registry/references.ts';
import type { Carrier } from './carrier.ts';
import type { Destination } from './destination.ts';
import type { Offering } from './offering.ts';
import { artifactUpload } from './plan-batch.ts';
import { statementUpload } from './plan-bundles.ts';
import { addTransfers, NO_TRANSFERS, sendStages, type TransferCounts } from './send-batch.ts';
import { surveyBatch } from './survey-batch.ts';
import type { ManifestUpload } from './upload-batch.ts';

export type SummariesTag = `${string}.${number}`;

/** Result for the summaries of one promotion. */
export type SummariesOutcome = {
  readonly repository: typeof SUMMARIES_REPOSITORY;
  readonly tag: SummariesTag;
  /** 'promotion 7' */
  readonly name: string;
  readonly outcome: 'sent' | 'planned' | 'failed';
  readonly freight: TransferCounts;
  readonly error?: FleetError;
};

type Publishing = {
  readonly destination: Destination;
  readonly carrier: Carrier;
  readonly dryRun: boolean;
  /** Look for every summary, also of promotions whose tag is up to date. */
  readonly repair: boolean;
  readonly signal: AbortSignal;
};

/**
 * Publishes the verification summaries (SLSA) of promotions as referrers of their bundles, where a standard verifier looks for them. The list of
 * a promotion's summaries has its own tag, which is written last, and promotions are published oldest first. So where the tag of the newest
 * promotion is up to date, all are: that costs one request for each environment.
 * @returns one outcome for each promotion whose tag was not up to date; after a failure the newer promotions of that environment are left out
 */
export const publishSummaries = async (
  layout: Offering,
  publishing: Publishing,
): Promise<readonly SummariesOutcome[]> => {
  const outcomes: SummariesOutcome[] = [];
  for (const promotions of promotionsIn(layout).values()) {
    let about = promotions[0];
    try {
      for (const one of await missing(promotions, publishing)) {
        about = one;
        const freight = await publishOne(layout, one, publishing);
        outcomes.push({ ...named(one), outcome: publishing.dryRun ? 'planned' : 'sent', freight });
      }
    } catch (cause) {
      publishing.signal.throwIfAborted();
      if (!about) throw cause;
      const error = toFleetError(cause, `publishing ${SUMMARIES_REPOSITORY}:${tagOf(about)}`);
      outcomes.push({ ...named(about), outcome: 'failed', freight: NO_TRANSFERS, error });
    }
  }
  return outcomes;
};

type Summaries = { readonly to: string; readonly number: number; readonly artifact: Descriptor };

const tagOf = ({ to, number }: Summaries): SummariesTag => `${to}.${number}`;

const named = (one: Summaries): Pick<SummariesOutcome, 'repository' | 'tag' | 'name'> => ({
  repository: SUMMARIES_REPOSITORY,
  tag: tagOf(one),
  name: `promotion ${one.number}`,
});

const REFERENCE = /^summaries:([^/:]+)\.(\d{1,15})$/;

/** Promotions with summaries by the environment that was promoted to, newest first. */
const promotionsIn = ({ manifests }: Pick<Offering, 'manifests'>): Map<string, readonly Summaries[]> => {
  const all = manifests.flatMap((artifact): readonly Summaries[] => {
    const [, to, number] = REFERENCE.exec(referenceOf(artifact) ?? '') ?? [];
    return isName(to) ? [{ to, number: Number(number), artifact }] : [];
  });
  return Map.groupBy(
    all.toSorted((a, b) => b.number - a.number),
    ({ to }) => to,
  );
};

/** Promotions whose tag is not up to date, oldest first. */
const missing = async (
  promotions: readonly Summaries[],
  { destination, repair, signal }: Publishing,
): Promise<readonly Summaries[]> => {
  if (repair) return promotions.toReversed();
  const target = destination.repository(SUMMARIES_REPOSITORY);
  const found: Summaries[] = [];
  for (const one of promotions) {
    const there = await target.resolve(tagOf(one), signal);
    if (there?.digest === one.artifact.digest) break;
    found.unshift(one);
  }
  return found;
};

const publishOne = async (
  { blobs }: Offering,
  summaries: Summaries,
  publishing: Publishing,
): Promise<TransferCounts> => {
  const { destination, signal } = publishing;
  const { artifact } = summaries;
  const tag = tagOf(summaries);
  const what = `${SUMMARIES_REPOSITORY}:${tag}`;
  const bytes = await readBlob(blobs, artifact.digest, MAX_MANIFEST_BYTES, signal);
  const manifest = parseImageManifest(bytes, what);
  let freight = NO_TRANSFERS;
  for (const document of documentsOf(manifest)) {
    const place = placeOf(document);
    const subject =
      place && (await destination.repository(place.path).resolve(bundleTag(place.bundle), signal));
    // This registry does not have the bundle.
    if (!subject) continue;
    const name = `the verification summary ${shortDigest(document.digest)}`;
    const upload = await statementUpload(blobs, document, subject, name);
    freight = addTransfers(freight, await send(place.path, upload, publishing));
  }
  const list = { ...artifactUpload(artifact.digest, manifest, bytes), tag };
  return addTransfers(freight, await send(SUMMARIES_REPOSITORY, list, publishing));
};

const placeOf = ({
  role,
  environment,
  clusterType,
  about,
}: Document): { readonly path: string; readonly bundle: Digest } | undefined =>
  role === 'summary' && about !== undefined && isName(environment) && isName(clusterType)
    ? { path: channelRepository({ environment, clusterType }), bundle: about }
    : undefined;

const send = (
  path: string,
  upload: ManifestUpload,
  { destination, carrier, dryRun, repair, signal }: Publishing,
): Promise<TransferCounts> => {
  const target = destination.repository(path);
  const stages = [[upload]];
  return dryRun
    ? surveyBatch({ stages }, target, repair, new Set(), signal)
    : sendStages(path, stages, { target, carrier, hasReferrers: destination.hasReferrers, repair, signal });
};
