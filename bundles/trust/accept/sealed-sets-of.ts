import { compareBytes } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { SECRETS_SUBJECT, type SealedSet } from '../secrets/secret-set.ts';
import type { Subject } from '../statements/verify-statement.ts';

const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const MAX_SETS = 256;

/** The sealed sets that a verified site statement names, sorted by name. @throws FleetError BAD_NAME, DUPLICATE, TOO_MANY */
export const sealedSetsOf = (subjects: readonly Subject[], what: string): readonly SealedSet[] => {
  const sets = subjects
    .filter(({ name }) => name.startsWith(SECRETS_SUBJECT))
    .map(({ name, digest }) => ({ name: name.slice(SECRETS_SUBJECT.length), digest }));
  if (sets.length > MAX_SETS)
    throw new FleetError(
      'TOO_MANY',
      `${what} names ${sets.length} secret sets, at most ${MAX_SETS} are read`,
    );
  const seen = new Set<string>();
  for (const { name } of sets) {
    if (!NAME.test(name))
      throw new FleetError('BAD_NAME', `${what} names a secret set ${JSON.stringify(name.slice(0, 80))}`);
    if (seen.has(name)) throw new FleetError('DUPLICATE', `${what} names the secret set ${name} twice`);
    seen.add(name);
  }
  return sets.toSorted((a, b) => compareBytes(a.name, b.name));
};
