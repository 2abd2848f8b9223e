import { type Descriptor, MAX_MANIFEST_BYTES } from '../../formats/layout/manifest.ts';
import { FleetError, toFleetError } from '../../errors.ts';
import { parseArtifact } from '../../formats/layout/artifact.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import type { Shelf } from './destination.ts';
import { readChain } from './read-chain.ts';
import { readOrder } from './read-order.ts';
import type { Order, Pointer, Shipment } from './shipment.ts';
import { underNewestRoot } from './under-newest-root.ts';

/**
 * Checks that our pointer may replace the published one, whose statement is verified as by an agent: a target that this
 * fleet's keys did not sign may belong to another fleet and is not overwritten.
 * @param chain the fleet's roots as the layout has them
 * @throws FleetError ROLLBACK, EQUIVOCATION, AUDIT_TRUNCATED, ROOT_FLEET, and whatever is wrong with what is there
 */
export const judgePointer = async (
  shelf: Shelf,
  ours: Pick<Shipment, 'repository' | 'tag' | 'order' | 'lines'>,
  there: Descriptor,
  chain: readonly TrustRoot[],
): Promise<void> => {
  const theirs = await readTheirs(shelf, ours, there, chain).catch((error: unknown) => {
    throw unreadable(error, shelf, ours);
  });
  if (theirs === 'no floor') return;
  const where = `${shelf.name}:${ours.tag}`;
  if (theirs.number > ours.order.number) {
    throw new FleetError('ROLLBACK', `${where} is ${theirs.name} already, here is ${ours.order.name}`, {
      hint: 'Publish from the layout that made it, or put back the newest copy of it; a pointer never goes back',
    });
  }
  if (theirs.identity === ours.order.identity) return;
  if (theirs.number < ours.order.number) {
    if (!ours.lines || !theirs.identity || ours.lines.has(theirs.identity)) return;
    throw new FleetError(
      'AUDIT_TRUNCATED',
      `${where} is ${theirs.name}, whose newest is not in ${ours.order.name} here`,
      { hint: 'Entries were lost or replaced; put back the newest copy of the layout' },
    );
  }
  throw new FleetError('EQUIVOCATION', `${where} is ${theirs.name} too, but with other content`, {
    hint: 'Two layouts have counted on from the same number; build again in the one that published first',
  });
};

/**
 * A statement that no longer verifies under the newest root is not a floor (docs/bundle-format.md section 8, step 3). An audit log is
 * one under any root: its entries stay after a rotation.
 */
const readTheirs = async (
  shelf: Shelf,
  pointer: Pick<Pointer, 'repository' | 'tag'>,
  { digest }: Descriptor,
  known: readonly TrustRoot[],
): Promise<Order | 'no floor'> => {
  const bytes = await readBlob(shelf.blobs, digest, MAX_MANIFEST_BYTES);
  const documents = parseArtifact(bytes, { what: `${shelf.name}:${pointer.tag}` });
  const chain = await readChain(shelf.blobs, documents, known);
  if (chain.length > known.length) {
    throw new FleetError(
      'ROOT_BEHIND',
      `${shelf.name}:${pointer.tag} comes with root ${chain.at(-1)?.version}, known here is root ${known.at(-1)?.version}`,
      { hint: 'Put the newest roots into the key directory and build again; sites believe no older root' },
    );
  }
  const { value, root } = await underNewestRoot(chain, (one) =>
    readOrder(pointer, shelf.blobs, documents, one),
  );
  return root === chain.at(-1) || pointer.tag === 'log' ? value : 'no floor';
};

const unreadable = (error: unknown, shelf: Shelf, { tag }: Pick<Pointer, 'tag'>): FleetError => {
  const known = toFleetError(error, `reading ${shelf.name}:${tag}`);
  if (known.hint !== undefined || known.retryable || known.code === 'REGISTRY_DENIED') return known;
  return new FleetError(known.code, known.message, {
    subject: `${shelf.name}:${tag}`,
    cause: known,
    hint: 'What is there is nothing that this fleet signed; if nobody needs it, remove the tag and publish again',
  });
};
