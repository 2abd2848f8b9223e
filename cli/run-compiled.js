/**
 * Runs main.cjs beside it, a whole program as one function of CommonJS, with the code that V8 compiled in an earlier run of the same
 * verb. Node's own compile cache has only what is compiled before a module runs, which leaves a quarter of the time of a short command
 * to compiling again. Without a compile cache (keep-compiled.js) the program runs all the same.
 *
 * Plain JavaScript for the same reasons as keep-compiled.js.
 */
const { readFileSync, renameSync, rmSync, writeFileSync } = process.getBuiltinModule('node:fs');
const { createRequire, getCompileCacheDir } = process.getBuiltinModule('node:module');
const path = process.getBuiltinModule('node:path');
const { constants, Script } = process.getBuiltinModule('node:vm');

const file = path.join(import.meta.dirname, 'main.cjs');
const source = readFileSync(file);
const crc32 = (bytes) => process.getBuiltinModule('node:zlib').crc32(bytes);

/** Undefined without a cache. Node names the folder by its own version, the processor and the user. */
const folder = getCompileCacheDir();
const sum = folder && crc32(source);
const placeOf = (verb) => path.join(folder, `${path.basename(import.meta.dirname)}-${crc32(file)}-${verb}`);
const [verb = ''] = /^[a-z][a-z-]*$/.exec(process.argv[2] ?? '') ?? [];

/** V8 does not check the bytes of its code: two checksums come first, of the program and of the code. */
const HEAD = 8;
const headOf = (code) => {
  const head = Buffer.alloc(HEAD);
  head.writeUInt32LE(sum);
  head.writeUInt32LE(crc32(code), 4);
  return head;
};
const read = (place) => {
  try {
    const kept = readFileSync(place);
    const code = kept.subarray(HEAD);
    return headOf(code).equals(kept.subarray(0, HEAD)) ? code : undefined;
  } catch {
    return undefined;
  }
};

const own = folder && read(placeOf(verb));
/** What a verb without code of its own starts with. */
const known = own ?? (folder && read(placeOf('')));
const script = new Script(source.toString('latin1'), {
  filename: file,
  cachedData: known,
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});

/** Exit code of a mistake in the command line. Its verb may not exist: any mistyped word would have a file. */
const USAGE = 2;
let saved = folder === undefined || (own !== undefined && !script.cachedDataRejected);
const save = () => {
  if (saved || (process.exitCode === USAGE && known !== undefined)) return;
  saved = true;
  const place = placeOf(process.exitCode === USAGE ? '' : verb);
  const code = script.createCachedData();
  const draft = `${place}.${process.pid}`;
  try {
    writeFileSync(draft, Buffer.concat([headOf(code), code]), { mode: 0o600 });
    renameSync(draft, place);
  } catch {
    // An unwritable cache is no error: the next start compiles again. What a full disk took of the draft would take the space that comes back.
    rmSync(draft, { force: true });
  }
};
if (!saved) {
  process.once('exit', save);
  // V8 refuses code that was saved under other flags than those of the start.
  const v8 = process.getBuiltinModule('node:v8');
  const { setFlagsFromString } = v8;
  v8.setFlagsFromString = (flags) => {
    save();
    setFlagsFromString(flags);
  };
}

const program = { exports: {} };
script.runInThisContext()(program.exports, createRequire(file), program, file, import.meta.dirname);
