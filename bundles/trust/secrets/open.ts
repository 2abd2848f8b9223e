import { isNotRecipient, createDecrypter } from '../age/decrypter.ts';
import { FleetError } from '../../errors.ts';
import { parseSecretSet } from './parse.ts';
import { MAX_SEALED_BYTES, type SecretSet } from './secret-set.ts';

/** The requested set. age does not bind a file to its place, so the content must name it. */
export type SetAddress = Pick<SecretSet, 'fleet' | 'site' | 'name'>;

/**
 * Opens a sealed set and checks that it is the one that was asked for (docs/bundle-format.md section 16).
 * @param identity age identities, `AGE-SECRET-KEY-1...`; any one of them will do
 * @throws FleetError TOO_LARGE; SECRET_UNREADABLE: sealed to others, damaged, or no set inside; WRONG_FLEET, WRONG_SITE,
 *   SUBJECT_MISMATCH: the content names another fleet, site or set. No message quotes the content
 */
export const openSecretSet = async (
  bytes: Uint8Array,
  identity: string | readonly string[],
  address: SetAddress,
): Promise<SecretSet> => {
  const what = `the sealed set ${address.name} of site ${address.site}`;
  const set = parseSecretSet(await decrypt(bytes, identity, what), what);
  if (set.fleet !== address.fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${set.fleet}, not of ${address.fleet}`);
  if (set.site !== address.site)
    throw new FleetError('WRONG_SITE', `${what} was sealed for site ${set.site}`, {
      hint: 'It was moved: set it again for this site, and check write access to its location',
    });
  if (set.name !== address.name)
    throw new FleetError('SUBJECT_MISMATCH', `${what} was sealed under the name ${set.name}`);
  return set;
};

const decrypt = async (
  bytes: Uint8Array,
  identity: string | readonly string[],
  what: string,
): Promise<Uint8Array> => {
  if (bytes.byteLength > MAX_SEALED_BYTES) {
    throw new FleetError(
      'TOO_LARGE',
      `${what} has ${bytes.byteLength} bytes, at most ${MAX_SEALED_BYTES} are read`,
    );
  }
  const decrypter = await createDecrypter([identity].flat());
  try {
    return await decrypter.decrypt(bytes);
  } catch (error) {
    throw unreadable(what, error);
  }
};

const unreadable = (what: string, error: unknown): FleetError => {
  return isNotRecipient(error)
    ? new FleetError('SECRET_UNREADABLE', `${what} is sealed to others`, {
        hint: 'Seal it again with fleet-scheduler secrets reseal or secrets set, and bring the new statement',
      })
    : new FleetError('SECRET_UNREADABLE', `${what} is damaged or not an age file`, {
        hint: 'Bring it again from the office',
      });
};
