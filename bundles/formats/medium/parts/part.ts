import { type Digest, hexOf } from '../../../digest.ts';
import { parseStrictJson } from '../../../json/strict-json.ts';
import { parseAs } from '../../../json/parse-as.ts';
import { MEDIUM_PART, STICK_PARTS } from '../../../json/schema/validators.js';
import type { MediumPart as PartLabel } from '../../../schemas/types/medium-part.ts';
import type { StickParts as VolumeParts } from '../../../schemas/types/stick-parts.ts';
import { PART_FILE, PARTS_FOLDER } from '../medium.ts';

/** fleet/part.json: which part of which set a file is. */
export type { MediumPart as PartLabel } from '../../../schemas/types/medium-part.ts';

/** fleet/parts.json, and the progress file of a set that is being written. Both are unsigned. */
export type { StickParts as VolumeParts } from '../../../schemas/types/stick-parts.ts';

/** One line of fleet/parts.json. */
export type VolumePart = VolumeParts['parts'][number];

/** File names have four digits. */
export const MAX_PARTS = 9999;

export const MAX_LABEL_BYTES = 4096;
const MAX_VOLUME_PARTS_BYTES = 4 << 20;

/** @throws FleetError TOO_LARGE, BAD_JSON, SCHEMA */
export const parsePartLabel = (bytes: Uint8Array): PartLabel =>
  parseAs(MEDIUM_PART, parseStrictJson(bytes, { maxBytes: MAX_LABEL_BYTES }, PART_FILE), PART_FILE);

/** @param file its name for messages @throws FleetError TOO_LARGE, BAD_JSON, SCHEMA */
export const parseVolumeParts = (bytes: Uint8Array, file: string): VolumeParts =>
  parseAs(STICK_PARTS, parseStrictJson(bytes, { maxBytes: MAX_VOLUME_PARTS_BYTES }, file), file);

/** Short name of a set in file names and messages. */
export const shortSet = (set: Digest): string => hexOf(set).slice(0, 16);

/** '<16 hex of the set>-<nnnn>.tar', and '.age' behind it when it is sealed. */
export const partName = (set: Digest, number: number, sealed: boolean): string =>
  `${shortSet(set)}-${String(number).padStart(4, '0')}.tar${sealed ? '.age' : ''}`;

export const partPath = (set: Digest, number: number, sealed: boolean): string =>
  `${PARTS_FOLDER}/${partName(set, number, sealed)}`;

/** Also matches the names that file managers and browsers give a second copy: '... (1).tar'. */
const NAME = /^([0-9a-f]{16})-(\d{4})[^/]*\.tar(?:\.age)?$/;

/** Undefined for the name of anything else. */
export const parsePartName = (
  name: string,
): { readonly set: string; readonly number: number } | undefined => {
  const [, set, number] = NAME.exec(name) ?? [];
  return set === undefined || Number(number) < 1 ? undefined : { set, number: Number(number) };
};
