import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { renameSynced } from '#bundles/formats/layout/rename-synced';
import { partName } from '#bundles/formats/medium/parts/part';
import { sizeOf } from '#bundles/formats/medium/plain-files';
import { holds } from '../plan/medium/read-back.ts';
import { checkFreeSpace } from '../plan/medium/free-space.ts';
import { LOCK } from '../plan/medium/lock-file.ts';
import { lockMedium } from './lock-medium.ts';
import type { WriteOptions } from './write-options.ts';
import { type SetContent, type WrittenPart, writeSetPart } from './write-set-part.ts';

type Loose = {
  readonly written: number;
  readonly removed: number;
  readonly parts: readonly WrittenPart[];
};

/**
 * Writes single parts as files into a folder, to replace damaged ones by mail or copy.
 * @throws FleetError USAGE for a part that the set does not have, MEDIUM_INVALID for another file of that name, DISK_FULL, IO
 */
export const writeLooseParts = async (
  folder: string,
  content: SetContent,
  numbers: readonly number[],
  options: WriteOptions,
): Promise<Loose> => {
  const { layout } = content;
  const wanted = numbers.map((number) => {
    const part = layout.parts[number - 1];
    if (part) return part;
    throw new FleetError('USAGE', `there is no part ${number}: the set has ${layout.parts.length}`, {
      hint: 'Give the --part-size and --stick-size that it was made with; fleet-export plan shows its parts',
    });
  });
  const total = wanted.reduce((sum, { size }) => sum + size, 0);
  try {
    await createDirectory(folder);
  } catch (error) {
    throw toFleetError(error, `writing to ${folder}`);
  }
  await using _lock = await lockMedium(join(folder, LOCK), folder);
  await checkFreeSpace(folder, total);
  options.onPhase?.({ name: 'writing', total, passes: options.readBack ? 2 : 1 });
  const parts: Loose['parts'][number][] = [];
  let written = 0;
  for (const part of wanted) {
    const name = partName(layout.set, part.number, layout.sealed);
    const path = join(folder, name);
    const temporary = join(folder, `.tmp-${randomUUID().slice(0, 8)}`);
    try {
      const { size, digest } = await writeSetPart(content, part, temporary, options);
      if (options.readBack && !(await holds(temporary, size, digest, options.signal, options.onBytes))) {
        throw new FleetError('IO', `${folder} returned other bytes than were written to it`, {
          hint: 'Do not use this disk; use another one',
        });
      }
      const there = await sizeOf(folder, name);
      const same = there !== undefined && (await holds(path, size, digest, options.signal));
      if (there !== undefined && !same) {
        throw new FleetError('MEDIUM_INVALID', `${path} exists and is another file`, {
          hint: 'Move it away first, or name another folder; it was not changed',
        });
      }
      if (!same) await renameSynced(temporary, path);
      written += same ? 0 : size;
      parts.push({ number: part.number, stick: part.stick, path, size });
    } catch (error) {
      throw toFleetError(error, `writing ${path}`);
    } finally {
      await rm(temporary, { force: true });
    }
  }
  return { written, removed: 0, parts };
};
