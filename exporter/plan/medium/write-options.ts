import type { Phase } from '#cli/progress-meter';
import type { MediumLock } from './lock-medium.ts';
import type { Seal } from '../seal/seal.ts';

export type WriteOptions = {
  /** undefined: as large as the file system takes. */
  readonly maxFileSize?: number;
  /** Of the parts of a set. */
  readonly seal?: Seal | undefined;
  /** Read everything back from the device before saying that it is there. */
  readonly readBack: boolean;
  /** A part of the work begins, for a progress bar. */
  readonly onPhase?: (phase: Phase) => void;
  /** Bytes of the phase that are done. */
  readonly onBytes: (bytes: number) => void;
  /** Told when writing begins, and asked before the new medium takes the place of the old one. */
  readonly lock?: Pick<MediumLock, 'begin' | 'check'>;
  readonly signal?: AbortSignal;
};

export type Written = {
  /** Bytes that went to the medium; what was there already is not in it. */
  readonly written: number;
  /** Files of an earlier medium that were removed. */
  readonly removed: number;
};
