import type { TemplateContext, TextField } from '../model/template-context.ts';

export type ContextField = keyof TemplateContext;

/** Records how one render uses its context. */
export type Watch = {
  /** The context; reading a field adds its name to `read`. */
  readonly context: TemplateContext;
  readonly read: Set<ContextField>;
  /** Text fields that were printed verbatim, by offset in the output. */
  readonly holes: { readonly at: number; readonly field: TextField }[];
};

export const CONTEXT_FIELDS = [
  'deploymentTargetName',
  'namespace',
  'environment',
  'workspace',
  'workload',
  'labels',
  'manifests',
  'clusterType',
  'clusterTypeLabels',
  'configData',
] as const satisfies readonly ContextField[];

const TEXT_FIELDS: ReadonlySet<string> = new Set<TextField>([
  'deploymentTargetName',
  'namespace',
  'environment',
  'workspace',
  'workload',
  'clusterType',
]);

export const isTextField = (name: string): name is TextField => TEXT_FIELDS.has(name);

/** Longer than any name. Longer texts could make a cached result exceed its limit. In UTF-16 units. */
const MAX_PRINTED = 1024;

/**
 * Whether a text may fill a hole. Empty texts and texts with line breaks may not: whether a file is empty, or ends its line,
 * must not depend on what fills a hole.
 */
export const isPrintable = (text: string): boolean =>
  text !== '' && text.length <= MAX_PRINTED && !text.includes('\n');

/** Watches one render; several watches may share `read`. */
export const watchContext = (context: TemplateContext, read: Set<ContextField> = new Set()): Watch => ({
  context: Object.defineProperties(
    {},
    Object.fromEntries(
      CONTEXT_FIELDS.map((field) => [
        field,
        {
          enumerable: true,
          get: () => {
            read.add(field);
            return context[field];
          },
        },
      ]),
    ),
  ) as TemplateContext,
  read,
  holes: [],
});
