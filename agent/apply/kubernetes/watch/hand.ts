import type { LiveObject } from '../api/kubernetes-api.ts';
import { stableHash } from '../desired/stable-hash.ts';
import { isOurs } from '../live/fingerprint.ts';

/** Evidence in an object's metadata of the client that changed it. */
export type Hand = {
  /** uid, deletion, and our fields according to managedFields. */
  readonly hash: string;
  /** Time of our last change. */
  readonly ours: string;
};

/**
 * A client that changes a field of ours becomes its owner in managedFields; a status, a default or another field does not affect ours.
 * So metadata is enough and no value is read.
 */
export const handOf = ({ metadata }: LiveObject): Hand => {
  const ours = (metadata.managedFields ?? []).filter(isOurs);
  const { uid = '', deletionTimestamp = '' } = metadata;
  return {
    hash: stableHash([uid, deletionTimestamp, ours.map(({ fieldsV1 = {} }) => fieldsV1)]),
    ours: ours.map(({ time = '' }) => time).join(),
  };
};

/** Our own apply changes the time of our entry, changes by others do not. */
export const isForeign = (before: Hand | undefined, now: Hand): boolean =>
  before !== undefined && before.hash !== now.hash && (before.ours === now.ours || now.ours === '');
