import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DesiredPackage } from '../../../../agent/model/target.ts';
import { digestOf } from '../../../../bundles/digest.ts';
import { openBlobDirectory } from '../../../../bundles/formats/layout/blob-directory.ts';

/** A package as the scheduler makes it, for a program inside a host. */
export type BuiltPackage = {
  /** Path -> Base64. */
  readonly files: Readonly<Record<string, string>>;
  /** Base64, put into the store. */
  readonly blobs: readonly string[];
  readonly siteInputs: DesiredPackage['siteInputs'];
};

/** Puts its blobs into the store of `state`. */
export const desiredFrom = async (
  { files, blobs, siteInputs }: BuiltPackage,
  state: string,
): Promise<DesiredPackage> => {
  const store = openBlobDirectory(state, 'the store');
  for (const bytes of blobs.map((blob) => Buffer.from(blob, 'base64'))) {
    mkdirSync(dirname(store.path(digestOf(bytes))), { recursive: true });
    writeFileSync(store.path(digestOf(bytes)), bytes);
  }
  return {
    assignment: 'built',
    package: digestOf(JSON.stringify(files)),
    siteValues: digestOf(JSON.stringify(siteInputs)),
    files: new Map(Object.entries(files).map(([path, bytes]) => [path, Buffer.from(bytes, 'base64')])),
    blobs: store,
    siteInputs,
  };
};
