import { digestOf } from '#bundles/digest';
import type { ChangePredicate } from '#bundles/formats/statements/predicates';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { statementPayload } from '#bundles/trust/statements/statement-payload';
import type { NewEntry } from './append-entry.ts';

/**
 * Signs a change of the office as an entry of the audit log.
 * @param key the audit key
 */
export const signChange = async (predicate: ChangePredicate, key: SigningKey): Promise<NewEntry> => {
  const subject = { name: 'change', digest: digestOf(predicate.about) };
  const statement = await signPayload(statementPayload([subject], 'change', predicate), key);
  return { kind: 'change', statement };
};
