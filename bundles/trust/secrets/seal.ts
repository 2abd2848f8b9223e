import { canonicalBytes } from '../../json/canonical.ts';
import { FleetError } from '../../errors.ts';
import { parseSecretSet } from './parse.ts';
import { MAX_SEALED_BYTES, type SecretSet } from './secret-set.ts';

/**
 * Seals a set to all recipients; the identity of any one of them opens it. The result differs at each call.
 * @param recipients `age1...`, each parsed before
 * @throws FleetError RECIPIENT_MISSING without any; KEY_FORMAT; TOO_LARGE; SECRET_UNREADABLE for a set that readers would refuse
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
    // A point of low order has a valid checksum, but content cannot be sealed to it.
    throw new FleetError(
      'KEY_FORMAT',
      `one of the recipients of ${what} is not a key that content can be sealed to`,
      {
        hint: 'Run fleet-agent enroll again for the agents of the site, and check secrets.escrow',
      },
    );
  }
};

const checkSize = (bytes: number, what: string): void => {
  if (bytes <= MAX_SEALED_BYTES) return;
  throw new FleetError('TOO_LARGE', `${what} has ${bytes} bytes, at most ${MAX_SEALED_BYTES} can be sealed`, {
    hint: 'A set is for passwords and certificates; bring data in the bundle, or make two sets',
  });
};
