import { randomBytes } from 'node:crypto';
import { fileId } from '#cli/file-id';

/**
 * Identifies a state directory's lock within one boot of one kernel. Every earlier holder under the same id has died or
 * released the lock: a copy of the directory has other inodes, a copy of the disk has another boot id, and a live holder
 * keeps its file open, so that the inode number is not reused (decisions/0014).
 */
export type Place = {
  /** 16 random hex digits. */
  readonly id: string;
  readonly bootId: string;
  /** Device and inode of the locked file. */
  readonly file: string;
};

/**
 * Returns the recorded place if it is unchanged, else a new one. Returns undefined without a valid boot id, or if the file may
 * not be the one that was locked.
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

/** The form of Linux boot ids. Other values, such as 'unknown', do not identify one boot. */
const BOOT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const isPlace = (value: unknown): value is Place => {
  const { id, bootId, file } = (value ?? {}) as Partial<Record<keyof Place, unknown>>;
  return typeof id === 'string' && /^[0-9a-f]{16}$/.test(id) && bootId !== undefined && file !== undefined;
};
