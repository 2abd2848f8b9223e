import type { ErrorSchema, RJSFSchema, UiSchema } from '@rjsf/utils';
import { defined } from '#bundles/defined';

/** A site input, as far as the form needs it. */
type Asked = { readonly name: string; readonly schema: unknown; readonly hidden: boolean };

/** Without defaults: an inherited value is shown as such, and not filled in. */
export const schemaOf = (values: readonly Asked[]): RJSFSchema => ({
  type: 'object',
  properties: Object.fromEntries(
    values.map(({ name, schema }) => {
      const { default: _, ...own } = schema as RJSFSchema;
      const unit = (own as { readonly 'x-unit'?: unknown })['x-unit'];
      const title = `${own.title ?? name}${typeof unit === 'string' ? ` (${unit})` : ''}`;
      const [example] = Array.isArray(own.examples) ? own.examples : [];
      const description = [
        own.description,
        example === undefined ? undefined : `Example: ${JSON.stringify(example)}`,
      ]
        .filter((part) => part !== undefined)
        .join(' ');
      return [
        name,
        { ...own, title, ...defined({ description: description === '' ? undefined : description }) },
      ];
    }),
  ),
});

export const uiOf = (values: readonly Asked[]): UiSchema =>
  Object.fromEntries(
    values.map(({ name, schema, hidden }) => {
      const ui = optionsOf(schema as RJSFSchema);
      return [name, hidden ? { ...ui, 'ui:options': { inputType: 'password' } } : ui];
    }),
  );

/** The buttons of number fields cannot be reached by keyboard, and the arrow keys do the same. What is typed stays, also outside of the limits. */
const NUMBER = { hideControls: true, clampBehavior: 'none' };

const optionsOf = ({ type, properties = {}, items }: RJSFSchema): UiSchema => ({
  ...defined({
    'ui:options': type === 'number' || type === 'integer' ? NUMBER : undefined,
    items: items === undefined || Array.isArray(items) ? undefined : optionsOf(items as RJSFSchema),
  }),
  ...Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, optionsOf(one as RJSFSchema)]),
  ),
});

/** Errors of the form library, at the fields of the values. */
export const toErrors = (
  faults: readonly { readonly path: readonly string[]; readonly message: string }[],
): ErrorSchema => {
  const root: Record<string, unknown> = {};
  for (const { path, message } of faults) {
    let at = root;
    for (const part of path) {
      at[part] ??= {};
      at = at[part] as Record<string, unknown>;
    }
    at['__errors'] = [...((at['__errors'] as string[] | undefined) ?? []), message];
  }
  return root as ErrorSchema;
};
