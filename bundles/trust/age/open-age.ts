import { createDecipheriv } from 'node:crypto';
import type { RandomAccess } from '../../formats/archive/random-access.ts';
import { FleetError } from '../../errors.ts';
import { isNotRecipient, createDecrypter } from './decrypter.ts';
import { CHUNK, CIPHER, chunkNonce, chunksOf, MAX_HEADER_BYTES, NONCE, payloadKey, TAG } from './payload.ts';

/** Chunks of one read of the file. */
const CHUNKS_AT_ONCE = 16;
const SEALED_CHUNK = CHUNK + TAG;

/**
 * Random access to the content of an age file. Every chunk is authenticated before any of its bytes are returned; the last one when
 * the file is opened, because it proves the size. Disposing closes `bytes`; when this function throws, they stay open.
 * @throws FleetError NOT_A_RECIPIENT; KEY_FORMAT for an invalid identity; TRUNCATED, DIGEST_MISMATCH: the file was cut
 *   or changed, here and in every read; MEDIUM_INVALID: it is not an age file
 */
export const openAge = async (bytes: RandomAccess, identities: readonly string[]): Promise<RandomAccess> => {
  const header = await readHeader(bytes);
  const fileKey = await unwrap(header, identities);
  const begin = header.byteLength + NONCE;
  const nonce = await readExactly(bytes, header.byteLength, NONCE);
  const size = plainSize(bytes.size - begin);
  const key = payloadKey(fileKey, nonce);
  const lastIndex = chunksOf(size) - 1;

  const openChunk = (sealed: Buffer, index: number): Buffer => {
    const end = sealed.byteLength - TAG;
    const decipher = createDecipheriv(CIPHER, key, chunkNonce(index, index === lastIndex), {
      authTagLength: TAG,
    });
    decipher.setAuthTag(sealed.subarray(end));
    const plain = decipher.update(sealed.subarray(0, end));
    try {
      decipher.final();
    } catch (cause) {
      throw new FleetError('DIGEST_MISMATCH', `its sealed bytes were changed, ${placeOf(index)}`, {
        hint: DAMAGED,
        cause,
      });
    }
    return plain;
  };

  /** Reads sealed chunks from `index` on, as many as fit into `buffer`. */
  const readSealed = async (index: number, count: number, buffer: Buffer): Promise<Buffer> => {
    const position = begin + index * SEALED_CHUNK;
    const wanted = Math.min(count * SEALED_CHUNK, bytes.size - position);
    return fill(bytes, buffer.subarray(0, wanted), position);
  };

  const free: Buffer[] = [];
  const last = await readSealed(lastIndex, 1, Buffer.allocUnsafe(SEALED_CHUNK));
  // Headers of an archive are read one after the other out of the same chunk.
  let kept = { index: lastIndex, plain: openChunk(last, lastIndex) };

  const readAt = async (target: Buffer, position: number): Promise<number> => {
    const wanted = Math.min(target.byteLength, size - position);
    if (wanted <= 0) return 0;
    const first = Math.floor(position / CHUNK);
    const within = position - first * CHUNK;
    if (kept.index === first) return kept.plain.copy(target, 0, within, within + wanted);
    const count = Math.min(CHUNKS_AT_ONCE, chunksOf(within + wanted));
    const buffer = free.pop() ?? Buffer.allocUnsafeSlow(CHUNKS_AT_ONCE * SEALED_CHUNK);
    try {
      const sealed = await readSealed(first, count, buffer);
      let filled = 0;
      for (let at = 0; at < sealed.byteLength; at += SEALED_CHUNK) {
        const index = first + at / SEALED_CHUNK;
        const plain = openChunk(sealed.subarray(at, at + SEALED_CHUNK), index);
        const from = index === first ? within : 0;
        filled += plain.copy(target, filled, from, Math.min(plain.byteLength, from + wanted - filled));
        kept = { index, plain };
      }
      return filled;
    } finally {
      free.push(buffer);
    }
  };

  return {
    size,
    read: async (buffer, offset, length, position) => {
      const target = Buffer.from(
        buffer.buffer,
        buffer.byteOffset + offset,
        Math.min(length, buffer.byteLength - offset),
      );
      return { bytesRead: await readAt(target, position) };
    },
    [Symbol.asyncDispose]: () => bytes[Symbol.asyncDispose](),
  };
};

const DAMAGED = 'The copy is damaged or was changed; make it again';

const placeOf = (index: number): string => `at byte ${index * CHUNK} of its content`;

const truncated = (): FleetError =>
  new FleetError('TRUNCATED', 'the sealed file is truncated', { hint: 'Copy it again; it was cut short' });

/** @param sealed bytes behind the nonce; only the chunk of empty content is empty */
const plainSize = (sealed: number): number => {
  const rest = sealed % SEALED_CHUNK;
  if (sealed < TAG || (rest > 0 && rest <= TAG && sealed !== TAG)) throw truncated();
  return sealed - Math.ceil(sealed / SEALED_CHUNK) * TAG;
};

const MAGIC = 'age-encryption.org/v1\n';
const MAC_LINE = /\n--- [^\n]*\n/;

/** Reads up to the end of the MAC line, the only line that begins with three dashes. */
const readHeader = async (bytes: RandomAccess): Promise<Buffer> => {
  for (let length = 4 << 10; ; length *= 4) {
    const start = await readExactly(bytes, 0, Math.min(length, bytes.size));
    const text = start.toString('latin1');
    if (!MAGIC.startsWith(text.slice(0, MAGIC.length)))
      throw new FleetError('MEDIUM_INVALID', 'it is not an age file', { hint: DAMAGED });
    const found = MAC_LINE.exec(text);
    if (found) return start.subarray(0, found.index + found[0].length);
    if (length >= bytes.size) throw truncated();
    if (length >= MAX_HEADER_BYTES)
      throw new FleetError('TOO_LARGE', `its list of recipients has more than ${MAX_HEADER_BYTES} bytes`);
  }
};

const unwrap = async (header: Uint8Array, identities: readonly string[]): Promise<Uint8Array> => {
  const decrypter = await createDecrypter(identities);
  try {
    return await decrypter.decryptHeader(header);
  } catch (cause) {
    if (isNotRecipient(cause)) {
      throw new FleetError('NOT_A_RECIPIENT', 'it is sealed to other machines than this one', {
        hint: 'Check that this is the medium for this site; if it is, the platform team makes it again for this agent',
      });
    }
    // The library's message may quote untrusted text of the file.
    throw new FleetError('DIGEST_MISMATCH', 'its list of recipients was changed', {
      hint: DAMAGED,
    });
  }
};

const readExactly = (bytes: RandomAccess, position: number, length: number): Promise<Buffer> =>
  fill(bytes, Buffer.allocUnsafe(length), position);

/** @throws FleetError TRUNCATED where the file has become shorter than it was */
const fill = async (bytes: RandomAccess, buffer: Buffer, position: number): Promise<Buffer> => {
  for (let filled = 0; filled < buffer.byteLength; ) {
    const { bytesRead } = await bytes.read(buffer, filled, buffer.byteLength - filled, position + filled);
    if (bytesRead === 0) throw truncated();
    filled += bytesRead;
  }
  return buffer;
};
