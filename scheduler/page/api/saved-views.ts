/** An address of the page with its filters, under a name. */
export type SavedView = { readonly name: string; readonly to: string };

const KEY = 'fleet-ferry-views';
const MAX_VIEWS = 50;

/** Entries of the stored text that are views. */
export const parseViews = (text: string | null): readonly SavedView[] => {
  try {
    const all: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(all) ? all.filter(isView) : [];
  } catch {
    return [];
  }
};

const isView = (one: unknown): one is SavedView =>
  typeof one === 'object' &&
  one !== null &&
  'name' in one &&
  typeof one.name === 'string' &&
  'to' in one &&
  typeof one.to === 'string' &&
  // An address of this page: '//elsewhere' would be another site.
  /^\/(?![/\\])/.test(one.to);

export const readViews = (): readonly SavedView[] => parseViews(localStorage.getItem(KEY));

/** Keeps a view in place of one with the same name; `to` null: forgets it. @returns all views */
export const keepView = ({
  name,
  to,
}: {
  readonly name: string;
  readonly to: string | null;
}): readonly SavedView[] => {
  const others = readViews().filter((one) => one.name !== name);
  const all = to === null ? others : [...others, { name, to }].slice(-MAX_VIEWS);
  localStorage.setItem(KEY, JSON.stringify(all));
  return all;
};
