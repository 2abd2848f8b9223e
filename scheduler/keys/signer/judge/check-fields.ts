import { FleetError } from '#bundles/errors';
import type { PublishedSchema } from '#bundles/json/schema/published-document';
import { schemaOf } from '#bundles/json/schema/schema-of';

type Signed = 'bundle' | 'lease' | 'promotion' | 'receipt' | 'release' | 'site';

/**
 * Rejects unknown fields at any depth. The schemas allow them, because readers must accept documents of newer writers; but a
 * signer must not sign a field whose meaning it does not know.
 * @throws FleetError SIGNER_REFUSED
 */
export const checkFields = (kind: Signed, predicate: unknown, what: string): void => {
  const foreign = findForeign(schemaOf(`${kind}-predicate`), predicate);
  if (foreign === undefined) return;
  throw new FleetError(
    'SIGNER_REFUSED',
    `${what} has a field ${JSON.stringify(foreign.slice(0, 80))} that this signer does not know`,
    { hint: 'Update the signer first' },
  );
};

/** @returns the path of the first unknown field, such as 'agents.0.king'. Maps like labels have no unknown fields. */
const findForeign = ({ properties, items, oneOf }: PublishedSchema, value: unknown): string | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  if (oneOf) {
    // Skip alternatives without properties, such as null.
    const found = oneOf.filter(({ properties: named }) => named).map((one) => findForeign(one, value));
    return found.includes(undefined) ? undefined : found.at(-1);
  }
  for (const [name, inner] of Object.entries(value)) {
    const known = Array.isArray(value) ? items : properties && ownOf(properties, name);
    if (properties && !known) return name;
    const below = known && findForeign(known, inner);
    if (below !== undefined) return `${name}.${below}`;
  }
  return undefined;
};

const ownOf = (
  properties: NonNullable<PublishedSchema['properties']>,
  name: string,
): PublishedSchema | undefined => (Object.hasOwn(properties, name) ? properties[name] : undefined);
