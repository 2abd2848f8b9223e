import type { Digest } from '../digest.ts';
import { hexOf } from '../digest.ts';
import { parseStrictJson } from '../strict-json.ts';
import { parseDocument } from '../validate.ts';
import { PART_FILE, PARTS_FOLDER } from './medium.ts';

/** fleet/part.json: which part of which set a file is. */
export type PartLabel = {
  readonly format: 1;
  /** Digest of fleet/medium.json. */
  readonly set: Digest;
  readonly number: number;
  readonly count: number;
};

/** One line of fleet/parts.json. `path` from the stick's root, `digest` of the whole file. */
export type StickPart = {
  readonly number: number;
  readonly path: string;
  readonly size: number;
  readonly digest: Digest;
};

/** fleet/parts.json, and the progress file of a set that is being written. Nobody has signed them. */
export type StickParts = {
  readonly format: 1;
  readonly set: Digest;
  readonly count: number;
  readonly sealed: boolean;
  /** Of sealed parts: a digest of the set and its recipients, the same for the same ones. */
  readonly sealedTo?: Digest;
  readonly parts: readonly StickPart[];
  /** What the set was cut by: bytes of a part, and of each stick in turn. */
  readonly limits?: { readonly partSize: number; readonly sticks: readonly number[] };
  /** Only while it is written: parts of the set before, which go when this one is there. */
  readonly replaced?: readonly string[];
};

/** The digits of a file's name hold four. */
export const MAX_PARTS = 9999;

export const MAX_LABEL_BYTES = 4096;
const MAX_STICK_PARTS_BYTES = 4 << 20;

/** @throws FleetError TOO_LARGE, BAD_JSON, SCHEMA */
export const parsePartLabel = (bytes: Uint8Array): PartLabel =>
  parseDocument('medium-part', parseStrictJson(bytes, { maxBytes: MAX_LABEL_BYTES }, PART_FILE), PART_FILE);

/** @param file its name for messages @throws FleetError TOO_LARGE, BAD_JSON, SCHEMA */
export const parseStickParts = (bytes: Uint8Array, file: string): StickParts =>
  parseDocument('stick-parts', parseStrictJson(bytes, { maxBytes: MAX_STICK_PARTS_BYTES }, file), file);

/** As a stick or a message names a set. */
export const shortSet = (set: Digest): string => hexOf(set).slice(0, 16);

/** '<16 hex of the set>-<nnnn>.tar', and '.age' behind it when it is sealed. */
export const partName = (set: Digest, number: number, sealed: boolean): string =>
  `${shortSet(set)}-${String(number).padStart(4, '0')}.tar${sealed ? '.age' : ''}`;

export const partPath = (set: Digest, number: number, sealed: boolean): string =>
  `${PARTS_FOLDER}/${partName(set, number, sealed)}`;

/** What people and browsers make of it when they copy it twice is read too: '... (1).tar'. */
const NAME = /^([0-9a-f]{16})-(\d{4})[^/]*\.tar(?:\.age)?$/;

/** Undefined for the name of anything else. */
export const parsePartName = (
  name: string,
): { readonly set: string; readonly number: number } | undefined => {
  const [, set, number] = NAME.exec(name) ?? [];
  return set === undefined || Number(number) < 1 ? undefined : { set, number: Number(number) };
};
