import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

type Call = (...values: readonly unknown[]) => unknown;

/** A call to the file system that is about to be made. */
export type Touch = {
  /** 'rename', 'sync', ... */
  readonly call: string;
  /** Of the file or folder; of an open file the one that it was opened by. */
  readonly path: string;
  /** Of a rename: where to. */
  readonly to: string | undefined;
  /** Of an open file. */
  readonly isOpen: boolean;
  /** Nothing is changed by it. */
  readonly reads: boolean;
};

/**
 * Calls `before` ahead of what this process does with the file system from now on, whatever module does it, and waits for it.
 * What it throws is what the call ends with.
 */
export const watchChanges = async (before: (touch: Touch) => void | Promise<void>): Promise<void> => {
  const handle = await fs.promises.open(process.execPath, 'r');
  const prototype = Object.getPrototypeOf(handle) as object;
  await handle.close();
  const paths = new WeakMap<object, string>();
  const watch = (
    target: object,
    name: string,
    reads: (values: readonly unknown[]) => boolean = () => false,
  ): void => {
    const call = Reflect.get(target, name) as Call;
    Reflect.set(target, name, async function watched(this: object, ...values: readonly unknown[]) {
      const path = target === prototype ? paths.get(this) : values[0];
      if (typeof path === 'string')
        await before({
          call: name,
          path,
          to: name === 'rename' ? String(values[1]) : undefined,
          isOpen: target === prototype,
          reads: reads(values),
        });
      const result = await Reflect.apply(call, this, values);
      if (name === 'open' && typeof path === 'string') paths.set(result as object, path);
      return result;
    });
  };
  const always = (): boolean => true;
  for (const name of ['rename', 'rm', 'rmdir', 'mkdir', 'truncate']) watch(fs.promises, name);
  watch(fs.promises, 'open', ([, flags]) => typeof flags !== 'string' || !/[wa]/.test(flags));
  for (const name of ['stat', 'lstat', 'statfs', 'readdir', 'readFile']) watch(fs.promises, name, always);
  for (const name of ['sync', 'datasync', 'writeFile', 'write', 'writev']) watch(prototype, name);
  watch(prototype, 'read', always);
  syncBuiltinESMExports();
};
