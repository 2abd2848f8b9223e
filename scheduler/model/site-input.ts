import { defined } from '#bundles/defined';
import type { Place } from '#bundles/errors';
import type { Value } from './value.ts';

/** A value that only a site knows, as an author describes it for clusters and hosts alike. */
export type SiteInputAbout = {
  readonly name: string;
  /** JSON Schema of the value. */
  readonly schema: { readonly [key: string]: Value };
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly default?: Value | undefined;
  readonly example?: Value | undefined;
  readonly unit?: string | undefined;
  /** Role that may change it; undefined: the platform team alone. */
  readonly editableBy?: string | undefined;
};

/** The place of a value in the rendered objects of a deployment target. */
export type KubernetesPlace =
  | { readonly kind: 'ConfigMap'; readonly name: string; readonly key: string; readonly restart: boolean }
  | {
      readonly kind: string;
      readonly name: string;
      readonly apiVersion: string | undefined;
      readonly pointer: string;
    };

export type KubernetesInput = SiteInputAbout & { readonly to: KubernetesPlace; readonly at: Place };

/** Annotations of JSON Schema that no site value is judged by. */
const FOR_PEOPLE: ReadonlySet<string> = new Set(['title', 'description', 'examples', 'x-unit']);

/** The schema of an input as a bundle has it, with what its author says as annotations (docs/site-values.md). */
export const describedSchema = ({
  schema,
  title,
  description,
  default: given,
  example,
  unit,
  editableBy,
}: SiteInputAbout): SiteInputAbout['schema'] => ({
  ...schema,
  ...defined({
    title,
    description,
    default: given,
    examples: example !== undefined ? [example] : undefined,
    'x-unit': unit,
    'x-editable-by': editableBy,
  }),
});

/** The part of a schema that two packages asking for one value must agree on, as text. */
export const judgedPart = (schema: { readonly [key: string]: unknown }): string =>
  JSON.stringify(Object.fromEntries(Object.entries(schema).filter(([key]) => !FOR_PEOPLE.has(key))));
