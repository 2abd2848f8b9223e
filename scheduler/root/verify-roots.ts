import { FleetError } from '#bundles/errors';
import { namingFile } from '#bundles/keys/naming-file';
import { fingerprint } from '#bundles/trust/key';
import { readRoot } from '#bundles/trust/read-root';
import { advanceRoot, checkRootExpiry, parseRoot, type TrustRoot } from '#bundles/trust/root';
import { isEnough } from '#bundles/trust/root-signatures';
import { type Draft, judgeDraft } from './judge-draft.ts';

export type RootFile = { readonly file: string; readonly bytes: Buffer };

export type VerifiedRoots = {
  /** Oldest first. */
  readonly drafts: readonly Draft[];
  /** The first thing that is wrong; undefined: every agent follows this chain to its end. */
  readonly refusal: FleetError | undefined;
};

/**
 * A whole chain of roots, in any order: each signed by its own officers and by those of the one before, none missing between,
 * the last not ended. Roots that lack signatures are told with who could give them.
 * @throws FleetError for what is no root, or follows nothing: ROOT_FORMAT, ROOT_VERSION, ROOT_FLEET, BAD_SIGNATURE, DUPLICATE
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
    // Where the chain begins is the reader's own choice: an officer may hold only the newest two.
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

/** Whose signature a root still needs; undefined for one that is complete. */
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
      hint: `One of ${lacking.missing.map(fingerprint).join(', ')} can: fleet-scheduler root sign`,
    },
  );
};

/** In the end the very code that agents run. */
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
