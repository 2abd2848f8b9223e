import { type Plugin, RUNTIME_MODULE_ID } from 'rolldown';

const COPY = 'export var __toESM =';

/** The copy of a module is used again unless the module has got more exports since, as one in a circle of imports may. */
const SHARED = `
const __copies = [new WeakMap(), new WeakMap()];
export var __toESM = (mod, isNodeMode) => {
  if (mod === null || (typeof mod !== 'object' && typeof mod !== 'function')) return __copyOf(mod, isNodeMode);
  const copies = __copies[isNodeMode ? 1 : 0];
  const count = __getOwnPropNames(mod).length;
  let made = copies.get(mod);
  if (made?.count !== count) copies.set(mod, (made = { count, copy: __copyOf(mod, isNodeMode) }));
  return made.copy;
};
`;

/**
 * For each module that imports a CommonJS module or one of Node's own, rolldown makes an object with a getter for every export of that: node:fs
 * has a hundred, and a hundred modules import it. Here all that import a module have one such object.
 */
export const oneCopyOfImports = (): Plugin => ({
  name: 'one-copy-of-imports',
  transform: {
    filter: { id: exactly(RUNTIME_MODULE_ID) },
    handler: (code) => {
      if (!code.includes(COPY)) throw new Error(`rolldown's own module has no "${COPY}" any more`);
      return code.replace(COPY, 'var __copyOf =') + SHARED;
    },
  },
});

/** A filter takes text as a pattern of file names, where the first character of this name means nothing. */
const exactly = (id: string): RegExp => new RegExp(`^${RegExp.escape(id)}$`);
