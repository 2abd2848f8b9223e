import { bundlesOf } from '../../../load/releases/read-release.ts';
import { isManifestType } from '#bundles/formats/layout/manifest';
import { type Digest, digestOf, shortDigest } from '#bundles/digest';
import { parseImageName, repositoryOf } from '#bundles/formats/bundle/image-name';
import { policiesOn } from '#bundles/formats/bundle/image-policy';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { imagesIn } from '#bundles/formats/diff/images-in';
import { readItems } from '#bundles/formats/diff/read-items';
import type { Layout } from '#bundles/formats/layout/layout';
import { readBeside } from '#bundles/trust/images/check-images';
import { type ImageAttestation, readAttestations } from '#bundles/trust/images/read-attestations';
import { MAX_SIGNATURE_MANIFEST } from '#bundles/trust/images/read-signatures';
import { nameSigners, whyUnsigned } from '#bundles/trust/images/satisfies-policy';
import type { AttestationRule } from '../../../model/promotion.ts';
import { readPackages } from '../../questions/history/read-releases.ts';
import type { AttestationFacts } from './facts.ts';
import type { ChannelNow } from './read-channels.ts';

/**
 * Judges the images of a candidate by the attestations in its bundles, which `images lock` recorded. Nothing is read from a
 * registry, so the sites can verify the same.
 * @returns one entry for each rule
 */
export const readAttestationFacts = async (
  layout: Layout,
  channels: readonly ChannelNow[],
  {
    rules,
    shared,
    signal,
  }: { readonly rules: readonly AttestationRule[]; readonly shared: Digest; readonly signal: AbortSignal },
): Promise<readonly AttestationFacts[]> => {
  if (rules.length === 0) return [];
  const bundles = channels.flatMap(({ release, lineage }) =>
    release && lineage?.shared === shared ? bundlesOf(release) : [],
  );
  const facts: AttestationFacts[] = [];
  for (const rule of rules) {
    const judged = new Map<Digest, string | null>();
    for (const bundle of new Set(bundles))
      for (const [image, missing] of await judgeBundle(layout, bundle, rule, signal))
        judged.set(image, judged.get(image) ?? missing);
    facts.push({
      type: rule.type,
      images: judged.size,
      missing: [...judged.values()].filter((one) => one !== null),
    });
  }
  return facts;
};

/** By image: null if it carries the attestation, otherwise which image of which packages does not, and why. */
type JudgedImages = ReadonlyMap<Digest, string | null>;

/** A bundle never changes, so results stay valid; the newest ones are cached. */
const known = new Map<Digest, JudgedImages>();
const MAX_KNOWN = 256;

const judgeBundle = async (
  layout: Layout,
  bundle: Digest,
  rule: AttestationRule,
  signal: AbortSignal,
): Promise<JudgedImages> => {
  // A rule has a trusted root of up to 64 KiB.
  const key = digestOf(JSON.stringify([layout.directory, bundle, rule]));
  const before = known.get(key);
  if (before) return before;
  const { config } = await readBundle(layout.blobs, bundle, signal);
  const judged = new Map<Digest, string | null>();
  for (const entry of config.closure) {
    const { digest, mediaType, names = [] } = entry;
    if (!isManifestType(mediaType) || policiesOn([{ ...rule, name: rule.type }], names).length === 0)
      continue;
    const why = await whyUnverified(layout, entry, rule, signal);
    const name = names[0] ?? digest;
    judged.set(digest, why && `${name} (${(await packagesWith(layout, bundle, name)).join(', ')}): ${why}`);
  }
  if (known.size >= MAX_KNOWN) known.delete(known.keys().next().value ?? key);
  known.set(key, judged);
  return judged;
};

const whyUnverified = async (
  { blobs }: Layout,
  { digest, attachments = [] }: ClosureEntry,
  rule: AttestationRule,
  signal: AbortSignal,
): Promise<string | null> => {
  const read: Digest[] = [];
  // A larger manifest is another attachment.
  for (const one of attachments) if (((await blobs.size(one)) ?? 0) <= MAX_SIGNATURE_MANIFEST) read.push(one);
  const { about, found } = await readBeside<ImageAttestation>(
    blobs,
    { digest, attachments: read },
    // Only those of this type are kept: the document of each may have some megabytes.
    async (one) =>
      (await readAttestations(blobs, one, signal)).attestations.filter(({ type }) => type === rule.type),
    signal,
  );
  if (found.length === 0) return 'the bundle has no such attestation of it';
  const own = found.filter((one) => one.about.some((named) => about.has(named)));
  if (own.length === 0) return 'the attestation beside it is about another image';
  const reasons = await Promise.all(own.map((one) => whyUnsigned(one, rule)));
  if (reasons.includes(undefined)) return null;
  const { fingerprints, identities } = nameSigners(rule);
  const signers = [...fingerprints, ...identities].join(' or ');
  const reason = reasons.find((one) => one);
  return `the attestation is not signed by ${signers}${reason ? `: ${reason}` : ''}`;
};

/** Assignments of the bundle whose objects name the image. */
const packagesWith = async (layout: Layout, bundle: Digest, name: string): Promise<readonly string[]> => {
  const wanted = comparable(name);
  const packages = [...(await readPackages(layout, bundle))].filter(([, files]) =>
    [...readItems(files).values()].some(({ object }) =>
      imagesIn(object).some((image) => comparable(image) === wanted),
    ),
  );
  return packages.length === 0
    ? [`bundle ${shortDigest(bundle)}`]
    : packages.map(([assignment]) => assignment);
};

const comparable = (name: string): string => {
  const image = parseImageName(name);
  return image ? repositoryOf(image) : name;
};
