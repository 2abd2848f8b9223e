import type { TemplateContext } from './template-context.ts';
import type { CompiledTemplate } from './template-source.ts';
import {
  CONTEXT_FIELDS,
  type ContextField,
  isPrintable,
  type TextField,
  type Watch,
  watchContext,
} from './watch-context.ts';

/** A rendered file with holes where a text of the context was printed as it is: shared by all contexts that agree else. */
export type Mould = {
  /** One more than there are holes. */
  readonly pieces: readonly string[];
  readonly holes: readonly TextField[];
  readonly isEmpty: boolean;
};

export type Renders = (context: TemplateContext) => Mould;

/** The text of a mould for one context. */
export const fill = ({ pieces, holes }: Mould, context: TemplateContext): string => {
  let text = pieces[0] as string;
  for (let at = 0; at < holes.length; at++) text += context[holes[at] as TextField] + pieces[at + 1];
  return text;
};

/** Templates whose reads hang on what they read have a few shapes; beyond that nothing is found again. */
const MAX_SHAPES = 6;
const MAX_MOULDS = 50_000;
/** A larger result is near its limit, which the length of what fills a hole must not decide about. */
const MAX_SHARED = 1 << 20;

type Shape = { readonly fields: readonly ContextField[]; readonly moulds: Map<string, Mould> };

/**
 * Renders the manifests of one template into one file, and knows again every context that agrees with an earlier one in all
 * that the templates looked at then: a render looks at nothing else but its context, so the result is the same, but for
 * the texts that it printed as they are. Of 500 applications on 100 cluster types most files are rendered 500 times.
 */
export const rememberRenders = (manifests: readonly CompiledTemplate[]): Renders => {
  const shapes: Shape[] = [];
  const idOf = identities();
  return (context) => {
    for (const { fields, moulds } of shapes) {
      const known = moulds.get(keyOf(fields, context, idOf));
      if (known?.holes.every((field) => isPrintable(context[field]))) return known;
    }
    const read = new Set<ContextField>();
    const mould = joinMoulds(
      manifests.map((manifest) => {
        const watch = watchContext(context, read);
        return cut(manifest(context, watch), watch, context);
      }),
    );
    if (mould.pieces.reduce((sum, piece) => sum + piece.length, 0) < MAX_SHARED)
      keep(shapes, read, keyOf, context, idOf, mould);
    return mould;
  };
};

const keep = (
  shapes: Shape[],
  read: ReadonlySet<ContextField>,
  key: typeof keyOf,
  context: TemplateContext,
  idOf: (value: object) => number,
  mould: Mould,
): void => {
  // Every assignment has a namespace of its own.
  if (read.has('namespace')) return;
  const fields = CONTEXT_FIELDS.filter((field) => read.has(field));
  let shape = shapes.find((one) => one.fields.join() === fields.join());
  if (!shape) {
    if (shapes.length >= MAX_SHAPES) return;
    shape = { fields, moulds: new Map() };
    shapes.push(shape);
  }
  if (shape.moulds.size >= MAX_MOULDS) shape.moulds.clear();
  shape.moulds.set(key(fields, context, idOf), mould);
};

const keyOf = (
  fields: readonly ContextField[],
  context: TemplateContext,
  idOf: (value: object) => number,
): string => {
  let key = '';
  for (const field of fields) {
    const value = context[field];
    // A text may hold anything, so its length goes first.
    key += typeof value === 'string' ? `${value.length}:${value}` : `#${idOf(value)}`;
  }
  return key;
};

/** A number for each object, by identity: what is composed once is shared by all it is meant for. */
const identities = (): ((value: object) => number) => {
  const known = new WeakMap<object, number>();
  let last = 0;
  return (value) => {
    const found = known.get(value);
    if (found !== undefined) return found;
    last += 1;
    known.set(value, last);
    return last;
  };
};

const cut = (text: string, { holes }: Watch, context: TemplateContext): Mould => {
  const pieces: string[] = [];
  let end = 0;
  for (const { at, field } of holes) {
    pieces.push(text.slice(end, at));
    end = at + context[field].length;
  }
  pieces.push(text.slice(end));
  return { pieces, holes: holes.map(({ field }) => field), isEmpty: text === '' };
};

/**
 * One file of several manifests, with `---` between them. Kalypso puts it right behind a manifest that does not end its
 * line, which breaks the YAML; here the line is ended first. Empty ones are left out (behaviour spec 2.6, 3.1).
 */
export const joinMoulds = (moulds: readonly Mould[]): Mould => {
  const full = moulds.filter(({ isEmpty }) => !isEmpty);
  const [first, ...more] = full;
  if (!first) return { pieces: [''], holes: [], isEmpty: true };
  if (more.length === 0) return first;
  const pieces = [...first.pieces];
  for (const { pieces: next } of more) {
    const last = pieces.pop() as string;
    pieces.push(`${last.endsWith('\n') ? last : `${last}\n`}---\n${next[0]}`, ...next.slice(1));
  }
  return { pieces, holes: full.flatMap(({ holes }) => holes), isEmpty: false };
};
