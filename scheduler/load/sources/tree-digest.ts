import { createHash } from 'node:crypto';
import { type Digest, digestOf } from '#bundles/digest';
import type { SourceFile } from './read-files.ts';

/** Digest of a set of files: SHA-256 over each path and content digest, in order of path. */
export const treeDigest = (files: readonly SourceFile[]): Digest => {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file.path}\0${digestOf(file.bytes)}\n`);
  return `sha256:${hash.digest('hex')}`;
};
