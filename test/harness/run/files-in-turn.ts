import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Imported first by each process of the unit tests: a call of node:fs/promises makes its system call at once and settles in the next turn of the
 * event loop, after the timers that are due. With a thread for each call it takes five to ten times the CPU time, and unit tests make a
 * million calls. Calls with a handle, a signal or a stream among their arguments remain with the thread.
 */
type Call = (this: unknown, ...given: never[]) => unknown;

// A test may replace the timers.
const nextTurn = setImmediate;

const inTurn = (call: Call): Call =>
  function (...given) {
    return new Promise((resolve, reject) => {
      try {
        nextTurn(resolve, call.apply(this, given));
      } catch (error) {
        nextTurn(reject, error);
      }
    });
  };

const isPlain = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  ArrayBuffer.isView(value) ||
  (Object.getPrototypeOf(value) === Object.prototype && !('signal' in value));

/** Replaces a function, or a method of handles, which Node's own refuses on a closed one. */
const replace = (owner: unknown, name: string, call: Call, fits = isPlain): void => {
  const methods = owner as Record<string, Call>;
  const byThread = methods[name] as Call;
  const atOnce = inTurn(call);
  methods[name] = function (...given) {
    const isOpen = ((this as { readonly fd?: number } | undefined)?.fd ?? 0) >= 0;
    return (isOpen && given.every(fits) ? atOnce : byThread).apply(this, given);
  };
};

const BY_PATH =
  'access appendFile chmod copyFile link lstat mkdir mkdtemp readFile readdir readlink realpath rename rm rmdir stat statfs symlink truncate unlink utimes writeFile';
for (const name of BY_PATH.split(' ')) replace(promises, name, fs[`${name}Sync` as 'statSync']);

/** Streams of files call these. */
type WithCallback = Record<string, (...given: unknown[]) => void>;
for (const name of ['open', 'read', 'write', 'writev', 'close']) {
  (fs as unknown as WithCallback)[name] = (...given) => {
    const last = typeof given.at(-1) === 'function' ? given.pop() : () => {};
    const settle = last as (error: unknown, result?: unknown, content?: unknown) => void;
    try {
      nextTurn(settle, null, (fs[`${name}Sync` as 'openSync'] as Call)(...(given as never[])), given[1]);
    } catch (error) {
      nextTurn(settle, error);
    }
  };
}

const example = await promises.open(import.meta.filename);
const Handle = example.constructor as new (native: unknown) => typeof example;
/** Node's handle wraps one of its C++ part, which closes the file. */
const [native] = Object.getOwnPropertySymbols(example)
  .filter(({ description }) => description === 'kHandle')
  .map((key) => Object.getPrototypeOf((example as never)[key]) as object);
type Native = { readonly closeSync: () => void };
replace(native, 'close', function () {
  (this as Native).closeSync();
});
await example.close();

const numbered = (name: string, call: (fd: number, ...given: never[]) => unknown, fits = isPlain): void => {
  const ofHandle: Call = function (...given) {
    return call((this as typeof example).fd, ...given);
  };
  replace(Handle.prototype, name, ofHandle, fits);
};
numbered('stat', fs.fstatSync);
numbered('sync', fs.fsyncSync);
numbered('datasync', fs.fdatasyncSync);
numbered('truncate', fs.ftruncateSync);
numbered('readFile', fs.readFileSync);
numbered('writeFile', fs.writeFileSync);
type Span = readonly [bytes: Uint8Array, offset: number, length: number, position: number | null];
const span = (call: (fd: number, ...given: Span) => number, counted: string) =>
  ((fd: number, ...given: Span) => ({ [counted]: call(fd, ...given), buffer: given[0] })) as (
    fd: number,
  ) => unknown;
numbered('read', span(fs.readSync, 'bytesRead'));
numbered('write', span(fs.writeSync, 'bytesWritten'));
const writeAll = (fd: number, buffers: never) => ({ bytesWritten: fs.writevSync(fd, buffers), buffers });
numbered('writev', writeAll, Array.isArray);

type Open = (path: string, flags: number, mode: number, request: undefined, failure: Failure) => unknown;
type Failure = { errno?: number };
const { openFileHandle } = (
  process as unknown as { binding: (name: 'fs') => { openFileHandle: Open } }
).binding('fs');
const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_EXCL } = fs.constants;
const FLAGS: Readonly<Record<string, number>> = {
  r: O_RDONLY,
  'r+': O_RDWR,
  w: O_WRONLY | O_CREAT | O_TRUNC,
  wx: O_WRONLY | O_CREAT | O_TRUNC | O_EXCL,
};
const openByThread = promises.open;
promises.open = (path, flags = 'r', mode = 0o666) => {
  const bits = typeof flags === 'string' ? FLAGS[flags] : flags;
  if (typeof path !== 'string' || path.includes('\0') || bits === undefined || typeof mode !== 'number')
    return openByThread(path, flags, mode);
  const open = inTurn(() => {
    const failure: Failure = {};
    const opened = openFileHandle(path, bits, mode, undefined, failure);
    // Opened again for Node's error.
    if (failure.errno !== undefined) fs.closeSync(fs.openSync(path, bits, mode));
    return new Handle(opened);
  });
  return open() as ReturnType<typeof openByThread>;
};
syncBuiltinESMExports();
