/**
 * Turns on Node's compile cache before a program's own modules are imported. It halves the time of a short command. The cache lies
 * in the user's own cache folder, not in Node's default below the temporary folder, where another user could plant code.
 *
 * Plain JavaScript on purpose: Node loads its type stripper before the first line of TypeScript, which takes twice as long as Node
 * itself; cached code has its types stripped already. No import statements: they would evaluate all exports of Node's modules.
 */
const { existsSync, mkdirSync, readdirSync, rmSync } = process.getBuiltinModule('node:fs');
const { enableCompileCache } = process.getBuiltinModule('node:module');
const { homedir } = process.getBuiltinModule('node:os');
const path = process.getBuiltinModule('node:path');

/** Undefined without a home folder. */
const homeOf = () => {
  try {
    return homedir();
  } catch {
    return undefined;
  }
};

/** Removes all entries. A process that still needs one compiles it again. */
const empty = (folder) => {
  try {
    for (const name of readdirSync(folder)) rmSync(path.join(folder, name), { recursive: true, force: true });
  } catch {
    // The folder does not exist yet, or another start empties it.
  }
};

/** Creates the folders below `base`, one by one: where a folder cannot be, Node's own recursive creation does not end. */
const make = (folder) => {
  if (existsSync(folder)) return true;
  if (!folder.startsWith(base + path.sep) || !make(path.dirname(folder))) return false;
  try {
    mkdirSync(folder);
  } catch {
    // Nobody may write here, or another start was faster.
  }
  return existsSync(folder);
};

const given = process.env['XDG_CACHE_HOME'];
const base = given || homeOf();
// The base folder is never created. An unwritable cache is no error: Node then compiles as without one.
if (base !== undefined && existsSync(base)) {
  const code = path.join(base, given ? '' : '.cache', 'fleet-ferry', 'code');
  // Node never removes entries of another version of Node or of a program that has moved. Each thirty days have their own folder,
  // and the first start in a new one removes the old.
  const month = path.join(code, String(Math.floor(Date.now() / (30 * 24 * 3600 * 1000))));
  if (!existsSync(month)) empty(code);
  if (make(month)) enableCompileCache(month);
}
