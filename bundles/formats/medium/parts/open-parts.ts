import { defined } from '../../../defined.ts';
import { compareBytes, type Digest } from '../../../digest.ts';
import { FleetError } from '../../../errors.ts';
import type { BlobSource } from '../../layout/blobs.ts';
import { type ReadOptions, readSpan } from '../../layout/read-span.ts';
import { missingBlob, verified } from '../../layout/verified.ts';
import { nameSome } from '../../../name-some.ts';
import { chunkedBlobs, type OpenFile } from './chunked-blobs.ts';
import type { FoundParts } from './find-parts.ts';
import { type GatheredPart, gatherParts, partTitle } from './gather-parts.ts';
import { indexParts, type PartIndex } from './index-parts.ts';
import { MEDIUM_FILE, type MediumParts, type OpenMedium, type OpenOptions, parseMedium } from '../medium.ts';
import { blobPath } from '../blob-path.ts';
import { listFiles, notThere, readOptional } from '../plain-files.ts';

/**
 * Opens a set of parts, complete or not. Reads check the digest of each file, so that an error names the damaged part.
 * @throws FleetError MEDIUM_SEALED, NOT_A_RECIPIENT, MEDIUM_INVALID, TOO_MANY, PARTS_MISSING, and the errors of parseMedium
 */
export const openParts = async (found: readonly FoundParts[], options: OpenOptions): Promise<OpenMedium> => {
  await using cleanup = new AsyncDisposableStack();
  const gathered = await gatherParts(found, options, cleanup);
  const [first] = gathered.parts as [GatheredPart];
  const medium = parseMedium(first.medium);
  if (!medium.parts) {
    throw new FleetError('MEDIUM_INVALID', `${partTitle(first)}: its table of contents lists no parts`);
  }
  const index = indexParts(medium, medium.parts, gathered);
  const { here, damaged, missing } = index;
  if (here.length === 0) throw damaged[0]?.error ?? notThere('every part', first.path);
  const path = found.map((one) => one.path).join(', ');
  const roots = found.flatMap(({ root }) => root ?? []);
  const name = `medium ${path}${describeAbsent(missing, damaged, medium.parts.length)}`;
  const parts: MediumParts = {
    set: first.label.set,
    count: medium.parts.length,
    sealed: here.some(({ sealed }) => sealed),
    here: here.map(({ number, path: file, size, digest }) =>
      defined({
        number,
        path: file,
        size,
        digest: digest || undefined,
      }),
    ),
    missing,
    damaged,
    partOf: index.partOf,
    piece: (file, options = {}) => readFound(index, file, options),
  };
  const open = cleanup.move();
  return {
    path,
    form: 'parts',
    parts,
    roots,
    medium,
    blobs: blobsOf(name, index, medium.chunks),
    files: async (folder) => {
      const plain = await Promise.all(roots.map((root) => listFiles(root, folder)));
      const inside = [...index.paths()].filter((file) => file.startsWith(`${folder}/`));
      return [...new Set([...inside, ...plain.flat()])].toSorted(compareBytes);
    },
    readFile: async (file, maxBytes) => {
      if (file === MEDIUM_FILE) return first.medium;
      for (const root of roots) {
        const bytes = await readOptional(root, file, maxBytes);
        if (bytes) return bytes;
      }
      throw notThere(file, path);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};

/** ' (part 3 of 5 is not here)', to append to the name of the medium in messages. */
const describeAbsent = (
  missing: readonly number[],
  damaged: MediumParts['damaged'],
  count: number,
): string => {
  if (missing.length === 0) return '';
  const texts = missing.map((number) => {
    const why = damaged.find((one) => one.number === number);
    return `part ${number} of ${count} ${why ? `cannot be read (${why.path})` : 'is not here'}`;
  });
  return ` (${nameSome(texts, 3)})`;
};

/** The bytes of a file of the set, undefined when its part is not available. */
const readFound = (
  index: PartIndex,
  file: string,
  options: ReadOptions,
): AsyncIterable<Uint8Array> | undefined => {
  const digest = index.digestOf(file);
  const copies = index.find(file);
  const [first] = copies;
  if (!first || !digest) return undefined;
  return copies.length === 1 ? readChecked(first, digest, options) : firstGood(copies, digest, options);
};

const blobsOf = (name: string, index: PartIndex, chunks: Parameters<typeof chunkedBlobs>[1]): BlobSource => {
  const openFile: OpenFile = async (file, options = {}) => {
    const found = readFound(index, file, options);
    if (!found) throw notThere(file, name);
    return found;
  };
  const whole: BlobSource = {
    name,
    size: async (digest) => index.find(blobPath(digest))[0]?.span.size,
    open: async (digest, signal) => {
      if (index.find(blobPath(digest)).length === 0) throw missingBlob(digest, name);
      return openFile(blobPath(digest), { signal });
    },
  };
  const joined = chunkedBlobs(whole, chunks, openFile);
  return {
    name,
    size: async (digest) => (index.isWhole(digest) ? joined.size(digest) : undefined),
    open: async (digest, signal) => {
      if (index.isWhole(digest)) return joined.open(digest, signal);
      throw index.partOf(digest).length > 0
        ? lacksParts(name, index.partOf(digest), index.missing)
        : missingBlob(digest, name);
    },
  };
};

const lacksParts = (name: string, needed: readonly number[], missing: readonly number[]): FleetError => {
  const absent = needed.filter((number) => missing.includes(number));
  return new FleetError('PARTS_MISSING', `part ${nameSome(absent.map(String))} is needed, ${name}`, {
    hint: 'Insert the medium that has it, or ask for this part again',
  });
};

type Place = ReturnType<PartIndex['find']>[number];

/** The bytes of one file of a part; damage is reported with the part's name. */
async function* readChecked(
  { part, span }: Place,
  digest: Digest,
  options: ReadOptions,
): AsyncGenerator<Uint8Array> {
  const title = partTitle(part);
  try {
    yield* verified(digest, span.size, readSpan(part.bytes, span, title, options), title);
  } catch (cause) {
    if (!(cause instanceof FleetError) || cause.exitCode !== 4) throw cause;
    const { code, message } = cause;
    throw new FleetError(code, message.includes(title) ? message : `${title}: ${message}`, {
      subject: digest,
      hint: 'Copy or send this one part again; the others are good',
      cause,
    });
  }
}

/** Reads a file that every part has: whole, from the next part when a copy is damaged. */
async function* firstGood(
  copies: readonly Place[],
  digest: Digest,
  { signal }: ReadOptions,
): AsyncGenerator<Uint8Array> {
  for (const [at, copy] of copies.entries()) {
    // The last copy, and one larger than any document or manifest, is streamed.
    if (at === copies.length - 1 || copy.span.size > MAX_BUFFERED) {
      yield* readChecked(copy, digest, { signal });
      return;
    }
    try {
      const bytes = Buffer.concat(await Array.fromAsync(readChecked(copy, digest, { signal })));
      yield bytes;
      return;
    } catch (error) {
      if (!(error instanceof FleetError) || error.exitCode !== 4) throw error;
    }
  }
}

const MAX_BUFFERED = 16 << 20;
