import { createHash } from 'node:crypto';
import { parseJson } from '#bundles/json/parse-json';
import { MAX_SEALED_BYTES } from '#bundles/trust/secrets/secret-set';
import { checkMac, dataKeyOf, ENCRYPTED_ONLY, readSopsMetadata } from './sops-metadata.ts';
import { isEncryptedValue, openValue, unreadable } from './sops-value.ts';

/** The bytes of a file in SOPS' binary form: JSON with `data` and `sops`. @throws FleetError SECRET_UNREADABLE */
export const openBinary = async (file: Uint8Array, identity: string): Promise<Buffer> => {
  const document = parse(file);
  const metadata = readSopsMetadata(document);
  const data = (document as { readonly data?: unknown } | null)?.data;
  if (!metadata || typeof data !== 'string') throw unreadable("it is not in SOPS' binary form");
  const key = await dataKeyOf(metadata, identity);
  const hash = createHash('sha512');
  if (metadata.encryptedOnly) hash.update(ENCRYPTED_ONLY);
  // SOPS leaves a text of no bytes as it is.
  if (data !== '' && !isEncryptedValue(data)) throw unreadable('its data is not encrypted');
  const bytes = data === '' ? Buffer.alloc(0) : openValue(data, key, 'data:').bytes;
  checkMac(metadata, hash.update(bytes).digest('hex').toUpperCase(), key);
  return bytes;
};

const parse = (file: Uint8Array): unknown => {
  if (file.byteLength > 2 * MAX_SEALED_BYTES) throw unreadable('it is too large for a secret');
  try {
    return parseJson(Buffer.from(file).toString('utf8'));
  } catch {
    throw unreadable('it is not JSON');
  }
};
