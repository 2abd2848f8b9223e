import type { Phase } from '#cli/progress-meter';
import type { MediumLock } from './lock-medium.ts';
import type { Seal } from '../plan/seal/seal.ts';

export type WriteOptions = {
  /** Size limit of a file in bytes; undefined: the limit of the file system. */
  readonly maxFileSize?: number;
  /** Limits for the parts of a set. */
  readonly seal?: Seal | undefined;
  /** Read everything back from the device before the export counts as complete. */
  readonly readBack: boolean;
  /** Called when a phase of the work begins, for a progress bar. */
  readonly onPhase?: (phase: Phase) => void;
  /** Called with the bytes of the phase that are done. */
  readonly onBytes: (bytes: number) => void;
  /** The lock: marked when writing begins, and checked before the new medium replaces the old one. */
  readonly lock?: Pick<MediumLock, 'begin' | 'check'>;
  readonly signal?: AbortSignal;
};

export type Written = {
  /** Bytes written to the medium, without those that were there. */
  readonly written: number;
  /** Number of removed files of an earlier medium. */
  readonly removed: number;
};
