import { readFileSync, writeFileSync } from 'node:fs';
import type { Timestamp } from '#bundles/time';

/** The process that holds a lock, for the message of one that does not get it. */
export type LockHolder = { readonly pid: number; readonly command: string; readonly since: Timestamp };

/** @param file beside the lock; only the process that holds the lock writes it */
export const writeLockHolder = (file: string, holder: LockHolder): void =>
  writeFileSync(file, JSON.stringify(holder));

/** Returns undefined without a file, such as between a lock and the entry of its holder, and for an unreadable one. */
export const readLockHolder = (file: string): LockHolder | undefined => {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) ?? undefined) as LockHolder | undefined;
  } catch {
    return undefined;
  }
};

/** 'fleet-agent run (process 17, since 2026-11-21T08:00:00Z)', or 'another fleet-agent' while the holder is unknown. */
export const nameLockHolder = (program: string, holder: LockHolder | undefined): string =>
  holder
    ? `${program} ${holder.command} (process ${holder.pid}, since ${holder.since})`
    : `another ${program}`;
