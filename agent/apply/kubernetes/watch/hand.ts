import type { LiveObject } from '../api/kubernetes-api.ts';
import { stableHash } from '../desired/stable-hash.ts';
import { isOurs } from '../live/fingerprint.ts';

/** Whose hand an object shows, by its metadata alone. */
export type Hand = {
  /** Which object, whether it goes away, and which fields the server says are ours. */
  readonly hash: string;
  /** When we last changed something. */
  readonly ours: string;
};

/**
 * A client that changes a field of ours takes it from our managed fields; a status, a default or a field beside ours leaves
 * them alone. So the metadata tells, and no value has to be read.
 */
export const handOf = ({ metadata }: LiveObject): Hand => {
  const ours = (metadata.managedFields ?? []).filter(isOurs);
  const { uid = '', deletionTimestamp = '' } = metadata;
  return {
    hash: stableHash([uid, deletionTimestamp, ours.map(({ fieldsV1 = {} }) => fieldsV1)]),
    ours: ours.map(({ time = '' }) => time).join(),
  };
};

/** Our own applying changes the time of our entry, somebody else's does not. */
export const isForeign = (before: Hand | undefined, now: Hand): boolean =>
  before !== undefined && before.hash !== now.hash && (before.ours === now.ours || now.ours === '');
