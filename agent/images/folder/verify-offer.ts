import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { parseAs } from '#bundles/json/parse-as';
import { BUNDLE_PREDICATE, RELEASE_PREDICATE } from '#bundles/json/schema/validators';
import { PREDICATES } from '#bundles/media-types';
import { pinnedRoot } from '#bundles/trust/accept/accept-root';
import { advanceRoot, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { type RoleKeys, type Subject, verifyStatement } from '#bundles/trust/statements/verify-statement';
import type { Offer } from './image-folder.ts';

const MAX_ROOT_BYTES = 512 << 10;
const MAX_DOCUMENTS = 64;
/** One root a year, or one a month for twenty years; and the memory that they may take together. */
const MAX_ROOTS = 256;
const MAX_ROOTS_BYTES = 16 << 20;
/** Steps along the chain of roots that are taken in one call. */
const STEPS_AT_ONCE = 32;
/** Of the statement of a bundle, and of a release. */
const SUBJECTS: ReadonlySet<string> = new Set(['bundle', 'bundle/kubernetes']);

export type Proven = { readonly bundle: Bundle; readonly root: TrustRoot };

/**
 * Verifies that a release of the fleet names the bundle, and that its builder signed it, from the root whose SHA-256 an administrator
 * gave to the loader. Dates are not judged: loading an image runs nothing, and the agent has judged them.
 * @param oldest version of the newest root that was accepted before
 * @throws FleetError ROOT_*, UNSIGNED, UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, WRONG_FLEET, MISSING_BLOB, DIGEST_MISMATCH and as readBundle
 */
export const verifyOffer = async (
  source: BlobSource,
  offer: Offer,
  trust: { readonly pinnedRoot: Digest; readonly oldest: number },
  signal: AbortSignal,
): Promise<Proven> => {
  const read = async (digests: readonly Digest[], maxBytes: number): Promise<readonly Buffer[]> => {
    if (digests.length > MAX_DOCUMENTS)
      throw new FleetError('TOO_MANY', `bundle ${shortDigest(offer.bundle)} has ${digests.length} documents`);
    return Promise.all(digests.map((digest) => readBlob(source, digest, maxBytes, signal)));
  };
  if (offer.roots.length > MAX_ROOTS)
    throw new FleetError('TOO_MANY', `bundle ${shortDigest(offer.bundle)} has ${offer.roots.length} roots`);
  const roots: Buffer[] = [];
  let left = MAX_ROOTS_BYTES;
  for (const digest of offer.roots) {
    const bytes = await readBlob(source, digest, Math.min(MAX_ROOT_BYTES, left), signal);
    left -= bytes.byteLength;
    roots.push(bytes);
  }
  const root = newestOf(pinnedRoot(trust, roots), roots.map(parseRoot));
  if (root.version < trust.oldest)
    throw new FleetError(
      'ROOT_VERSION',
      `the newest root is ${root.version}, and root ${trust.oldest} was accepted here before`,
    );
  const signed = async (digests: readonly Digest[], role: RoleKeys, predicate: string, what: string) => {
    const statement = verifyStatement(await read(digests, MAX_STATEMENT_BYTES), role, predicate, what);
    const isSubject = (one: Subject): boolean => SUBJECTS.has(one.name) && one.digest === offer.bundle;
    if (!statement.subjects.some(isSubject))
      throw new FleetError('EXTRA_BUNDLE', `${what} does not name bundle ${shortDigest(offer.bundle)}`);
    return statement.predicate;
  };
  const { release, bundle } = root.roles;
  const released = parseAs(
    RELEASE_PREDICATE,
    await signed(offer.release, release, PREDICATES.release, 'the release'),
    'the release',
  );
  const what = 'the statement of the bundle';
  const built = parseAs(
    BUNDLE_PREDICATE,
    await signed(offer.statements, bundle, PREDICATES.bundle, what),
    what,
  );
  for (const { fleet } of [released.audience, built])
    if (fleet !== root.fleet)
      throw new FleetError('WRONG_FLEET', `the release is of fleet ${fleet}, not ${root.fleet}`);
  return { bundle: await readBundle(source, offer.bundle, signal), root };
};

/** A loader begins at the root that an administrator gave it each time, so it may have more steps before it than an agent has at once. */
const newestOf = (pinned: TrustRoot, roots: readonly TrustRoot[]): TrustRoot => {
  const newer = roots.filter(({ version }) => version >= pinned.version);
  const sorted = newer.toSorted((a, b) => a.version - b.version);
  let root = pinned;
  for (let at = 0; at < sorted.length; at += STEPS_AT_ONCE)
    root = advanceRoot(root, sorted.slice(at, at + STEPS_AT_ONCE));
  return root;
};
