import { judgeSiteValues } from '#bundles/formats/author-schema/judge-site-values';
import { hiddenBy } from '#bundles/formats/author-schema/hidden-values';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { isRecord } from '#bundles/is-record';
import type { Json } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import type { SiteEdit } from './local-edits.ts';

type Schema = BundleConfig['siteInputs']['schema'];

/** Local values as the agent uses them: each granted to the site by all bundles of its release that ask for it, as all their schemas say, and no secret. */
export const admittedLocal = async (
  configs: readonly Pick<BundleConfig, 'siteInputs'>[],
  edits: readonly SiteEdit[],
): Promise<SiteValues['values']> => {
  const schemas = configs.map(({ siteInputs }) => siteInputs.schema);
  const values: Record<string, Json> = {};
  for (const { name, value } of edits) {
    if (value === null) continue;
    const asking = schemas.filter((schema) => inputOf(schema, name) !== undefined);
    const given = parseJson(value) as Json;
    const grants = await Promise.all(asking.map((schema) => isGranted(schema, name, given)));
    if (grants.length > 0 && grants.every(Boolean)) values[name] = given;
  }
  return values;
};

const inputOf = (schema: Schema, name: string): Json | undefined => {
  const { properties } = schema as { readonly properties?: Readonly<Record<string, Json>> };
  return properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
};

const isGranted = async (schema: Schema, name: string, value: Json): Promise<boolean> => {
  const input = inputOf(schema, name);
  if (!isRecord(input) || input['x-editable-by'] !== 'site' || hiddenBy([schema])(name)) return false;
  const { faults } = await judgeSiteValues(schema, { [name]: value }, new Set([name]));
  return !faults.has(name);
};
