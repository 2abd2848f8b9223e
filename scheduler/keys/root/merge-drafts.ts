import { Metadata } from '@tufjs/models';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { namingFile } from '#bundles/trust/keys/naming-file';
import { readRoot } from '#bundles/trust/root/read-root';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readRootDocument, signedBytes, writeRootDocument } from '#bundles/trust/root/root-document';
import { officerIds } from '#bundles/trust/root/root-signatures';
import { judgeDraft } from './judge-draft.ts';
import type { RootFile } from './verify-roots.ts';

/**
 * Merges copies of one draft that officers signed in parallel: the first copy with the officers' signatures of the others. The
 * order of the copies does not change the signers, but may change the file: of two signatures by one officer the first is kept.
 * @throws FleetError EQUIVOCATION, ROOT_VERSION, ROOT_FLEET if a file is not a copy of the first, naming the file;
 *   ROOT_FORMAT, BAD_SIGNATURE
 */
export const mergeDrafts = (
  [first, ...others]: readonly [RootFile, ...RootFile[]],
  before: TrustRoot | undefined,
): Buffer => {
  namingFile(first.file, () => judgeDraft(first.bytes, before));
  const document = readRootDocument(first.bytes);
  const data = signedBytes(document);
  const signatures = new Map(Object.entries(document.signatures));
  for (const { file, bytes } of others) {
    namingFile(file, () => {
      checkCopy(readRoot(first.bytes), readRoot(bytes));
      const draft = judgeDraft(bytes, before);
      const copy = readRootDocument(bytes);
      if (!signedBytes(copy).equals(data)) throw otherContent(draft.root.version, first.file);
      // Signatures by other keys than the officers' are dropped.
      const voters = before ? [document, readRootDocument(before.bytes)] : [document];
      const officers = draft.signatures.flatMap(({ signed }) => signed);
      for (const id of officers.flatMap((key) => voters.flatMap((voter) => officerIds(voter, key)))) {
        const signature = copy.signatures[id];
        if (signature && !signatures.has(id)) signatures.set(id, signature);
      }
    });
  }
  const sorted = [...signatures].toSorted(([a], [b]) => compareBytes(a, b));
  return writeRootDocument(new Metadata(document.signed, Object.fromEntries(sorted)));
};

const checkCopy = (first: TrustRoot, other: TrustRoot): void => {
  if (other.fleet !== first.fleet) {
    throw new FleetError('ROOT_FLEET', `it is of fleet ${other.fleet}, and the first of ${first.fleet}`, {
      hint: 'Give copies of one draft',
    });
  }
  if (other.version === first.version) return;
  throw new FleetError(
    'ROOT_VERSION',
    `it is root ${other.version}, and the first is root ${first.version}`,
    {
      hint: 'Give copies of one draft',
    },
  );
};

const otherContent = (version: number, first: string): FleetError =>
  new FleetError('EQUIVOCATION', `it differs from ${first}, under the same number`, {
    subject: `root ${version}`,
    hint: 'Their officers signed two different roots: compare both with root inspect, and find out which file each officer received before anybody signs again',
  });
