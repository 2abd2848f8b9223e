import { open } from 'node:fs/promises';

type Call = (...values: readonly unknown[]) => unknown;

/**
 * While `work` runs, calls of open files wait for `before`, and end with what it throws.
 * @param before by the call's name: 'write', 'datasync'
 */
export const meddle = async <T>(
  before: Readonly<Record<string, () => void | Promise<void>>>,
  work: () => Promise<T>,
): Promise<T> => {
  const handle = await open(process.execPath, 'r');
  const prototype = Object.getPrototypeOf(handle) as object;
  await handle.close();
  const real = Object.keys(before).map((name) => [name, Reflect.get(prototype, name) as Call] as const);
  for (const [name, call] of real)
    Reflect.set(prototype, name, async function meddled(this: object, ...values: readonly unknown[]) {
      await before[name]?.();
      return await Reflect.apply(call, this, values);
    });
  try {
    return await work();
  } finally {
    for (const [name, call] of real) Reflect.set(prototype, name, call);
  }
};
