/** Plain objects with one thing changed in each, and what was changed in words. */
export type Mutation = { readonly what: string; readonly object: unknown };

type Path = readonly (string | number)[];

/** Every single change: each key misspelled, each value of another type, each word another word, each key left out. */
export const mutationsOf = (object: unknown): readonly Mutation[] =>
  pathsOf(object, [])
    .filter((path) => !UNTOUCHED.has(path.join('.')))
    .flatMap((path) => {
      const value = at(object, path);
      const key = path.at(-1);
      const shown = path.join('.');
      const put = (what: string, to: unknown): Mutation => ({
        what: `${shown} ${what}`,
        object: changed(object, path, (parent) => {
          (parent as Record<string | number, unknown>)[key as string] = to;
        }),
      });
      const changes: Mutation[] = [];
      if (typeof key === 'string') {
        changes.push({
          what: `${shown} misspelled`,
          object: changed(object, path, (parent) => {
            const holder = parent as Record<string, unknown>;
            delete holder[key];
            holder[`${key}X`] = value;
          }),
        });
        changes.push({
          what: `${shown} left out`,
          object: changed(object, path, (parent) => {
            delete (parent as Record<string, unknown>)[key];
          }),
        });
      }
      if (typeof value === 'string') {
        changes.push(put('a number', 17), put('a boolean', true));
        if (/^[A-Z][A-Za-z]+$/.test(value)) changes.push(put('another word', 'Nonsense'));
      } else if (typeof value === 'number') {
        changes.push(put('text', 'many'), put('beyond all bits', 1e30));
      } else if (typeof value === 'boolean') {
        changes.push(put('text', 'yes'));
      } else {
        changes.push(put('text', 'text'));
        changes.push(put('the other collection', Array.isArray(value) ? { a: 1 } : ['a']));
      }
      changes.push(put('null', null));
      return changes;
    });

/** Without these it is not an object, and not ours to judge. */
const UNTOUCHED: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'metadata.name', '']);

const pathsOf = (value: unknown, path: Path): readonly Path[] => {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [
    path,
    ...inner.flatMap((key) =>
      pathsOf((value as Record<string | number, unknown>)[key as string], [...path, key]),
    ),
  ];
};

const at = (object: unknown, path: Path): unknown =>
  path.reduce((value, key) => (value as Record<string | number, unknown>)[key as string], object);

const changed = (object: unknown, path: Path, change: (parent: unknown) => void): unknown => {
  const copy: unknown = structuredClone(object);
  change(at(copy, path.slice(0, -1)));
  return copy;
};
