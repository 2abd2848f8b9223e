import { judgeSiteValues } from '#bundles/formats/author-schema/judge-site-values';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { isRecord } from '#bundles/is-record';
import type { Json } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import type { SiteEdit } from './local-edits.ts';

/** Local values as the agent uses them: granted to the site by this bundle, and as its schema says. */
export const admittedLocal = async (
  { siteInputs: { schema } }: Pick<BundleConfig, 'siteInputs'>,
  edits: readonly SiteEdit[],
): Promise<SiteValues['values']> => {
  const values: Record<string, Json> = {};
  const { properties } = schema as { readonly properties?: Readonly<Record<string, Json>> };
  for (const { name, value } of edits) {
    const input = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (value === null || !isRecord(input) || input['x-editable-by'] !== 'site') continue;
    const given = parseJson(value) as Json;
    const { faults } = await judgeSiteValues(schema, { [name]: given }, new Set([name]));
    if (!faults.has(name)) values[name] = given;
  }
  return values;
};
