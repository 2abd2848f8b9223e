import type { TemplateContext } from './template-context.ts';

/** Fields of the context that hold a text. */
export type TextField =
  | 'deploymentTargetName'
  | 'namespace'
  | 'environment'
  | 'workspace'
  | 'workload'
  | 'clusterType';

export type ContextField = keyof TemplateContext;

/** What a render tells of the context it ran on. */
export type Watch = {
  /** The context, telling `read` of every field that is looked at. */
  readonly context: TemplateContext;
  readonly read: Set<ContextField>;
  /** Where a text of the context was printed as it is, by place in the result. */
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

/** Longer than any name: what is longer could bring a result over its limit. */
const MAX_PRINTED = 1024;

/**
 * May a text stand in a hole? Not one that is empty or has lines: whether a file ends its line, or is empty, must not hang
 * on what fills it.
 */
export const isPrintable = (text: string): boolean =>
  text !== '' && text.length <= MAX_PRINTED && !text.includes('\n');

/** Watches one render; several watches may share the set of what was read. */
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
