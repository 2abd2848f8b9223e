/**
 * Turns on Node's compile cache before a program's own modules are imported. It halves the time of a short command. The cache lies
 * in the user's own cache folder, not in Node's default below the temporary folder, where another user could plant code.
 *
 * Plain JavaScript on purpose: Node loads its type stripper before the first line of TypeScript, which takes twice as long as Node
 * itself; cached code has its types stripped already. No import statements: they would evaluate all exports of Node's modules.
 *
 * The cache is code, and it is emptied from time to time. HOME and XDG_CACHE_HOME may be another user's, as with sudo -E: a folder that
 * somebody else can change is neither read, written nor emptied.
 */
const { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync } =
  process.getBuiltinModule('node:fs');
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

/** Whether only this user (and root) can change what is in a folder. */
const isOwn = ({ mode, uid, gid }) => {
  if (process.geteuid === undefined) return true;
  const shared = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== process.getegid());
  return !shared && (uid === process.geteuid() || uid === 0);
};

/** Undefined where nothing is, or where this user may not look: HOME of another user. */
const statusOf = (stat, folder) => {
  try {
    return stat(folder);
  } catch {
    return undefined;
  }
};

/** Whether a folder is there that is not a link and that only this user can change. */
const isOwnFolder = (folder) => {
  const found = statusOf(lstatSync, folder);
  return found !== undefined && found.isDirectory() && isOwn(found);
};

/** Creates the folders below `base`, one by one: where a folder cannot be, Node's own recursive creation does not end. */
const make = (folder) => {
  if (folder === base) return true;
  if (!make(path.dirname(folder))) return false;
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // It is there, nobody may write here, or another start was faster.
  }
  return isOwnFolder(folder);
};

/** Undefined without a folder that only this user can change. */
const baseOf = (folder) => {
  const found = folder === undefined ? undefined : statusOf(statSync, folder);
  return found?.isDirectory() && isOwn(found) ? path.resolve(folder) : undefined;
};

const given = process.env['XDG_CACHE_HOME'];
// The base folder is never created. An unwritable cache is no error: Node then compiles as without one.
const base = baseOf(given || homeOf());
if (base !== undefined) {
  const code = path.join(base, given ? '' : '.cache', 'fleet-ferry', 'code');
  // Node never removes entries of another version of Node or of a program that has moved. Each thirty days have their own folder,
  // and the first start in a new one removes the old.
  const month = path.join(code, String(Math.floor(Date.now() / (30 * 24 * 3600 * 1000))));
  if (make(code)) {
    if (!existsSync(month)) empty(code);
    if (make(month)) enableCompileCache(month);
  }
}
