import { createDecipheriv } from 'node:crypto';
import { FleetError } from '#bundles/errors';

const ENCRYPTED =
  /^ENC\[AES256_GCM,data:(.*),iv:(.+),tag:(.+),type:(str|int|float|bool|bytes|time|comment)\]$/s;

/** Type of a value before encryption; SOPS encrypts all types as text. */
export type SopsValue = { readonly type: string; readonly bytes: Buffer };

export const isEncryptedValue = (text: string): boolean => ENCRYPTED.test(text);

/** The caller adds the file's name. The words of a cipher or of a parser are not repeated: they may quote. */
export const unreadable = (why: string): FleetError => new FleetError('SECRET_UNREADABLE', why);

/**
 * One `ENC[AES256_GCM,...]` of a SOPS file, which is bound to its place by the additional data.
 * @param context the keys that lead to it, each followed by a colon @throws FleetError SECRET_UNREADABLE
 */
export const openValue = (text: string, key: Uint8Array, context: string): SopsValue => {
  const [, data = '', iv = '', tag = '', type = ''] = ENCRYPTED.exec(text) ?? [];
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64'), { authTagLength: 16 });
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(Buffer.from(tag, 'base64'));
    return { type, bytes: Buffer.concat([decipher.update(Buffer.from(data, 'base64')), decipher.final()]) };
  } catch {
    throw unreadable('a value in it was changed or moved since it was encrypted');
  }
};
