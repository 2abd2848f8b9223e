import { canonicalBytes } from '../../json/canonical.ts';
import { FleetError } from '../../errors.ts';
import { parseSecretSet } from './parse.ts';
import { MAX_SEALED_BYTES, type SecretSet } from './secret-set.ts';

/**
 * Seals a set to every one of these recipients: any one of their identities opens it. The file is another one each time.
 * @param recipients `age1...`, each parsed before
 * @throws FleetError RECIPIENT_MISSING without any; KEY_FORMAT; TOO_LARGE; SECRET_UNREADABLE for a set that no reader would take
 */
export const sealSecretSet = async (set: SecretSet, recipients: readonly string[]): Promise<Buffer> => {
  const what = `the set ${set.name} of site ${set.site}`;
  if (recipients.length === 0)
    throw new FleetError('RECIPIENT_MISSING', `there is no recipient to seal ${what} to`, {
      hint: 'Enrol an agent at the site first',
    });
  const { fleet, site, name, version, values } = set;
  const plain = canonicalBytes({ fleet, site, name, version, values });
  checkSize(plain.byteLength, what);
  parseSecretSet(plain, what);
  const sealed = await encrypt(plain, recipients, what);
  checkSize(sealed.byteLength, what);
  return sealed;
};

const encrypt = async (plain: Buffer, recipients: readonly string[], what: string): Promise<Buffer> => {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  try {
    for (const recipient of new Set(recipients)) encrypter.addRecipient(recipient);
    return Buffer.from(await encrypter.encrypt(plain));
  } catch {
    // A point of low order has a right check sum, and nothing can be sealed to it.
    throw new FleetError('KEY_FORMAT', `one of the recipients of ${what} is no key that can be sealed to`, {
      hint: 'Let the agents of the site ask again with fleet-agent enroll, and check secrets.escrow',
    });
  }
};

const checkSize = (bytes: number, what: string): void => {
  if (bytes <= MAX_SEALED_BYTES) return;
  throw new FleetError('TOO_LARGE', `${what} has ${bytes} bytes, at most ${MAX_SEALED_BYTES} can be sealed`, {
    hint: 'A set is for passwords and certificates; bring data in the bundle, or make two sets',
  });
};
