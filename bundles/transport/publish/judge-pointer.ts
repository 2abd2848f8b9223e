import { type Descriptor, MAX_MANIFEST_BYTES } from '../../formats/layout/manifest.ts';
import { FleetError, toFleetError } from '../../errors.ts';
import { parseArtifact } from '../../formats/layout/artifact.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import type { TargetRepository } from './destination.ts';
import { readChain } from './read-chain.ts';
import { readVersion } from './read-version.ts';
import type { PointerVersion, Pointer, UploadBatch } from './upload-batch.ts';
import { underNewestRoot } from './under-newest-root.ts';

/**
 * Checks that our pointer may replace the published one, whose statement is verified as by an agent: a target that this fleet's
 * keys did not sign may belong to another fleet and is not overwritten.
 * @param chain the fleet's roots as the layout has them
 * @throws FleetError ROLLBACK, EQUIVOCATION, AUDIT_TRUNCATED, ROOT_FLEET, and the code of any error in the published artifact
 */
export const judgePointer = async (
  target: TargetRepository,
  ours: Pick<UploadBatch, 'repository' | 'tag' | 'version' | 'lines' | 'releaseAt'>,
  there: Descriptor,
  chain: readonly TrustRoot[],
): Promise<void> => {
  const theirs = await readTheirs(target, ours, there, chain).catch((error: unknown) => {
    throw unreadable(error, target, ours);
  });
  if (theirs === 'no floor') return;
  const where = `${target.name}:${ours.tag}`;
  if (theirs.number > ours.version.number) {
    throw new FleetError('ROLLBACK', `${where} is ${theirs.name} already, here is ${ours.version.name}`, {
      hint: 'Publish from the layout that made it, or restore the newest copy of that layout; a pointer never goes back',
    });
  }
  if (theirs.identity === ours.version.identity) return;
  if (theirs.number < ours.version.number) {
    await checkFollows(ours, theirs, where);
    if (!ours.lines || !theirs.identity || ours.lines.has(theirs.identity)) return;
    throw new FleetError(
      'AUDIT_TRUNCATED',
      `${where} is ${theirs.name}, whose newest is not in ${ours.version.name} here`,
      { hint: 'Entries were lost or replaced; restore the newest copy of the layout' },
    );
  }
  throw new FleetError('EQUIVOCATION', `${where} is ${theirs.name} too, but with other content`, {
    hint: 'Two layouts continued from the same number; build again in the layout that published first',
  });
};

/**
 * A release does not replace one of another layout that gave its numbers to other content: what that one brought would be taken back
 * at every site, and nobody would see it. After a restore the layout lacks numbers, which says nothing.
 * @throws FleetError EQUIVOCATION
 */
const checkFollows = async (
  { version, releaseAt }: Pick<UploadBatch, 'version' | 'releaseAt'>,
  theirs: PointerVersion,
  where: string,
): Promise<void> => {
  if (!releaseAt || version.previous === theirs.identity) return;
  const own = await releaseAt(theirs.number);
  if (own === undefined || own === theirs.identity) return;
  throw new FleetError(
    'EQUIVOCATION',
    `${where} is ${theirs.name}, and ${version.name} here follows on another ${theirs.name}`,
    {
      hint: 'Two layouts gave out the same numbers with the same keys: publish from one of them only; to go on with this one, run fleet-scheduler restore --in-place, then build',
    },
  );
};

/**
 * A statement that no longer verifies under the newest root is not a floor (docs/bundle-format.md section 8, step 3). An audit log is
 * one under any root: its entries stay after a rotation.
 */
const readTheirs = async (
  target: TargetRepository,
  pointer: Pick<Pointer, 'repository' | 'tag'>,
  { digest }: Descriptor,
  known: readonly TrustRoot[],
): Promise<PointerVersion | 'no floor'> => {
  const bytes = await readBlob(target.blobs, digest, MAX_MANIFEST_BYTES);
  const documents = parseArtifact(bytes, { what: `${target.name}:${pointer.tag}` });
  const chain = await readChain(target.blobs, documents, known);
  if (chain.length > known.length) {
    throw new FleetError(
      'ROOT_BEHIND',
      `${target.name}:${pointer.tag} comes with root ${chain.at(-1)?.version}, known here is root ${known.at(-1)?.version}`,
      { hint: 'Put the newest roots into the key directory and build again; sites refuse an older root' },
    );
  }
  const { value, root } = await underNewestRoot(chain, (one) =>
    readVersion(pointer, target.blobs, documents, one),
  );
  return root === chain.at(-1) || pointer.tag === 'log' ? value : 'no floor';
};

const unreadable = (error: unknown, target: TargetRepository, { tag }: Pick<Pointer, 'tag'>): FleetError => {
  const known = toFleetError(error, `reading ${target.name}:${tag}`);
  if (known.hint !== undefined || known.retryable || known.code === 'REGISTRY_DENIED') return known;
  return new FleetError(known.code, known.message, {
    subject: `${target.name}:${tag}`,
    cause: known,
    hint: 'The tag names content that this fleet did not sign; if it is not needed, remove the tag and publish again',
  });
};
