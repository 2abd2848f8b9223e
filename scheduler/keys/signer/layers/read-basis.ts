import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type BundleConfig, parseBundleConfig } from '#bundles/formats/bundle/config';
import { writeOnlyNames } from '#bundles/formats/author-schema/write-only-names';
import { parseImageManifest } from '#bundles/formats/layout/manifest';
import type { Audience, BundlePredicate } from '#bundles/formats/statements/predicates';
import { parseDocument } from '#bundles/json/validate';
import { PREDICATES } from '#bundles/media-types';
import { formatChannel } from '#bundles/names';
import { parseTime } from '#bundles/time';
import { checkAudience } from '#bundles/trust/accept/check-audience';
import type { TrustRoot } from '#bundles/trust/root/root';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { findBytes, findStatements } from '../judge/find-evidence.ts';
import type { SignerState } from '../state/open-state.ts';
import { checkCurrent, type ShownRelease } from './check-current.ts';

/** The release, statements and configurations that the values of a channel's agents follow from. */
export type Basis = ShownRelease & {
  readonly clusterType: string;
  readonly bundles: readonly {
    readonly digest: Digest;
    readonly config: BundleConfig;
    /** When the statement was built, Unix milliseconds. */
    readonly builtAt: number;
  }[];
  /** Digest of the layers that the statements name; undefined: they name none. */
  readonly layers: Digest | undefined;
};

export type BasisParts = {
  readonly root: TrustRoot;
  readonly roots: readonly TrustRoot[];
  readonly state: Pick<SignerState, 'signed' | 'layersOf' | 'statedAt'>;
};

/**
 * Reads a release, the statements of its bundles, and their manifests and configurations. The release is the newest of its channel, and no
 * statement is older than one about the same bundle that this signer was shown.
 * @throws FleetError SIGNER_REFUSED, APPROVAL_MISSING, MISSING_BLOB, WRONG_FLEET, WRONG_CHANNEL, SCHEMA; UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD
 */
export const readBasis = (documents: readonly Buffer[], parts: BasisParts): Basis => {
  const { state } = parts;
  const { verified, audience, version, channel } = readRelease(documents, parts);
  const shown = { channel, version, release: verified.digest };
  checkCurrent(shown, state.signed(`release:${channel}`));
  const before = state.layersOf(channel);
  if (before !== undefined && version < before)
    throw new FleetError(
      'SIGNER_REFUSED',
      `release ${version} of ${channel} is older than release ${before}, whose layers were shown to this signer`,
      { hint: 'If the layout is an old copy, restore the newest one' },
    );
  const bundles = verified.subjects
    .filter(({ name }) => name.startsWith('bundle/'))
    .map(({ digest }) => {
      const said = readStatement(documents, digest, audience, parts);
      const config = readConfig(documents, digest);
      return { digest, config, builtAt: parseTime(said.builtAt).getTime(), layers: said.siteLayers };
    });
  return {
    ...shown,
    clusterType: audience.clusterType,
    bundles: bundles.map(({ layers: _, ...bundle }) => bundle),
    layers: bundles.find(({ layers }) => layers)?.layers,
  };
};

/** Names of values that a release of a channel hides by its schema. */
export type PastHidden = { readonly channel: string; readonly names: ReadonlySet<string> };

/**
 * Reads what a release hides that need not be the newest: agents ran it, and values that were given under it stay hidden.
 * @throws FleetError as readBasis
 */
export const readPastHidden = (
  documents: readonly Buffer[],
  { root, roots, state }: BasisParts,
): PastHidden => {
  const { verified, channel, version } = readRelease(documents, { root, roots });
  const [newest] = state.signed(`release:${channel}`);
  if (newest && version > newest.version)
    throw new FleetError('SIGNER_REFUSED', `this signer has not signed release ${version} of ${channel}`);
  const configs = verified.subjects
    .filter(({ name }) => name.startsWith('bundle/'))
    .map(({ digest }) => readConfig(documents, digest));
  return { channel, names: hiddenNames(configs) };
};

export const hiddenNames = (configs: readonly Pick<BundleConfig, 'siteInputs'>[]): ReadonlySet<string> =>
  new Set(configs.flatMap(({ siteInputs }) => [...writeOnlyNames(siteInputs.schema)]));

const readRelease = (documents: readonly Buffer[], { root, roots }: Pick<BasisParts, 'root' | 'roots'>) => {
  const files = findStatements(documents, ({ predicateType }) => predicateType === PREDICATES.release);
  const { verified } = verifyUnder(files, roots, 'release', PREDICATES.release, 'the release of the layers');
  const { audience, version } = parseDocument('release-predicate', verified.predicate, 'the release');
  if (audience.fleet !== root.fleet)
    throw new FleetError('WRONG_FLEET', `the release is of fleet ${audience.fleet}, not ${root.fleet}`);
  return { verified, audience, version, channel: formatChannel(audience) };
};

const readStatement = (
  documents: readonly Buffer[],
  digest: Digest,
  audience: Audience,
  { root, state }: BasisParts,
): BundlePredicate => {
  const what = `the statement of bundle ${shortDigest(digest)}`;
  const files = findStatements(
    documents,
    ({ predicateType, subjects }) =>
      predicateType === PREDICATES.bundle && subjects.some((subject) => subject.digest === digest),
  );
  if (files.length === 0)
    throw new FleetError('APPROVAL_MISSING', `the request lacks ${what}`, { subject: digest });
  const { predicate } = verifyStatement(files, root.roles.bundle, PREDICATES.bundle, what);
  const said = parseDocument('bundle-predicate', predicate, what);
  checkAudience(said, audience, what);
  const newest = state.statedAt(formatChannel(audience), digest);
  if (newest !== undefined && parseTime(said.builtAt).getTime() < newest)
    throw new FleetError(
      'SIGNER_REFUSED',
      `${what} of ${said.builtAt} is older than one that this signer was shown`,
      { subject: digest, hint: 'If the layout is an old copy, build again' },
    );
  return said;
};

const readConfig = (documents: readonly Buffer[], bundle: Digest): BundleConfig => {
  const find = (digest: Digest): Buffer => {
    const bytes = findBytes(documents, digest);
    if (bytes) return bytes;
    const missing = `the request lacks ${shortDigest(digest)} of bundle ${shortDigest(bundle)}`;
    throw new FleetError('MISSING_BLOB', missing, { subject: digest });
  };
  const { config } = parseImageManifest(find(bundle), `bundle ${shortDigest(bundle)}`);
  return parseBundleConfig(find(config.digest));
};
