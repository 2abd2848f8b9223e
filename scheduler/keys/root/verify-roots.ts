import { FleetError } from '#bundles/errors';
import { namingFile } from '#bundles/trust/keys/naming-file';
import { readRoot } from '#bundles/trust/root/read-root';
import { advanceRoot, checkRootExpiry, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { isEnough } from '#bundles/trust/root/root-signatures';
import { type Draft, judgeDraft } from './judge-draft.ts';
import { describeOfficer } from './officer-name.ts';

export type RootFile = { readonly file: string; readonly bytes: Buffer };

export type VerifiedRoots = {
  /** Oldest first. */
  readonly drafts: readonly Draft[];
  /** The first error; undefined if agents accept the whole chain. */
  readonly refusal: FleetError | undefined;
};

/**
 * Verifies a chain of roots, given in any order: each must be signed by its own officers and by the previous root's, no version
 * may be missing, and the last must not have expired. A missing signature is reported with the officers who can give it.
 * @throws FleetError ROOT_FORMAT, ROOT_VERSION, ROOT_FLEET, BAD_SIGNATURE, DUPLICATE
 */
export const verifyRoots = (files: readonly RootFile[], now: Date): VerifiedRoots => {
  const sorted = files
    .map(({ file, bytes }) => ({ file, bytes, version: namingFile(file, () => readRoot(bytes)).version }))
    .toSorted((a, b) => a.version - b.version);
  const drafts: Draft[] = [];
  for (const { file, bytes, version } of sorted) {
    const before = drafts.at(-1)?.root;
    if (before?.version === version) {
      throw new FleetError('DUPLICATE', `there are two files of root ${version}`, {
        at: { file },
        hint: 'Give each root once',
      });
    }
    // The chain may begin at any version: an officer may have only the newest two roots.
    drafts.push(before ? namingFile(file, () => judgeDraft(bytes, before)) : beginChain(file, bytes));
  }
  return { drafts, refusal: drafts.map(lackOf).find(Boolean) ?? refusalOf(drafts, now) };
};

const beginChain = (file: string, bytes: Buffer): Draft =>
  namingFile(file, () => {
    const root = readRoot(bytes);
    if (root.version === 1) return judgeDraft(bytes, undefined);
    const begun = parseRoot(bytes);
    return { root: begun, before: undefined, signatures: [], complete: true };
  });

/** The error for a root that lacks signatures; undefined if it is complete. */
const lackOf = (draft: Draft): FleetError | undefined => {
  const lacking = draft.signatures.find((one) => !isEnough(one));
  if (lacking === undefined) return undefined;
  const own = lacking.of === draft.root.version;
  const left = lacking.needed - lacking.signed.length;
  return new FleetError(
    own ? 'ROOT_THRESHOLD_NEW' : 'ROOT_THRESHOLD_OLD',
    `${left === 1 ? 'one more officer' : `${left} more officers`} of root ${lacking.of} must sign it`,
    {
      subject: `root ${draft.root.version}`,
      hint: `One of ${lacking.missing.map((key) => describeOfficer(draft.before ?? draft.root, key)).join(', ')} can: fleet-scheduler root sign`,
    },
  );
};

/** Finally verifies the chain with the code that agents run. */
const refusalOf = (drafts: readonly Draft[], now: Date): FleetError | undefined => {
  const [first, ...next] = drafts.map(({ root }) => root) as [TrustRoot, ...TrustRoot[]];
  try {
    checkRootExpiry(advanceRoot(parseRoot(first.bytes), next), now);
    return undefined;
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
};
