/**
 * Imported before a program's own modules: Node then keeps what it compiled of them, which is half of the time that a short
 * command takes. In the user's own cache folder, and not in Node's default below the temporary one, as a user who can write
 * there could have a say in what runs.
 *
 * Plain JavaScript on purpose: before a first line of TypeScript Node loads what strips its types, which takes twice as long as
 * Node itself; of what is kept the types are gone already. And without imports, which would evaluate all that Node's modules export.
 */
const { existsSync, readdirSync, rmSync } = process.getBuiltinModule('node:fs');
const { enableCompileCache } = process.getBuiltinModule('node:module');
const { homedir } = process.getBuiltinModule('node:os');
const path = process.getBuiltinModule('node:path');

/** Undefined where there is no home to keep it in. */
const homeOf = () => {
  try {
    return homedir();
  } catch {
    return undefined;
  }
};

/** A process that still needs an entry compiles it again. */
const empty = (folder) => {
  try {
    for (const name of readdirSync(folder)) rmSync(path.join(folder, name), { recursive: true, force: true });
  } catch {
    // It is not there yet, or another start is at it.
  }
};

const given = process.env['XDG_CACHE_HOME'];
const base = given || homeOf();
// Nothing is made for who has no such folder; and what cannot be written is not kept, and nobody has to hear of it.
if (base !== undefined && existsSync(base)) {
  const code = path.join(base, given ? '' : '.cache', 'fleet-ferry', 'code');
  // Node never removes what it kept for another Node, or of a program that lies elsewhere now. With a folder for each thirty days
  // that goes at the first start in the next, and all other starts only look whether there is one.
  const month = path.join(code, String(Math.floor(Date.now() / (30 * 24 * 3600 * 1000))));
  if (!existsSync(month)) empty(code);
  enableCompileCache(month);
}
