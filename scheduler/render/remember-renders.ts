import type { CachedRender, TemplateContext, TextField } from '../model/template-context.ts';
import type { CompiledTemplate } from './template-source.ts';
import { CONTEXT_FIELDS, type ContextField, isPrintable, type Watch, watchContext } from './watch-context.ts';

export type Renders = (context: TemplateContext) => CachedRender;

/** The text of a cached render for one context. */
export const fill = ({ pieces, holes }: CachedRender, context: TemplateContext): string => {
  let text = pieces[0] as string;
  for (let at = 0; at < holes.length; at++) text += context[holes[at] as TextField] + pieces[at + 1];
  return text;
};

/**
 * Upper bound on sets of fields that one template's renders are cached by; which fields a render reads may depend on their
 * values.
 */
const MAX_SHAPES = 6;
const MAX_CACHED = 50_000;
/** Larger results, in UTF-16 units, are not cached: with longer texts in the holes they could exceed the output limit. */
const MAX_SHARED = 1 << 20;

type Shape = { readonly fields: readonly ContextField[]; readonly cache: Map<string, CachedRender> };

/**
 * Renders the manifests of one template into one file, with a cache. The result depends only on the context fields that were
 * read, and text fields that were printed verbatim become holes. So any context that agrees in the fields that were read
 * shares the cached render. Of 500 applications on 100 cluster types most files would otherwise be rendered 500 times.
 */
export const rememberRenders = (manifests: readonly CompiledTemplate[]): Renders => {
  const shapes: Shape[] = [];
  const idOf = identities();
  return (context) => {
    for (const { fields, cache } of shapes) {
      const known = cache.get(keyOf(fields, context, idOf));
      if (known?.holes.every((field) => isPrintable(context[field]))) return known;
    }
    const read = new Set<ContextField>();
    const rendered = joinRenders(
      manifests.map((manifest) => {
        const watch = watchContext(context, read);
        return cut(manifest(context, watch), watch, context);
      }),
    );
    if (rendered.pieces.reduce((sum, piece) => sum + piece.length, 0) < MAX_SHARED)
      keep(shapes, read, keyOf, context, idOf, rendered);
    return rendered;
  };
};

const keep = (
  shapes: Shape[],
  read: ReadonlySet<ContextField>,
  key: typeof keyOf,
  context: TemplateContext,
  idOf: (value: object) => number,
  rendered: CachedRender,
): void => {
  // The namespace differs in every assignment, so such a render is never reused.
  if (read.has('namespace')) return;
  const fields = CONTEXT_FIELDS.filter((field) => read.has(field));
  let shape = shapes.find((one) => one.fields.join() === fields.join());
  if (!shape) {
    if (shapes.length >= MAX_SHAPES) return;
    shape = { fields, cache: new Map() };
    shapes.push(shape);
  }
  if (shape.cache.size >= MAX_CACHED) shape.cache.clear();
  shape.cache.set(key(fields, context, idOf), rendered);
};

const keyOf = (
  fields: readonly ContextField[],
  context: TemplateContext,
  idOf: (value: object) => number,
): string => {
  let key = '';
  for (const field of fields) {
    const value = context[field];
    // A text may contain any character, so its length is part of the key.
    key += typeof value === 'string' ? `${value.length}:${value}` : `#${idOf(value)}`;
  }
  return key;
};

/** Numbers objects by identity. Assignments share composed configurations and labels as objects. */
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

const cut = (text: string, { holes }: Watch, context: TemplateContext): CachedRender => {
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
 * Joins several manifests into one file, with `---` between them. Unlike Kalypso, which breaks the YAML there, this ends an
 * unfinished line first. Empty manifests are left out (behaviour spec 2.6, 3.1).
 */
export const joinRenders = (renders: readonly CachedRender[]): CachedRender => {
  const full = renders.filter(({ isEmpty }) => !isEmpty);
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
