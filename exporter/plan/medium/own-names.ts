import { CHUNKS_FOLDER, DELTAS_FOLDER } from '#bundles/formats/medium/medium';

/** Suffix of partial files that a killed run leaves. */
export const TEMPORARY = /^\.tmp-[0-9a-f]{8}$/;

/** Folders that only this program writes to, with the pattern of its file names. */
export const OWN_FILES: readonly (readonly [folder: string, name: RegExp])[] = [
  ['blobs/sha256', /^[0-9a-f]{64}$/],
  [CHUNKS_FOLDER, /^[0-9a-f]{32}\.\d{3,5}$/],
  [DELTAS_FOLDER, /^[0-9a-f]{32}\.zst$/],
];
