import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';

/**
 * A state directory's lock within the one kernel that keeps it. Whoever has the lock under an id knows that every earlier holder
 * under this id is dead or done: a copy of the directory has other files, a copy of its disk another boot, and the file of a
 * holder that lives stays open, so that its number goes to no other (decisions/0014).
 */
export type Place = {
  /** 16 random hex digits. */
  readonly id: string;
  readonly bootId: string;
  /** Device and inode of the file that is locked. */
  readonly file: string;
};

/**
 * The place as it was written down when it is still the same, else a new one; undefined where the kernel says no boot id, or the
 * file is not surely the one that was locked.
 * @param locked fileId before the lock was taken
 */
export const placeOf = (
  before: unknown,
  bootId: string,
  file: string,
  locked: string | undefined,
): Place | undefined => {
  const id = fileId(file);
  if (!BOOT_ID.test(bootId) || id === undefined || id !== locked) return undefined;
  if (isPlace(before) && before.bootId === bootId && before.file === id) return before;
  return { id: randomBytes(8).toString('hex'), bootId, file: id };
};

/** Linux's form; 'unknown' and the like are of many machines. */
const BOOT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** undefined where there is no such file. */
export const fileId = (file: string): string | undefined => {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
};

const isPlace = (value: unknown): value is Place => {
  const { id, bootId, file } = (value ?? {}) as Partial<Record<keyof Place, unknown>>;
  return typeof id === 'string' && /^[0-9a-f]{16}$/.test(id) && bootId !== undefined && file !== undefined;
};
