/** The type of a field, in facts.jsonl: `[]core.v1.Container !`, `{}string @31-`, `'TCP'|'UDP'`. */
export type TypeExpression =
  | { readonly kind: 'scalar'; readonly scalar: Scalar }
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'list'; readonly of: TypeExpression }
  | { readonly kind: 'map'; readonly of: TypeExpression }
  | { readonly kind: 'object'; readonly type: string }
  | { readonly kind: 'any' };

const SCALARS = [
  'string',
  'boolean',
  'int32',
  'int64',
  'number',
  'quantity',
  'int-or-string',
  'time',
  'base64',
] as const;
export type Scalar = (typeof SCALARS)[number];

/** One fact, and the minor versions it applies to, both ends included. */
export type Fact = {
  readonly type: TypeExpression;
  readonly required: boolean;
  readonly from: number;
  readonly to: number;
};

export const parseFact = (text: string, first: number, last: number): Fact => {
  const [, type = '', required, span = ''] = /^(.*?)( !)?(?: ?@(\d*-\d*))?$/.exec(text) ?? [];
  return { type: parseType(type), required: required !== undefined, ...parseSpan(span, first, last) };
};

/** '31-33', '31-' or '-33'; the empty text means all versions. */
export const parseSpan = (
  text: string,
  first: number,
  last: number,
): { readonly from: number; readonly to: number } => {
  const [from = '', to = ''] = text.replace('@', '').split('-');
  return { from: from === '' ? first : Number(from), to: to === '' ? last : Number(to) };
};

const parseType = (text: string): TypeExpression => {
  if (text.startsWith('[]')) return { kind: 'list', of: parseType(text.slice(2)) };
  if (text.startsWith('{}')) return { kind: 'map', of: parseType(text.slice(2)) };
  if (text.startsWith("'")) return { kind: 'words', words: text.slice(1, -1).split("'|'") };
  if (text === 'any') return { kind: 'any' };
  const scalar = SCALARS.find((one) => one === text);
  return scalar ? { kind: 'scalar', scalar } : { kind: 'object', type: text };
};
