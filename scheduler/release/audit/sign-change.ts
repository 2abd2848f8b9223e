import { digestOf } from '#bundles/digest';
import type { ChangePredicate } from '#bundles/formats/statements/predicates';
import { PREDICATES } from '#bundles/media-types';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import type { NewEntry } from './append-entry.ts';

/**
 * Signs a change of the office as an entry of the audit log.
 * @param key the audit key
 */
export const signChange = async (predicate: ChangePredicate, key: SigningKey): Promise<NewEntry> => {
  const subject = { name: 'change', digest: digestOf(predicate.about) };
  const statement = await signPayload(encodeStatement([subject], PREDICATES.change, predicate), key);
  return { kind: 'change', statement };
};
