import { FleetError } from '#bundles/errors';
import bundle from '../../../../docs/schemas/bundle-predicate.schema.json' with { type: 'json' };
import lease from '../../../../docs/schemas/lease-predicate.schema.json' with { type: 'json' };
import promotion from '../../../../docs/schemas/promotion-predicate.schema.json' with { type: 'json' };
import receipt from '../../../../docs/schemas/receipt-predicate.schema.json' with { type: 'json' };
import release from '../../../../docs/schemas/release-predicate.schema.json' with { type: 'json' };
import site from '../../../../docs/schemas/site-predicate.schema.json' with { type: 'json' };

const SCHEMAS = { bundle, lease, promotion, receipt, release, site };

/** The part of JSON Schema that the predicate schemas use. */
type Schema = {
  readonly properties?: { readonly [field: string]: Schema };
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
};

/**
 * Rejects unknown fields at any depth. The schemas allow them, because readers must accept documents of newer writers; but a
 * signer must not sign a field whose meaning it does not know.
 * @throws FleetError SIGNER_REFUSED
 */
export const checkFields = (kind: keyof typeof SCHEMAS, predicate: unknown, what: string): void => {
  const foreign = findForeign(SCHEMAS[kind] as Schema, predicate);
  if (foreign === undefined) return;
  throw new FleetError(
    'SIGNER_REFUSED',
    `${what} has a field ${JSON.stringify(foreign.slice(0, 80))} that this signer does not know`,
    { hint: 'Update the signer first' },
  );
};

/** @returns the path of the first unknown field, such as 'agents.0.king'. Maps like labels have no unknown fields. */
const findForeign = ({ properties, items, oneOf }: Schema, value: unknown): string | undefined => {
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

const ownOf = (properties: NonNullable<Schema['properties']>, name: string): Schema | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined;
