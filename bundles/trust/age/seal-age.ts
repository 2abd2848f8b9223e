import { createCipheriv, randomBytes } from 'node:crypto';
import { compareBytes } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { parseRecipient } from './recipient.ts';
import { CHUNK, CIPHER, chunkNonce, chunksOf, MAX_HEADER_BYTES, NONCE, payloadKey, TAG } from './payload.ts';

export type AgeSealer = {
  /** Each once, sorted. */
  readonly recipients: readonly string[];
  /**
   * Returns the content as one age file. Each call uses a new file key, so the result differs each time. Holds a few chunks at a
   * time.
   */
  readonly seal: (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
  /** Size of the sealed file for a content size, both in bytes. */
  readonly sealedSize: (plain: number) => number;
};

/** Chunks of one write. */
const CHUNKS_AT_ONCE = 8;

/**
 * Seals content of any size to every one of these X25519 recipients: any one of their identities opens it.
 * @throws FleetError RECIPIENT_MISSING without any; KEY_FORMAT; TOO_MANY
 */
export const sealAge = async (recipients: readonly string[]): Promise<AgeSealer> => {
  const unique = [...new Set(recipients)].toSorted(compareBytes);
  for (const recipient of unique) parseRecipient(recipient, 'one of the recipients');
  if (unique.length === 0) throw new FleetError('RECIPIENT_MISSING', 'there is no recipient to seal this to');
  // Every stanza is as long as another, so the next header will be as long as this.
  const { byteLength } = (await newHeader(unique)).header;
  if (byteLength > MAX_HEADER_BYTES) {
    throw new FleetError('TOO_MANY', `nothing can be sealed to ${unique.length} recipients at once`, {
      hint: 'Make a medium for fewer sites',
    });
  }
  return {
    recipients: unique,
    seal: (content) => sealed(unique, content),
    sealedSize: (plain) => byteLength + NONCE + plain + chunksOf(plain) * TAG,
  };
};

type Header = { readonly header: Buffer; readonly fileKey: Uint8Array };

/** The library passes the file key only to recipients: a recipient without a stanza captures it. */
const newHeader = async (recipients: readonly string[]): Promise<Header> => {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  let fileKey: Uint8Array | undefined;
  encrypter.addRecipient({
    wrapFileKey: (key) => {
      fileKey = key;
      return [];
    },
  });
  try {
    for (const recipient of recipients) encrypter.addRecipient(recipient);
    const file = Buffer.from(await encrypter.encrypt(new Uint8Array()));
    if (!fileKey) throw new FleetError('INTERNAL', 'age sealed without a file key');
    return { header: file.subarray(0, file.byteLength - NONCE - TAG), fileKey };
  } catch (cause) {
    if (cause instanceof FleetError) throw cause;
    // A point of low order has a right check sum, and nothing can be sealed to it.
    throw new FleetError('KEY_FORMAT', 'one of the recipients is not a key that content can be sealed to', {
      hint: 'Run fleet-agent enroll again for the agents of the site',
    });
  }
};

async function* sealed(
  recipients: readonly string[],
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const { header, fileKey } = await newHeader(recipients);
  const nonce = randomBytes(NONCE);
  const key = payloadKey(fileKey, nonce);
  yield Buffer.concat([header, nonce]);
  const plain = Buffer.allocUnsafeSlow(CHUNK);
  let filled = 0;
  let index = 0;
  let out = newBatch();
  let written = 0;
  const sealChunk = (last: boolean): void => {
    const cipher = createCipheriv(CIPHER, key, chunkNonce(index, last), { authTagLength: TAG });
    written += cipher.update(plain.subarray(0, filled)).copy(out, written);
    cipher.final();
    written += cipher.getAuthTag().copy(out, written);
    index += 1;
    filled = 0;
  };
  for await (const bytes of content) {
    for (let at = 0; at < bytes.byteLength; ) {
      // A full chunk is known to be the last only when the content ends.
      if (filled === CHUNK) sealChunk(false);
      if (written === out.byteLength) {
        yield out;
        [out, written] = [newBatch(), 0];
      }
      const taken = Math.min(CHUNK - filled, bytes.byteLength - at);
      plain.set(bytes.subarray(at, at + taken), filled);
      filled += taken;
      at += taken;
    }
  }
  sealChunk(true);
  yield out.subarray(0, written);
}

const newBatch = (): Buffer => Buffer.allocUnsafeSlow(CHUNKS_AT_ONCE * (CHUNK + TAG));
