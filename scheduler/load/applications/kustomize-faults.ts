import { posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import { findKustomization } from '../sources/kustomization-file.ts';

/** Kustomize's error names each folder on the path; the cause follows the last one. */
const STEP =
  /.*(?:recursed accumulation of path|couldn't make target for path) '(?<folder>[^']*)': (?:accumulating resources: )?(?<rest>.*)$/s;
const FILE = /^accumulating resources from '(?<file>[^'\n]*)': (?<rest>.*)$/s;

/**
 * TEMPLATE_FAILED from kustomize's error output, with the file to correct.
 * @param errors with paths relative to the tree @param shown name of a file of the tree in messages
 */
export const kustomizeFailed = (
  errors: string,
  tree: ReadonlyMap<string, Buffer>,
  shown: (file: string) => string,
  subject: string,
): FleetError => {
  const all = errors
    .trim()
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .replace(/^.*?Error: (?:accumulating resources: )?/s, '');
  const { folder, rest = all } = STEP.exec(all)?.groups ?? {};
  const { file, rest: detail = rest } = FILE.exec(rest)?.groups ?? {};
  const named = folder === undefined ? undefined : placeOf(tree, folder, file);
  return new FleetError(
    'TEMPLATE_FAILED',
    `kustomize could not build it: ${withoutObjects(detail).slice(0, 1000)}`,
    {
      subject,
      at: named !== undefined ? { file: shown(named) } : undefined,
    },
  );
};

/** Some messages end with the object they are about, which may be a Secret. */
const withoutObjects = (said: string): string => said.replace(/['"]?(?:map\[|\{)[^]*$/, '...');

const placeOf = (
  tree: ReadonlyMap<string, Buffer>,
  folder: string,
  file: string | undefined,
): string | undefined => {
  const inside = file === undefined ? undefined : posix.join(folder, file);
  return inside !== undefined && tree.has(inside) ? inside : findKustomization(tree, folder);
};
