import type { OpenMedium } from '#bundles/formats/medium/medium';
import type { Seal } from '../plan/seal/seal.ts';
import type { WorkOptions } from '../plan/work-options.ts';
import type { MediumLock } from './lock-medium.ts';

export type WriteOptions = WorkOptions & {
  /** Size limit of a file in bytes; undefined: the limit of the file system. */
  readonly maxFileSize?: number;
  /** Limits for the parts of a set. */
  readonly seal?: Seal | undefined;
  /** Read everything back from the device before the export counts as complete. */
  readonly readBack: boolean;
  /** The lock: marked when writing begins, and checked before the new medium replaces the old one. */
  readonly lock?: Pick<MediumLock, 'begin' | 'check'>;
  /** The open medium that is replaced. Windows replaces no file that is open. */
  readonly before?: Pick<OpenMedium, typeof Symbol.asyncDispose> | undefined;
};

export type Written = {
  /** Bytes written to the medium, without those that were there. */
  readonly written: number;
  /** Number of removed files of an earlier medium. */
  readonly removed: number;
};
