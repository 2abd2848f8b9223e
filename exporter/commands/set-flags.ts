import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { repeatable } from '#cli/flags';
import { parseSize } from './show/parse-size.ts';
import type { SetRequest } from '../write/write-set.ts';

/** Flags of `create` and `plan` that split a medium into a set of parts. */
export const SET_FLAGS = {
  'part-size': Flags.string({
    description: 'Write parts of at most this size, such as 700MiB [default: 4GiB-1, which FAT32 takes]',
  }),
  'stick-size': Flags.string({
    ...repeatable,
    description:
      'Capacity of each stick, such as 30GB; once for each stick, the last value applies to all further ones',
  }),
};

/** For a medium that is one folder. */
export const FILE_SIZE_FLAG = {
  'max-file-size': Flags.string({
    description: 'Cut blobs into files of at most this size, such as 4GiB-1; detected for FAT32',
  }),
};

/** Bytes of the smallest file: with smaller ones, a large blob would be too many files for a file system and for memory. */
const SMALLEST_FILE = 1 << 20;

/** @param isSet the medium is a set of parts @throws FleetError USAGE */
export const maxFileSizeOf = (
  flags: { readonly 'max-file-size'?: string | undefined },
  isSet: boolean,
): { readonly maxFileSize?: number } => {
  const size = flags['max-file-size'];
  if (size === undefined) return {};
  if (!isSet) {
    const maxFileSize = parseSize(size);
    if (maxFileSize >= SMALLEST_FILE) return { maxFileSize };
    throw new FleetError(
      'USAGE',
      `--max-file-size ${size} is too small: blobs would be cut into too many files`,
      {
        hint: 'Give 1MiB or more',
      },
    );
  }
  // A part is one file of limited size already.
  throw new FleetError('USAGE', '--max-file-size cuts the files of a folder; this medium is a set of parts', {
    hint: 'Set the size of a part with --part-size',
  });
};

/** Flags of `create` that write only a part of a set. */
export const PARTIAL_SET_FLAGS = {
  stick: Flags.integer({
    min: 1,
    description: 'Write only this stick of the set, counted from 1; for scripts, and to continue later',
    exclusive: ['parts'],
  }),
  parts: Flags.string({
    description: 'Write only these parts, such as 3,7, as files into the folder: to send damaged parts again',
  }),
};

export type SetFlags = {
  readonly 'part-size'?: string | undefined;
  readonly 'stick-size'?: readonly string[] | undefined;
  readonly stick?: number | undefined;
  readonly parts?: string | undefined;
};

/**
 * Undefined for a medium that is one folder or one tar.
 * @param places how many `--to` there are @param isSealed it is to be encrypted @throws FleetError USAGE
 */
export const setRequestOf = (flags: SetFlags, places: number, isSealed: boolean): SetRequest | undefined => {
  const { 'part-size': part, 'stick-size': sizes = [], stick, parts } = flags;
  const isSet =
    part !== undefined ||
    sizes.length > 0 ||
    stick !== undefined ||
    parts !== undefined ||
    places > 1 ||
    isSealed;
  if (!isSet) return undefined;
  return defined({
    partSize: part === undefined ? undefined : parseSize(part),
    stickSizes: sizes.map(parseSize),
    stick,
    parts: parts === undefined ? undefined : parseNumbers(parts),
  });
};

/** '3,7' */
const parseNumbers = (text: string): readonly number[] => {
  const words = text.split(',').map((word) => word.trim());
  if (words.every((word) => /^[1-9]\d{0,3}$/.test(word)))
    return [...new Set(words.map(Number))].toSorted((a, b) => a - b);
  throw new FleetError(
    'USAGE',
    `--parts takes numbers separated by commas, not ${JSON.stringify(text.slice(0, 40))}`,
    {
      hint: 'Use the numbers that verify and import print, such as --parts 3,7',
    },
  );
};
