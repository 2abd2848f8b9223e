import { FleetError } from '#bundles/errors';
import bundle from '../../../docs/schemas/bundle-predicate.schema.json' with { type: 'json' };
import lease from '../../../docs/schemas/lease-predicate.schema.json' with { type: 'json' };
import receipt from '../../../docs/schemas/receipt-predicate.schema.json' with { type: 'json' };
import release from '../../../docs/schemas/release-predicate.schema.json' with { type: 'json' };
import site from '../../../docs/schemas/site-predicate.schema.json' with { type: 'json' };

const SCHEMAS = { bundle, lease, receipt, release, site };

/** As much of JSON Schema as the schemas of the predicates use. */
type Schema = {
  readonly properties?: { readonly [field: string]: Schema };
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
};

/**
 * The schemas let unknown fields pass, for readers must live with newer writers. A signer must not, at any depth: a field that it
 * does not know could mean anything to whoever reads it.
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

/** @returns the first field that no schema names, 'agents.0.king'. What a schema calls a map, like labels, has no foreign ones. */
const findForeign = ({ properties, items, oneOf }: Schema, value: unknown): string | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  if (oneOf) {
    // "or null" has nothing to say about an object.
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
