import { namesSecretValue } from './names-secret-value.ts';
import { writeOnlyNames } from './write-only-names.ts';

/** Whether the text of a site value of this name is withheld from people, logs and reports. */
export type IsHidden = (name: string) => boolean;

/** The rule for values of sites: hidden are names that `writeOnly` hides in one of these schemas of site inputs, and names that may be those of secrets. */
export const hiddenBy = (schemas: readonly unknown[]): IsHidden => {
  const writeOnly = new Set(schemas.flatMap((schema) => [...writeOnlyNames(schema)]));
  return (name) => writeOnly.has(name) || namesSecretValue(name);
};
