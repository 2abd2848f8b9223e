import { type Digest, digestOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { formatTime } from '../../time.ts';
import { readRoot, type TrustRoot } from './read-root.ts';
import { isSignedBy, readRootDocument } from './root-document.ts';

export { advanceRoot } from './advance-root.ts';
export { createRoot, type RootInput, signRoot } from './create-root.ts';
export type { TrustRoot } from './read-root.ts';

/**
 * Parses a root and verifies the signatures of its own officers. Trust in it comes from its pinned digest, or from the previous
 * root (advanceRoot).
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, TOO_MANY, ROOT_FORMAT, ROOT_THRESHOLD_NEW
 */
export const parseRoot = (bytes: Uint8Array): TrustRoot => {
  const digest = digestOf(bytes);
  const before = parsed.get(digest);
  if (before) return before;
  const document = readRootDocument(bytes);
  const root = readRoot(bytes, document);
  if (!isSignedBy(document, document)) {
    throw new FleetError('ROOT_THRESHOLD_NEW', 'too few of its own officers signed it', {
      subject: `root ${root.version}`,
    });
  }
  const [oldest] = parsed.keys();
  if (parsed.size >= MAX_PARSED && oldest !== undefined) parsed.delete(oldest);
  parsed.set(digest, root);
  return root;
};

/** Roots that were parsed, by the digest of their bytes: an agent reads its own ten times in an import. */
const parsed = new Map<Digest, TrustRoot>();
const MAX_PARSED = 64;

/** @throws FleetError ROOT_EXPIRED */
export const checkRootExpiry = (root: TrustRoot, now: Date): void => {
  // TUF 1.0.31 section 5.3.10: valid while its expiry lies ahead.
  if (root.expires.getTime() > now.getTime()) return;
  throw new FleetError('ROOT_EXPIRED', `it ended on ${formatTime(root.expires)}`, {
    subject: `root ${root.version}`,
    hint: 'Bring the next root, signed by the officers; if this clock is wrong, set it',
  });
};
